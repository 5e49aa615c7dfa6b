"""planc as a user runs it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]

#: A plan that stands alone and is clean; `broken` is the same with a fault, at 4:39.
CLEAN = """\
gpu card { memory = 80 GiB  bf16 = true  link = 450 GB/s }
cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan run { model = small  cluster = one  shard { stage = 1 }  batch { global = 64  micro = 1  sequence_length = 4Ki }
  precision = bf16
  launch { script = "train.py" }
  emit = [torchrun, deepspeed]
}
"""
BROKEN = CLEAN.replace("model = small", "model = smal")


def environment(**changes: str) -> dict[str, str]:
    """An environment in which this checkout is planc, and nothing speaks of colours."""
    dropped = ("NO_COLOR", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    # A cache folder that is no absolute path is not used: what a test finds was not found before.
    return kept | {"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": "none"} | changes


def command(*arguments: str) -> list[str]:
    """What starts planc."""
    return [sys.executable, "-m", "planc", *arguments]


def planc(
    *arguments: str, cwd: Path, stdin: bytes = b"", stdout: IO[Any] | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """The outcome of a run; a traceback or a hang fails the test."""
    outcome = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(**changes),
        input=stdin,
        stdout=stdout or subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    decoded = subprocess.CompletedProcess(
        outcome.args, outcome.returncode, (outcome.stdout or b"").decode(), outcome.stderr.decode()
    )
    assert "Traceback" not in decoded.stdout + decoded.stderr, decoded.stderr
    return decoded
