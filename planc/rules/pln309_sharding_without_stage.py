"""A size of shards is written, and nothing is sharded.

Why: at stage 0, the default, each replica keeps all of its states. `size` says how many ranks share them, and
    is without meaning there: the memory that it should save, 12 to 16 bytes of each parameter over `size`
    cards, is not saved.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { size = 4 }
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
      shard    { stage = 3  size = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the stage: 3 for FSDP's full shard and its hybrid form, 1 or 2 for less.

Source: PyTorch 2.13, fully_shard: sharding is a call of the program; Megatron-LM,
    num_distributed_optimizer_instances: it needs the distributed optimizer.

Versions: all. DeepSpeed's bucket and secondary shards below their stage are PLN932.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A written size of several ranks at stage 0."""
    size, data = facts["shard.size"], facts["parallel.data"]
    if facts["shard.stage"] != 0 or not plan.is_written("shard.size") or size <= 1:
        return
    span = place(plan, "shard.size")
    yield Diagnostic(
        f"shards over {plural(size, 'rank')} at stage 0, where nothing is shared",
        Label(span, f"each of {plural(data, 'replica')} keeps all states, not 1/{count_text(size)}"),
        related(plan, span, ("shard.stage", ""), ("parallel.data", "")),
        help=("add `stage = 1`, `stage = 2` or `stage = 3`, or leave `size` out",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("shard.size", "shard.stage", "parallel.data"))
