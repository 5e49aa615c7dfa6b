"""The traced window begins after the last step.

Why: the profiler waits for a step that never comes, and writes no trace.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { duration = 1000 steps }
      profile  { start = 2000 steps  length = 5 steps }
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
      train    { duration = 1000 steps }
      profile  { start = 20 steps  length = 5 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: begin the window within the run, some steps after its start. `--unsafe-fixes` writes the last step at which
    it fits.

Source: torch/profiler/profiler.py of torch 2.13, schedule: a window begins when so many steps were counted.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A first step of the window at or behind the steps of the run."""
    start, steps = facts["profile.start"], facts["train.steps"]
    if start < steps:
        return
    length = plan.value("profile.length")
    last = max(0, steps - (length if isinstance(length, int) else 1))
    span = place(plan, "profile.start")
    yield Diagnostic(
        f"the trace begins at step {count_text(start)} of {count_text(steps)}",
        Label(span, "the run has ended by then"),
        related(plan, span, ("train.duration", plural(steps, "step"))),
        help=(f"use at most `start = {count_text(last)} steps`",),
        fixes=writing(plan, ("profile.start", f"{count_text(last)} steps")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("profile.start", "train.steps"))
