"""The lowest learning rate is above the peak.

Why: `minimum` is a learning rate and no share of the peak, as some trainers have it. Read as one, it would
    make the rate rise where it should fall: 0.1 beside a peak of 2e-4 is five hundred times the peak.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { learning_rate = 2e-4 }
      schedule = cosine { warmup = 100 steps  total = 1000 steps  minimum = 0.1 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { learning_rate = 2e-4 }
      schedule = cosine { warmup = 100 steps  total = 1000 steps  minimum = 2e-5 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the rate itself; a tenth of a peak of 2e-4 is `minimum = 2e-5`. `--unsafe-fixes` takes the share of
    the peak.

Source: Megatron-LM, min_lr; deepspeed/runtime/lr_schedules.py, cos_min_ratio, is a share.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import number_text, ratio_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A minimum over the peak."""
    minimum, peak = facts["schedule.minimum"], facts["optimizer.learning_rate"]
    if minimum <= peak or plan.value("schedule") in (None, "schedule"):  # without a course nothing reads it
        return
    span = place(plan, "schedule.minimum")
    times = f"{ratio_text(minimum / peak)} times the peak" if peak != 0 else "the peak is 0"
    share = minimum * peak if minimum < 1 else peak / 10
    yield Diagnostic(
        f"the lowest learning rate {number_text(minimum)} is above the peak {number_text(peak)}",
        Label(span, times),
        related(plan, span, ("optimizer.learning_rate", "the peak")),
        help=(f"it is a rate, no share of the peak: `minimum = {number_text(share)}`",),
        fixes=writing(plan, ("schedule.minimum", number_text(share))),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("schedule.minimum", "optimizer.learning_rate"))
