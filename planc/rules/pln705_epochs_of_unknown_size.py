"""The run counts epochs, and nothing says how long one is.

Why: the steps of the run follow from the size of its data. Without it planc derives neither steps nor time nor
    cost, and checks no length: not that of the warm-up, of the schedule, of checkpoints or of the walltime.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { duration = 3 epochs }
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
      train    { duration = 3 epochs }
      dataset  { size = 90_000 samples }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: state `size` in a `dataset` section, in samples or tokens.

Source: planc: `train.steps` (`planc explain --all`).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import EPOCHS
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A duration in epochs without a size."""
    duration = facts["train.duration"]
    if duration.dimension == EPOCHS and absent(plan, "dataset.size"):
        span = place(plan, "train.duration")
        yield Diagnostic(
            f"{amount_words(duration)} of data of unknown size",
            Label(span, "steps, time and cost do not follow"),
            related(plan, span, ("dataset", "no `size`")),
            help=("state `size` in a `dataset` section",),
        )


RULE = Rule(Severity.INFO, "plan", check, ("train.duration",))
