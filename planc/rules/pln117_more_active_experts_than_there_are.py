"""A token is to pass through more experts than there are.

Why: the router picks `top_k` different experts of `count`: there is no such choice, and `torch.topk` stops
    the first forward pass.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 17  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 16  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: correct `top_k` or `count`. `--unsafe-fixes` writes the largest `top_k`.

Source: torch.topk: k is at most the size of the dimension.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More active experts than experts."""
    active, experts = facts["model.experts.top_k"], facts["model.experts.count"]
    if active <= experts:
        return
    span = place(plan, "model.experts.top_k")
    yield Diagnostic(
        f"{count_text(active)} active experts of {count_text(experts)}",
        Label(span, f"a token can pass through {plural(experts, 'expert')} at most"),
        related(plan, span, ("model.experts.count", plural(experts, "expert"))),
        help=(f"use `top_k = {count_text(experts)}` or less",),
        fixes=each_size(plan, "model.experts.top_k", (experts,)),
    )


RULE = Rule(Severity.ERROR, "model", check, ("model.experts.top_k", "model.experts.count"))
