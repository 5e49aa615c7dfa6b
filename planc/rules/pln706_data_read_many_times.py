"""The run reads its data more than four times.

Why: a run of so many steps passes over all of its data several times. Up to four passes are almost as good as
    new data; from then on each adds less, and the model begins to know the texts by heart.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { duration = 1000 steps }
      dataset  { size = 10_000 samples }
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
      dataset  { size = 40_000 samples }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a shorter run, or more data; write the length in epochs where the passes are meant.

Source: Muennighoff et al., Scaling Data-Constrained Language Models (2023).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from planc.diagnostics.amounts import count_text, ratio_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import EPOCHS, TOKENS
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules.rule import Rule

_PASSES = 4


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What the run reads, over the size of its data; a length in epochs says itself how often."""
    size, duration = facts["dataset.size"], facts["train.duration"]
    read = facts["train.tokens"] if size.dimension == TOKENS else _samples(plan, facts)
    if duration.dimension == EPOCHS or not 0 < size.value or not known(read) or read <= size.value * _PASSES:
        return
    span = place(plan, "train.duration")
    yield Diagnostic(
        f"the run reads its data {ratio_text(Fraction(read) / size.value)} times",
        Label(span, f"{count_text(ceil(read))} of {amount_words(size)}"),
        related(plan, span, ("dataset.size", amount_words(size))),
        help=(f"up to {_PASSES} times are almost as good as new data",),
    )


def _samples(plan: Plan, facts: Facts) -> Any:
    """Samples of the run; None while the batch grows."""
    steps, batch = facts["train.steps"], facts["batch.global"]
    ramped = plan.value("batch.ramp") is not None
    return None if ramped or not (known(steps) and known(batch)) else steps * batch


RULE = Rule(Severity.INFO, "plan", check, ("dataset.size", "train.duration"))
