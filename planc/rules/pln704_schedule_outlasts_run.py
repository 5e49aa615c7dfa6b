"""The run ends before its learning-rate schedule does.

Why: the rate has not come down when the last step is done. What annealing gives at the end of a run is missing;
    a run of 60 steps for a look, of a schedule of 20,000, is a good reason.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      schedule = linear { warmup = 100 steps  total = 40_000 steps }
      train    { duration = 20_000 steps }
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
      schedule = linear { warmup = 100 steps  total = 20_000 steps }
      train    { duration = 20_000 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave `total` out, so that it follows from `train.duration`.

Source: Hoffmann et al., Training Compute-Optimal Large Language Models (2022), appendix B: cosine cycles longer
    than the run cost loss.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from planc.diagnostics.amounts import count_text, percent_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import STEPS, TOKENS, Amount
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A total over the steps of the run, of a schedule that falls."""
    total, run = _steps(plan, facts, facts["schedule.total"]), facts["train.steps"]
    if plan.value("schedule") not in ("linear", "cosine", "wsd") or total is None or total <= run:
        return
    span = place(plan, "schedule.total")
    yield Diagnostic(
        f"the run ends after {percent_text(run / total)} of its schedule",
        Label(span, f"{plural(ceil(total), 'step')}, and the run has {count_text(run)}"),
        related(plan, span, ("train.duration", plural(run, "step"))),
        help=(f"use `total = {count_text(run)} steps`, or leave it out",),
    )


def _steps(plan: Plan, facts: Facts, amount: Amount) -> Any:
    """Steps that an amount stands for; None where that is not known, as while the batch grows."""
    if amount.dimension == STEPS:
        return Fraction(amount.value)
    per_step = facts["batch.tokens"]
    if amount.dimension != TOKENS or plan.value("batch.ramp") is not None or not known(per_step):
        return None
    return Fraction(amount.value) / per_step


RULE = Rule(Severity.INFO, "plan", check, ("schedule.total", "train.steps"))
