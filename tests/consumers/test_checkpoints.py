"""Checkpoints that the trainers themselves write, read by planc: a tiny Llama, saved by two ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from planc.evidence.checkpoints.finding import found_in, newest
from planc.evidence.checkpoints.found import Found
from tests.consumers.running import PROGRAMS, environment, needs

#: What is saved, by the name of its folder: where the checkpoint lies there, its format, step and layout.
SAVED = {
    "safetensors": Found("", "safetensors", None, 7248, {}),
    "tied": Found("", "safetensors", None, 6224, {}),
    "dcp": Found("step-1", "dcp", 1, 7248, {"writers": 2}),
    **{
        f"deepspeed-{stage}": Found(
            "global_step1", "deepspeed", 1, 7248,
            {"model_parallel": 1, "sharing": 2, "tensor": 1, "pipeline": 1, "stage": stage},
        )
        for stage in (0, 1, 3)
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of them."""
    folder = tmp_path_factory.mktemp("saved")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    program = PROGRAMS / "save_checkpoints.py"
    ran = subprocess.run(
        [*command, str(program), str(folder)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    counted = json.loads(ran.stdout.splitlines()[-1])
    assert counted == {"untied": 7248, "tied": 6224}
    return folder


@needs("torch", "deepspeed", "transformers")
@pytest.mark.parametrize("name", SAVED)
def test_what_a_trainer_saved_is_read(saved: Path, name: str) -> None:
    root = saved / name
    paths = [Path(folder) / file for folder, _, files in os.walk(root) for file in files]
    sizes = {path.relative_to(root).as_posix(): path.stat().st_size for path in paths}
    found = found_in(sizes, lambda each: (root / each).open("rb"))
    assert found == (SAVED[name],)
    assert newest(found, sizes, lambda each: (root / each).open("rb")) == (SAVED[name], "")
