"""Model states and peak of FSDP2 against PyTorch's own memory tracker, on stand-ins for clusters and tensors.

Models have few of their layers, since the terms are those of a layer and of the ends; the peak is now the loss, now the
backward pass of a layer, now the reduction of what embedding and output layer gather.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from planc.facts.facts import Facts
from tests.consumers.running import PROGRAMS, environment, needs
from tests.facts.given import facts_of

pytestmark = [pytest.mark.consumer, pytest.mark.slow, needs("torch")]

SIZES: dict[str, dict[str, int]] = {
    "1b": {"hidden": 2048, "layers": 4, "heads": 32, "kv_heads": 8, "ffn": 8192, "vocab": 128_256},
    "8b": {"hidden": 4096, "layers": 4, "heads": 32, "kv_heads": 8, "ffn": 14_336, "vocab": 128_256},
    "70b": {"hidden": 8192, "layers": 3, "heads": 64, "kv_heads": 8, "ffn": 28_672, "vocab": 128_256},
    "13b": {"hidden": 5120, "layers": 4, "heads": 40, "kv_heads": 40, "ffn": 13_824, "vocab": 32_000},
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "fsdp": {"replicate": 1, "tensor": 1, "sequence": False},
    "hsdp": {"replicate": 8, "tensor": 1, "sequence": False},
    "tensor": {"replicate": 1, "tensor": 8, "sequence": False},
    "tensor-sequence": {"replicate": 1, "tensor": 8, "sequence": True},
}
LONG, SHORT = 4096, 512

CASES = [
    *((size, layout, again, LONG) for size in ("1b", "8b", "70b") for layout in LAYOUTS for again in (False, True)),
    ("13b", "fsdp", False, LONG),
    ("13b", "hsdp", True, LONG),
    ("8b", "fsdp", False, SHORT),
    ("8b", "hsdp", True, SHORT),
    ("8b", "tensor", True, SHORT),
]


def case_of(size: str, layout: str, again: bool, tokens: int) -> dict[str, Any]:
    """A case of the program's, of 64 cards."""
    job = {"world": 64, "recompute": again, "micro": 1, "sequence_length": tokens}
    return {**SIZES[size], **LAYOUTS[layout], **job}


@cache
def tracked() -> dict[tuple[str, str, bool, int], dict[str, Any]]:
    """What the tracker says of every case, by one process."""
    cases = json.dumps([case_of(*case) for case in CASES])
    command = [sys.executable, str(PROGRAMS / "track_fsdp2.py"), cases]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr
    return dict(zip(CASES, map(json.loads, run.stdout.splitlines()), strict=True))


def facts(case: Mapping[str, Any]) -> Facts:
    """The facts of the same job."""
    data = case["world"] // case["tensor"]
    model = {f"model__{name}": case[name] for name in SIZES["1b"]}
    return facts_of(
        "fsdp2", **model, model__head_dim=case["hidden"] // case["heads"], parallel__tensor=case["tensor"],
        parallel__sequence=case["sequence"], parallel__data=data, shard__size=data // case["replicate"], shard__stage=3,
        batch__micro=case["micro"], batch__accumulation=1, batch__sequence_length=case["sequence_length"],
        precision__gradients="fp32", recompute="full" if case["recompute"] else "none",
        cluster__nodes=case["world"] // 8, cluster__gpus_per_node=8,
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_states_and_peak_are_those_of_the_tracker(case: tuple[str, str, bool, int]) -> None:
    theirs, ours = tracked()[case], facts(case_of(*case))
    states = theirs["weights"] + theirs["gradients"] + theirs["optimizer"]
    assert ours["memory.states"] == pytest.approx(states, rel=1e-3)
    assert ours["memory.peak"] == pytest.approx(theirs["peak"], rel=0.05), theirs["parts"]
