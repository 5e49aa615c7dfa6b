"""Facts of a plan of which only the given numbers are known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planc.facts.engine import ENGINES
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.source import Source, Span
from tests.shared import shared

#: What a plan says that says nothing: the defaults of the language that the formulas read.
DEFAULTS: Mapping[str, Any] = {
    "parallel.tensor": 1, "parallel.pipeline": 1, "parallel.context": 1,
    "parallel.expert": 1, "parallel.expert_tensor": 1, "parallel.sequence": False,
    "shard.stage": 0, "precision": "bf16", "precision.gradients": "bf16", "precision.master": "fp32",
    "recompute": "none", "optimizer": "adamw", "optimizer.states": "fp32", "pipeline": "1f1b",
    "pipeline.embedding_as_layer": False, "pipeline.loss_as_layer": False,
    "model.bias": "none", "model.attention": "full", "model.norm": "rmsnorm", "model.gated": True,
    "model.positions": "rope", "model.tied": False, "model.mtp_layers": 0,
}  # fmt: skip


def facts_of(engine: str = "deepspeed", /, **given: Any) -> Facts:
    """Facts of an engine; `shard__stage=3` gives `shard.stage`. What is not given has its default, or is unknown."""
    source = Source("given", "")
    plan = Plan("given", Span(source, 0, 0), {})
    paths = {name.replace("__", "."): value for name, value in given.items()}
    return Facts(plan, ENGINES[engine], {**DEFAULTS, **paths})


def table(name: str) -> Path:
    """A table of the shared facts; the test is skipped, with the reason, where it does not lie beside the checkout."""
    return shared(f"facts/tables/{name}")
