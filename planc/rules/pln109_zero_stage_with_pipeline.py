"""ZeRO stage 2 or 3 stands beside a pipeline under DeepSpeed.

Why: a pipeline runs many backward passes before the gradients are whole, so DeepSpeed's pipeline engine
    cannot share gradients (stage 2) or weights (stage 3) between them: it asserts stage 0 or 1 and stops.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      shard    { stage = 1 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Fix: use stage 1, or drop the pipeline. `--unsafe-fixes` writes the stage.

Source: DeepSpeed, runtime/pipe/engine.py: "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism".

Versions: DeepSpeed up to 0.19.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A stage that DeepSpeed's pipeline engine refuses."""
    stage, stages = facts["shard.stage"], facts["parallel.pipeline"]
    if facts.engine.runtime != "deepspeed" or stage < 2 or stages == 1:
        return
    span = place(plan, "shard.stage", "parallel.pipeline")
    total = Facts(plan, facts.engine, {"shard.stage": 1})["memory.states"]
    states = f": {size_text(total)} of model states a card" if known(total) else ""
    yield Diagnostic(
        f"ZeRO stage {count_text(stage)} does not work with {plural(stages, 'pipeline stage')}",
        Label(span, "DeepSpeed's pipeline engine asserts stage 0 or 1"),
        related(plan, span, ("parallel.pipeline", plural(stages, "stage"))),
        help=(f"use `stage = 1`{states}",),
        fixes=writing(plan, ("shard.stage", "1")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("shard.stage", "parallel.pipeline"))
