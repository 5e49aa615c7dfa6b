"""A save takes longer than the time until the next one.

Why: when the next checkpoint is due, this one is not written. Training stands still until it is, so that the
    job does little else; saves in the background pile up and fill the host's memory.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 5 min  write_time = 10 min }
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
      checkpoint { every = 30 min  write_time = 10 min }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: save less often, or in less time. With a cluster's `mtbf_per_gpu` the help names the best interval, else
    ten times the time of a save. `--unsafe-fixes` writes it.

Source: planc: `checkpoint.save_time` and `checkpoint.best_interval` (`planc explain --all`).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from planc.diagnostics.amounts import percent_text, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import STEPS
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_DOUBT = 1.5  # predicted steps may take that much longer than predicted
_SPARSE = 10  # times the time of a save: nine tenths of the time are left for work


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A save over its interval."""
    saving, every = facts["checkpoint.save_time"], facts["checkpoint.every"]
    interval = facts["checkpoint.planned_interval"]
    if not 0 < interval or saving <= interval * (_DOUBT if every.dimension == STEPS else 1):
        return
    best = facts["checkpoint.best_interval"]
    seconds = max(best, saving) if known(best) else saving * _SPARSE
    in_steps = f"{ceil(every.value * seconds / interval)} steps"
    fits = in_steps if every.dimension == STEPS else f"{ceil(seconds / 60)} min"
    span = place(plan, "checkpoint.every")
    yield Diagnostic(
        f"a save of {time_text(saving)} is due every {time_text(interval)}",
        Label(span, f"{percent_text(saving / (saving + interval))} of the time goes into saves"),
        related(plan, span, ("checkpoint.write_time", ""), ("cluster.storage", "for the whole job")),
        help=(f"use `every = {fits}`",),
        fixes=writing(plan, ("checkpoint.every", fits)),
    )


RULE = Rule(
    Severity.WARNING, "plan", check, ("checkpoint.save_time", "checkpoint.planned_interval", "checkpoint.every")
)
