"""Checkpoints that the trainers themselves write, read by planc: a tiny Llama, saved by two ranks, loaded by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planc.evidence.checkpoints.finding import found_in, newest
from planc.evidence.checkpoints.found import Found
from tests.consumers.running import PROGRAMS, environment, needs

NEEDED = needs("torch", "deepspeed", "transformers", "megatron.core")

#: What is saved, by the name of its folder: where the checkpoint lies there, its format, step and layout.
SAVED = {
    "safetensors": Found("", "safetensors", None, 7248, {}),
    "tied": Found("", "safetensors", None, 6224, {}),
    "dcp": Found("step-1", "dcp", 1, 7248, {"writers": 2}),
    "megatron": Found("iter_0000001", "dcp", 1, 7248, {"writers": 2, "tensor": 2, "pipeline": 1, "world": 2}),
    **{
        f"deepspeed-{stage}": Found(
            "global_step1", "deepspeed", 1, 7248,
            {"model_parallel": 1, "sharing": 2, "tensor": 1, "pipeline": 1, "stage": stage},
        )
        for stage in (0, 1, 3)
    },
}  # fmt: skip


def ran_by(program: str, folder: Path, ranks: int) -> list[Any]:
    """What a program reports of the folder, each line of JSON."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [str(PROGRAMS / program), str(folder)]
    ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("saved")
    (counted,) = ran_by("save_checkpoints.py", folder, ranks=2)
    assert counted == {"untied": 7248, "tied": 6224}
    return folder


@NEEDED
@pytest.mark.parametrize("name", SAVED)
def test_what_a_trainer_saved_is_read(saved: Path, name: str) -> None:
    root = saved / name
    paths = [Path(folder) / file for folder, _, files in os.walk(root) for file in files]
    sizes = {path.relative_to(root).as_posix(): path.stat().st_size for path in paths}
    found = found_in(sizes, lambda each: (root / each).open("rb"))
    assert found == (SAVED[name],)
    assert newest(found, sizes, lambda each: (root / each).open("rb")) == (SAVED[name], "")


PLAN = """
gpu card { memory = 80 GiB  bf16 = true  link = 450 GB/s }
cluster one { gpu = card  nodes = 1  gpus_per_node = 1 }
model tiny { layers = 2  hidden = 16  heads = 2  ffn = 32  vocab = 64 }
plan run { model = tiny  cluster = one  batch { global = 8  micro = 1  sequence_length = 8 }  precision = bf16
  resume { directory = "ckpt" }
}
"""


def told(tmp_path: Path, folder: Path, old: str, new: str) -> set[str]:
    """Codes of what planc says of a plan of one rank that goes on from a folder."""
    (tmp_path / "run.plan").write_text(PLAN.replace(old, new))
    command = [sys.executable, "-m", "planc", "lint", "run.plan", "--checkpoint", str(folder), "--no-cache"]
    command += ["--select", "PLN85", "--min-severity", "info", "--output-format", "json"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    return {each["code"] for each in json.loads(ran.stdout)["diagnostics"]}


@NEEDED
def test_what_planc_says_of_going_on_is_what_the_trainers_do(saved: Path, tmp_path: Path) -> None:
    (outcome,) = ran_by("load_checkpoint.py", saved, ranks=1)
    sharding = "  shard { stage = %d }  emit = [deepspeed]\n  resume"
    assert outcome["deepspeed-0"] == outcome["dcp"] == "loaded"
    assert told(tmp_path, saved / "deepspeed-0", "  resume", sharding % 0) == {"PLN856"}
    assert told(tmp_path, saved / "dcp", "", "") == set()
    for stage in (1, 3):
        assert "partitioning with a new world size is not currently supported" in outcome[f"deepspeed-{stage}"]
        assert told(tmp_path, saved / f"deepspeed-{stage}", "  resume", sharding % stage) == {"PLN855"}
    assert "Size mismatch" in outcome["dcp of another model"]
    assert told(tmp_path, saved / "dcp", "hidden = 16", "hidden = 32") == {"PLN854"}
