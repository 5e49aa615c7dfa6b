"""Master weights or moments are narrower than fp32, and Megatron's optimizer is not sharded.

Why: Megatron keeps its optimizer's states in fewer than 32 bits only in the optimizer that knows of precision, and
    that one only as the distributed optimizer, which is stage 1. At stage 0 it stops before the first step. Without
    it a parameter has 4 + 4 + 4 bytes of states, with bf16 moments 4 + 2 + 2.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { states = bf16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [megatron]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 1 }
      optimizer = adamw { states = bf16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [megatron]
    }

Fix: write `shard { stage = 1 }`, or leave the states in fp32.

Source: megatron-core 0.16.1, optimizer_config.py, OptimizerConfig (tried).

Versions: Megatron core: tried with 0.16.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_STATES = (("optimizer.states", "moments"), ("precision.master", "master weights"))


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """States below fp32 at stage 0."""
    if facts.engine.name != "megatron" or facts["shard.stage"] != 0:
        return
    narrow = [(path, what) for path, what in _STATES if plan.value(path) in ("bf16", "fp16", "fp8")]
    if not narrow:
        return
    path, what = narrow[0]
    span = place(plan, path)
    yield Diagnostic(
        f"{plan.value(path)} {what} at stage 0",
        Label(span, "Megatron has them in its distributed optimizer only"),
        related(plan, span, ("shard.stage", ""), *((other, "") for other, _ in narrow[1:])),
        help=("use `stage = 1`, or leave the states in fp32",),
        fixes=writing(plan, ("shard.stage", "1")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("shard.stage", "optimizer.states", "precision.master"))
