"""The warm-up is longer than the schedule.

Why: the run ends before the learning rate has reached its peak, and the course behind the warm-up never
    begins. DeepSpeed says so in its log and goes on.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      optimizer = adamw { learning_rate = 2e-4 }
      schedule = cosine { warmup = 2000 steps  total = 1000 steps }
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
      schedule = cosine { warmup = 100 steps  total = 1000 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use a shorter warm-up, or a share of the whole such as `5 %`; or correct `total` or `train.duration`.
    `--unsafe-fixes` writes the longest.

Source: deepspeed/runtime/lr_schedules.py, WarmupDecayLR and WarmupCosineLR.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.quantities import amount_text, amount_words
from planc.plan.units import SAMPLES, STEPS, TOKENS, Amount
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A warm-up over the total; a share is never over it, and unlike units are compared in steps."""
    warmup, total = facts["schedule.warmup"], facts["schedule.total"]
    if warmup.dimension == total.dimension:
        longer = total.value < warmup.value
    else:
        steps = (_steps(plan, facts, warmup), _steps(plan, facts, total))
        longer = known(steps[0]) and known(steps[1]) and steps[1] < steps[0]
    if not longer or _ends_early(plan, facts, total):
        return
    span = place(plan, "schedule.warmup")
    yield Diagnostic(
        f"the warm-up of {amount_words(warmup)} is longer than the schedule",
        Label(span, f"the schedule ends after {amount_words(total)}"),
        related(
            plan,
            span,
            ("schedule.total", amount_words(total)),
            ("train.duration", "" if plan.is_written("schedule.total") else amount_words(total)),
        ),
        help=(f"use at most `warmup = {amount_text(total)}`",) if total.dimension in (STEPS, TOKENS) else (),
        fixes=writing(plan, ("schedule.warmup", amount_text(total))) if total.dimension in (STEPS, TOKENS) else (),
    )


def _ends_early(plan: Plan, facts: Facts, total: Amount) -> bool:
    """Whether the written total is what is too short, for the run as well (PLN703), as far as one can tell."""
    duration, minimum, kind = facts["train.duration"], plan.value("schedule.minimum"), facts["schedule"]
    if isinstance(duration, Unknown) and duration.unset:
        return False
    falls = not known(kind) or (kind in ("linear", "cosine", "wsd") and (not known(minimum) or minimum == 0))
    steps, run = _steps(plan, facts, total), _steps(plan, facts, duration) if known(duration) else None
    is_as_long = known(steps) and known(run) and run <= ceil(steps)
    return bool(falls and plan.is_written("schedule.total") and not is_as_long)


def _steps(plan: Plan, facts: Facts, amount: Amount) -> Any:
    """Steps that an amount stands for; None for a share, for epochs, and where the batch grows on the way."""
    if amount.dimension == STEPS:
        return amount.value
    per_step = {TOKENS: "batch.tokens", SAMPLES: "batch.global"}.get(amount.dimension)
    if per_step is None or plan.value("batch.ramp") is not None or not known(facts[per_step]):
        return None
    return Fraction(amount.value) / facts[per_step]


RULE = Rule(Severity.ERROR, "plan", check, ("schedule.warmup", "schedule.total"))
