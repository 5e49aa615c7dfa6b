"""The run is to be deterministic, and has no seed.

Why: deterministic kernels cost time, so that a second run gives the same numbers. Without a seed the weights,
    the order of the data and dropout differ from run to run all the same.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { deterministic = true }
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
      train    { deterministic = true  seed = 1 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: state a seed, or do without deterministic kernels.

Source: PyTorch, notes on reproducibility.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Determinism that is written, and a seed that is not."""
    if facts["train.deterministic"] is not True or not absent(plan, "train.seed"):
        return
    span = place(plan, "train.deterministic")
    yield Diagnostic(
        "a deterministic run without a seed",
        Label(span, "weights and data begin at random"),
        help=("add `seed = 1` or another, or write `deterministic = false`",),
        fixes=writing(plan, ("train.seed", "1")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("train.deterministic",))
