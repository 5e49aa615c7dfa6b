"""Another interval between checkpoints would lose much less time.

Why: saves cost time, and a failure costs the work since the last one. At the best interval, about the square
    root of twice the save's time and the mean time between failures, their sum is least: here it is more than
    twice as much, and over a fiftieth of the job's time.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  mtbf_per_gpu = 500 h }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 24 h  write_time = 60 s }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  mtbf_per_gpu = 500 h }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 40 min  write_time = 60 s }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: the interval that the help names.

Source: Daly, A higher order estimate of the optimum checkpoint interval for restart dumps (2006), equation 37.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import percent_text, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import STEPS
from planc.rules._places import place, related
from planc.rules.rule import Rule

_WORTH = 0.02  # of the job's time


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What the plan's interval loses, beside what the best one loses."""
    lost, least = facts["checkpoint.overhead"], facts["checkpoint.best_overhead"]
    if lost <= 2 * least or lost <= least + _WORTH:
        return
    if facts["checkpoint.planned_interval"] <= facts["checkpoint.save_time"]:
        return  # PLN804 tells of it
    best, every = facts["checkpoint.best_interval"], facts["checkpoint.every"]
    in_steps = f"{max(1, round(every.value * best / facts['checkpoint.planned_interval']))} steps"
    fits = in_steps if every.dimension == STEPS else f"{max(1, round(best / 60))} min"
    span = place(plan, "checkpoint.every")
    yield Diagnostic(
        f"saves and failures take {percent_text(lost)} of the job's time",
        Label(span, f"{percent_text(least)} at the best interval"),
        related(plan, span, ("cluster.mtbf_per_gpu", f"a failure every {time_text(facts['world.mtbf'])}")),
        help=(f"use `every = {fits}`",),
    )


RULE = Rule(
    Severity.INFO, "plan", check,
    ("checkpoint.overhead", "checkpoint.best_overhead", "checkpoint.best_interval", "checkpoint.every"),
)  # fmt: skip
