"""Nothing checks whether the plan fits the cards.

Why: what a card of this plan holds is not derived in this version, so a plan without a fault may still
    overfill its cards, and a policy about `memory` is silent.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      adapter  = lora { rank = 16 }
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
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: try the largest layout for a few steps before the job is queued; `planc explain` says which numbers are
    missing.

Source: planc/facts, the formulas that `planc explain` shows.

Versions: planc 0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.rules._places import place, stands
from planc.rules.rule import Rule

_NOT_DERIVED = "in this version"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Memory that no formula gives; what is merely not written or faulty is none of this."""
    total = facts["memory.total"]
    if not isinstance(total, Unknown) or not total.reason.endswith(_NOT_DERIVED):
        return
    span = place(plan, *(path for path in total.missing if stands(plan, path)), "model")
    yield Diagnostic("memory is not checked", Label(span, total.reason))


RULE = Rule(Severity.INFO, "plan", check, ("memory.capacity",))
