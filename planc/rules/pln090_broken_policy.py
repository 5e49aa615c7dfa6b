"""A rule of a policy that the plan asks to be judged by is broken.

Why: a policy says what a house does not allow, for reasons that no trainer knows; its text is the reason.
    `require c` is broken where c is false, `forbid c` where c is true; where c cannot be judged the rule
    stays silent.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    policy house { require parallel.tensor <= 4  because "our boards pair the cards in fours" }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      policies = [house]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    policy house { require parallel.tensor <= 4  because "our boards pair the cards in fours" }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      policies = [house]
    }

Fix: change the plan, or name the rule in the policy and set it to `none` in one that is derived from it.

Source: the policy.

Versions: language 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._policies import broken
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What the policies require or forbid, and the plan does otherwise."""
    return broken(plan, facts, ("require", "forbid"))


RULE = Rule(Severity.ERROR, "plan", check)
