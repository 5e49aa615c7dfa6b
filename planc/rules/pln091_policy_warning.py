"""A policy that the plan asks to be judged by warns.

Why: a house may want to hear of a plan that it allows: `warn c` speaks where c is true.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    policy house { warn pipeline.bubble > 10 % }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      batch    { global = 32  micro = 1 }
      precision = bf16
      policies = [house]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    policy house { warn pipeline.bubble > 10 % }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      policies = [house]
    }

Fix: change the plan, or live with it: a warning stops nothing.

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
    """What the policies warn of."""
    return broken(plan, facts, ("warn",))


RULE = Rule(Severity.WARNING, "plan", check)
