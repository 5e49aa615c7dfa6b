"""Random plans, small in everything but their layout, so that what decides whether they are valid is the layout."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from planc.facts.facts import Facts
from planc.plan.model import Plan

#: What a layout is drawn from; an empty text leaves the field out.
CHOICES: dict[str, tuple[Any, ...]] = {
    "nodes": (1, 1, 2, 3, 4, 8),
    "gpus": (1, 2, 4, 8, 8),
    "tensor": (1, 1, 1, 2, 4, 8),
    "pipeline": (1, 1, 1, 2, 4),
    "context": (1, 1, 1, 2),
    "expert": (1, 1, 2, 4),
    "mixture": (False, False, True),
    "stage": ("", 0, 1, 2, 3),
    "micro": (1, 2, 3, 4),
    "accumulation": (1, 2, 4, 6, 8, 16),
    "batch": ("global and micro", "global and accumulation", "micro and accumulation"),
    "sequence": (1024, 2048, 4096),
    "precision": ("bf16", "bf16", "fp16", "fp32"),
    "clip": ("", 0.5, 1.0),
    "rate": ("", "1e-4", "3e-5", "0.002"),
}

_DENSE = 'layers = 16  hidden = 1024  heads = 16  kv_heads = 8  ffn = 4096  vocab = 32_000  family = "llama"'
_MIXTURE = (
    'layers = 16  hidden = 1024  heads = 16  kv_heads = 8  ffn = 4096  vocab = 32_000  family = "mixtral"\n'
    "  experts { count = 8  top_k = 2  ffn = 4096 }"
)

#: What files say, and where the facts say it.
TRUTHS: dict[str, str] = {
    "world": "world.size", "nodes": "cluster.nodes", "gpus_per_node": "cluster.gpus_per_node",
    "tensor": "parallel.tensor", "pipeline": "parallel.pipeline", "context": "parallel.context",
    "expert": "parallel.expert", "data": "parallel.data", "micro_batch": "batch.micro",
    "accumulation": "batch.accumulation", "global_batch": "batch.global", "sequence": "batch.sequence_length",
    "precision": "precision", "clip": "optimizer.clip", "learning_rate": "optimizer.learning_rate",
}  # fmt: skip


def random_plan(dice: random.Random, target: str, reader: ModuleType, drawn_for_it: bool = True) -> str:
    """The text of a plan that emits the target; not each is valid.

    drawn_for_it: drawn from what the target can say; else all targets get the same layout of the same dice.
    """
    choices = CHOICES | getattr(reader, "DRAWN", {}) if drawn_for_it else CHOICES
    drawn: Mapping[str, Any] = {name: dice.choice(values) for name, values in choices.items()}
    expert = drawn["expert"] if drawn["mixture"] else 1
    axes = {"tensor": drawn["tensor"], "pipeline": drawn["pipeline"], "context": drawn["context"], "expert": expert}
    ranks = drawn["nodes"] * drawn["gpus"]
    data = ranks // (axes["tensor"] * axes["pipeline"] * axes["context"])
    sizes = {
        "global": drawn["micro"] * drawn["accumulation"] * data,
        "micro": drawn["micro"],
        "accumulation": drawn["accumulation"],
    }
    rates = {"clip": drawn["clip"], "learning_rate": drawn["rate"]}
    lines = [
        "parallel { " + "  ".join(f"{axis} = {size}" for axis, size in axes.items() if size != 1) + " }",
        "batch { "
        + "  ".join(f"{size} = {sizes[size]}" for size in drawn["batch"].split(" and "))
        + f"  sequence_length = {drawn['sequence']} }}",
        f"precision = {drawn['precision']}",
        "optimizer = adamw { " + "  ".join(f"{name} = {rate}" for name, rate in rates.items() if rate) + " }",
        "" if drawn["stage"] == "" else f"shard {{ stage = {drawn['stage']} }}",
        'launch { script = "train.py" }' if "launch" not in getattr(reader, "NEEDS", "") else "",
        getattr(reader, "NEEDS", ""),
        f"emit = [{getattr(reader, 'EMIT', target)}]",
    ]
    body = "\n  ".join(line for line in lines if line)
    return f"""\
gpu card {{ memory = 80 GiB  bf16 = 989 TFLOPS  fp16 = 989 TFLOPS  compute_capability = 9.0 }}
model small {{
  {_MIXTURE if drawn["mixture"] else _DENSE}
}}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = {drawn["nodes"]}  gpus_per_node = {drawn["gpus"]}  inter_node = 50 GB/s }}
  {body}
}}
"""


def truths(plan: Plan, facts: Facts) -> dict[str, Any]:
    """What the facts of a plan say, by the names that `values` uses."""
    return {name: plan.value(path) if name == "precision" else facts[path] for name, path in TRUTHS.items()}
