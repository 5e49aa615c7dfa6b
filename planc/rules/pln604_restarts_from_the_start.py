"""A failed run is started again, and nothing is saved that it could go on from.

Why: `launch.restarts` starts the ranks again after a failure. A run without checkpoints begins again at step 0
    each time: with 3 restarts it may do its work four times over, and what failed once often fails again in the
    same place.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  restarts = 3 }
      train    { duration = 5000 steps }
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
      launch   { script = "train.py"  restarts = 3 }
      train    { duration = 5000 steps }
      checkpoint { every = 500 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: add a `checkpoint` section, and a program that goes on from the last one; or let the run end with its first
    failure.

Source: torch/distributed/run.py of torch 2.13, --max-restarts: the agent starts the same command again.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Restarts without a section that says what is saved, or where the run goes on."""
    restarts = facts["launch.restarts"]
    if not (0 < restarts and absent(plan, "checkpoint") and absent(plan, "resume")):
        return
    span = place(plan, "launch.restarts")
    yield Diagnostic(
        f"{plural(restarts, 'restart')} of a run that saves nothing",
        Label(span, f"each begins again at step 0 of {amount_words(facts['train.duration'])}"),
        related(plan, span, ("train.duration", "the whole run")),
        help=("add a `checkpoint` section, or use `restarts = 0`",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.restarts", "train.duration"))
