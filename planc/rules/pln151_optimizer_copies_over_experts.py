"""The copies of the optimizer's states do not divide the replicas of the experts.

Why: with `shard.size` below the replicas Megatron keeps the states of the optimizer several times, each copy on as
    many ranks, and does so for the experts too. Expert ranks take replicas for themselves: 8 replicas with 8
    expert ranks hold each expert once, which cannot be shared out over 2 copies. Megatron refuses it when it makes
    its groups.

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
      parallel { expert = 8 }
      shard    { stage = 1  size = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [megatron]
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
      parallel { expert = 4 }
      shard    { stage = 1  size = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [megatron]
    }

Fix: use fewer expert ranks or larger shards; without `size` there is one copy.

Source: megatron-core 0.16.1, parallel_state.py, initialize_model_parallel (tried).

Versions: Megatron core: tried with 0.16.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Copies of the states that the replicas of the experts are no multiple of."""
    copies, replicas, data = facts["shard.replicas"], facts["parallel.expert_data"], facts["parallel.data"]
    if facts.engine.name != "megatron" or facts["shard.stage"] == 0:
        return
    if not 0 < copies or replicas % copies == 0 or data % copies != 0:
        return
    span = place(plan, "shard.size")
    sizes = nearest(facts["shard.size"], lambda size: data % size == 0 and replicas % (data // size) == 0)
    yield Diagnostic(
        f"{plural(copies, 'copy')} of the states, each expert on {plural(replicas, 'replica')}",
        Label(span, f"{count_text(replicas)} / {count_text(copies)} = {quotient_text(replicas, copies)} a copy"),
        related(plan, span, ("parallel.expert", f"{count_text(facts['parallel.expert'])} ranks share out the experts")),
        help=use(options("size", sizes)),
        fixes=each_size(plan, "shard.size", sizes),
    )


RULE = Rule(
    Severity.ERROR,
    "plan",
    check,
    ("shard.replicas", "shard.size", "shard.stage", "parallel.data", "parallel.expert", "parallel.expert_data",
     "model.experts.count"),
)  # fmt: skip
