"""PyTorch's FSDP2 memory tracker as an oracle: which jobs it is asked about, and the facts of the same jobs.

`python -m tests.consumers.tracker` asks it about whole models, which takes half an hour, and records what it says in
`tests/facts/tracked_fsdp2.csv`.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planc.facts.facts import Facts
from tests.consumers.running import PROGRAMS, environment
from tests.facts.given import facts_of

RECORD = Path(__file__).parents[1] / "facts" / "tracked_fsdp2.csv"

MODELS: dict[str, dict[str, int]] = {
    "1b": {"hidden": 2048, "layers": 16, "heads": 32, "kv_heads": 8, "ffn": 8192, "vocab": 128_256},
    "8b": {"hidden": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "ffn": 14_336, "vocab": 128_256},
    "70b": {"hidden": 8192, "layers": 80, "heads": 64, "kv_heads": 8, "ffn": 28_672, "vocab": 128_256},
    "13b": {"hidden": 5120, "layers": 40, "heads": 40, "kv_heads": 40, "ffn": 13_824, "vocab": 32_000},
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "fsdp": {"replicate": 1, "tensor": 1, "sequence": False},
    "hsdp": {"replicate": 8, "tensor": 1, "sequence": False},
    "tensor": {"replicate": 1, "tensor": 8, "sequence": False},
    "tensor-sequence": {"replicate": 1, "tensor": 8, "sequence": True},
}


def case_of(model: str, layout: str, recompute: bool, tokens: int = 4096) -> dict[str, Any]:
    """A job of 64 cards as `programs/track_fsdp2.py` takes it: one micro batch of one sample."""
    job = {"world": 64, "recompute": recompute, "micro": 1, "sequence_length": tokens}
    return {**MODELS[model], **LAYOUTS[layout], **job}


def tracked(cases: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """What the tracker says of the jobs, by one process that may take so long."""
    command = [sys.executable, str(PROGRAMS / "track_fsdp2.py"), json.dumps(cases)]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=seconds)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def facts(case: Mapping[str, Any]) -> Facts:
    """The facts of the same job."""
    data = case["world"] // case["tensor"]
    model = {f"model__{name}": case[name] for name in MODELS["1b"]}
    return facts_of(
        "fsdp2", **model, model__head_dim=case["hidden"] // case["heads"], parallel__tensor=case["tensor"],
        parallel__sequence=case["sequence"], parallel__data=data, shard__size=data // case["replicate"], shard__stage=3,
        batch__micro=case["micro"], batch__accumulation=1, batch__sequence_length=case["sequence_length"],
        precision__gradients="fp32", recompute="full" if case["recompute"] else "none",
        cluster__nodes=case["world"] // 8, cluster__gpus_per_node=8,
    )  # fmt: skip


def recorded() -> list[dict[str, Any]]:
    """Each job with the bytes that the tracker counted when it was last recorded: of the states, and at the peak."""
    with RECORD.open(newline="") as file:
        return [
            {
                "name": f"{row['model']}-{row['layout']}-{row['recompute']}",
                "case": case_of(row["model"], row["layout"], row["recompute"] == "full"),
                "states": sum(int(row[part]) for part in ("weights", "gradients", "optimizer")),
                "peak": int(row["peak"]),
            }
            for row in csv.DictReader(file)
        ]


def main() -> None:
    """Writes the record anew."""
    jobs = [(model, layout, again) for model in ("1b", "8b", "70b") for layout in LAYOUTS for again in (False, True)]
    with RECORD.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("model", "layout", "recompute", "weights", "gradients", "optimizer", "peak"))
        for (model, layout, again), said in zip(jobs, tracked([case_of(*job) for job in jobs], 7200), strict=True):
            parts = (said[part] for part in ("weights", "gradients", "optimizer", "peak"))
            writer.writerow((model, layout, "full" if again else "none", *parts))


if __name__ == "__main__":
    main()
