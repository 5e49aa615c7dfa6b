"""The learning-rate schedule ends before the run does.

Why: behind its end a linear schedule stays at 0, and what is trained there changes nothing; the cosine of
    Hugging Face climbs back towards the peak. 10,000 steps of a schedule in a run of 20,000 waste half of the
    cards' time, or undo what was annealed.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      schedule = cosine { warmup = 100 steps  total = 10_000 steps }
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
      schedule = cosine { warmup = 100 steps }
      train    { duration = 20_000 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave `total` out, so that it follows from `train.duration`; or give the schedule a `minimum` at which the
    run goes on. `--unsafe-fixes` writes the length of the run.

Source: deepspeed 0.19.8, runtime/lr_schedules.py; transformers 5.23, optimization.py, whose cosine is not held
    at its end.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import STEPS, TOKENS, Amount
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A total below the steps of the run, of a schedule that falls to 0."""
    total, run = _steps(plan, facts, facts["schedule.total"]), facts["train.steps"]
    minimum = plan.value("schedule.minimum")
    if plan.value("schedule") not in ("linear", "cosine", "wsd") or total is None or run <= ceil(total):
        return
    if minimum is not None and minimum != 0:
        return
    span = place(plan, "schedule.total")
    yield Diagnostic(
        f"the schedule ends {plural(run - ceil(total), 'step')} before the run does",
        Label(span, f"{plural(ceil(total), 'step')} of {count_text(run)}"),
        related(plan, span, ("train.duration", plural(run, "step"))),
        help=(f"use `total = {count_text(run)} steps`, or leave it out",),
        fixes=writing(plan, ("schedule.total", f"{count_text(run)} steps")),
    )


def _steps(plan: Plan, facts: Facts, amount: Amount) -> Any:
    """Steps that an amount stands for; None where that is not known, as while the batch grows."""
    if amount.dimension == STEPS:
        return Fraction(amount.value)
    per_step = facts["batch.tokens"]
    if amount.dimension != TOKENS or plan.value("batch.ramp") is not None or not known(per_step):
        return None
    return Fraction(amount.value) / per_step


RULE = Rule(Severity.WARNING, "plan", check, ("schedule.total", "train.steps"))
