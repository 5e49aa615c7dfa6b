"""The data is smaller than one global batch.

Why: with `drop_last`, which is the default, a batch that is not full is dropped: 48 samples make no batch of
    64, and an epoch has no step. Programs differ in what they do then: some stop, some run for ever.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { size = 48 samples }
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
      dataset  { size = 4800 samples }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a global batch that the data fills, or all of the data. `drop_last = false` keeps the batch that is not
    full.

Source: torch/utils/data/sampler.py of torch 2.13, BatchSampler: drop_last.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import agreeing, count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import TOKENS
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A size below the samples, or the tokens, of one step, where what is not full is dropped."""
    size, batch = facts["dataset.size"], facts["batch.global"]
    per_step = facts["batch.tokens"] if size.dimension == TOKENS else batch
    if facts["dataset.drop_last"] is not True or not known(per_step) or per_step <= size.value:
        return
    span = place(plan, "dataset.size")
    yield Diagnostic(
        f"{amount_words(size)} {agreeing(size.value, 'fill')} no batch of {count_text(per_step)}",
        Label(span, "an epoch has no step"),
        related(plan, span, ("batch.global", plural(batch, "sample")), ("dataset.drop_last", "")),
        help=("give it all of the data, or write `drop_last = false`",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("dataset.size", "batch.global", "dataset.drop_last"))
