"""DeepEP is to dispatch the tokens, and no other rank holds experts.

Why: DeepEP's kernels send tokens between the ranks of an expert group. A group of one rank sends none; Megatron's
    dispatcher for it refuses to be made.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      expert   { dispatch = deepep }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 8 }
      expert   { dispatch = deepep }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the usual dispatcher, or expert ranks. `--unsafe-fixes` writes the usual dispatcher.

Source: megatron-core 0.16.1, MoEFlexTokenDispatcher.

Versions: Megatron core since 0.12.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A dispatcher between ranks, of which there is one."""
    ranks = facts["parallel.expert"] * facts["parallel.expert_tensor"]
    if facts.engine.name != "megatron" or facts["expert.dispatch"] != "deepep" or 1 < ranks:
        return
    span = place(plan, "expert.dispatch")
    yield Diagnostic(
        "`deepep` dispatches to a group of one rank",
        Label(span, f"all {plural(facts['model.experts.count'], 'expert')} are on every rank: Megatron refuses it"),
        related(plan, span, ("parallel.expert", "one rank"), ("parallel.expert_tensor", "one rank")),
        help=("use `dispatch = all-to-all`, or expert ranks",),
        fixes=writing(plan, ("expert.dispatch", "all-to-all")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.expert", "parallel.expert_tensor", "model.experts.count"))
