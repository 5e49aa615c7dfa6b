"""The expert ranks do not divide the experts.

Why: every expert rank holds as many experts as any other. Megatron and DeepSpeed refuse a number of experts
    that the ranks do not divide.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 6 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 3 }
      batch    { global = 60  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 6 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 2 }
      batch    { global = 60  micro = 1 }
      precision = bf16
    }

Fix: use a number of expert ranks that divides the experts. `--unsafe-fixes` makes the change where the help
    names only one.

Source: deepspeed/moe/layer.py, MoE; Megatron-LM, MoELayer.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._experts import expert_pool
from planc.rules._numbers import nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Experts with a rest."""
    ranks, experts = facts["parallel.expert"], facts["model.experts.count"]
    if experts % ranks == 0:
        return
    span = place(plan, "parallel.expert")
    pool = expert_pool(facts)
    fits = nearest(ranks, lambda other: experts % other == 0 and pool.holds_groups_of(other))
    yield Diagnostic(
        f"{plural(ranks, 'expert rank')} cannot share out {plural(experts, 'expert')}",
        Label(span, f"{count_text(experts)} / {count_text(ranks)} = {quotient_text(experts, ranks)} experts a rank"),
        related(plan, span, ("model.experts.count", plural(experts, "expert"))),
        help=use(options("expert", fits)),
        fixes=each_size(plan, "parallel.expert", fits),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.expert", "model.experts.count"))
