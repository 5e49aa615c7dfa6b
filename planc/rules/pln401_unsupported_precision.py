"""The card cannot compute in the precision of the plan.

Why: a card without bf16 runs it in software, many times slower, or stops at the first kernel; fp8 needs units
    that older cards do not have. An fp8 or fp4 run computes everything but the large products in bf16, so it
    needs both.

Example:
    gpu old { memory = 32 GiB  fp16 = true  bf16 = false }
    cluster one { gpu = old  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu old { memory = 32 GiB  fp16 = true  bf16 = false }
    cluster one { gpu = old  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp16
    }

Fix: use a precision that the card has, or another card. What a card does not say about a precision is taken as
    unknown. `--unsafe-fixes` makes the change where the help names only one.

Source: NVIDIA: bf16 from compute capability 8.0 on, fp8 from 8.9, fp4 from 10.0.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_NEEDED = {"fp8": ("fp8", "bf16"), "fp4": ("fp4", "bf16")}
_CHOICES = ("bf16", "fp16", "fp32")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A dtype of which the card says that it lacks it; what the card does not say is no fault."""
    precision = facts["precision"]
    lacking = [dtype for dtype in _NEEDED.get(precision, (precision,)) if plan.value(f"cluster.gpu.{dtype}") is False]
    if not lacking:
        return
    dtype = lacking[0]
    card = plan["cluster.gpu"].value
    name = f"`{card.word}`" if isinstance(card, Record) and card.word else "the card"
    span = place(plan, "precision")
    there = [choice for choice in _CHOICES if _has(plan, choice)]
    reason = "" if dtype == precision else f", and {precision} runs compute in {dtype} too"
    yield Diagnostic(
        f"precision {precision} on a card without {dtype}",
        Label(span, f"{name} has no {dtype}{reason}"),
        related(plan, span, (f"cluster.gpu.{dtype}", f"{name} lacks it"), ("cluster.gpu", "")),
        help=(f"{name} has {either([f'`{choice}`' for choice in there], 'and')}",) if there else (),
        fixes=tuple(fix for choice in there for fix in writing(plan, ("precision", choice))),
    )


def _has(plan: Plan, dtype: str) -> bool:
    value = plan.value(f"cluster.gpu.{dtype}")
    return known(value) and value is not False


RULE = Rule(Severity.ERROR, "plan", check, ("precision", "cluster.gpu"))
