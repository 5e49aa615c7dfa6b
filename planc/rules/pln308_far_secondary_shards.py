"""The secondary shards are as far as the primary ones.

Why: a secondary shard is a second copy of the weights in the group, paid with memory so that the backward
    pass gathers from cards that the fast link joins. A group that reaches past the link gathers over the
    network as before; one of all ranks is the primary shard once more.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3  secondary_size = 16 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3  secondary_size = 8 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a size that stays within the link, commonly the cards of a node; or leave it out. `--unsafe-fixes` makes
    the change.

Source: Wang et al., ZeRO++ (2023), section 3.2: a secondary partition within a node; DeepSpeed 0.19.8,
    zero_hpz_partition_size.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A secondary shard that reaches past the domain, or is the primary one again; divisibility is PLN307's."""
    size, domain, group = facts["shard.secondary_size"], facts["cluster.domain"], facts["shard.group"]
    if facts["shard.stage"] != 3 or group % size != 0 or group == 1:
        return
    if size <= domain and size < group:
        return
    span = place(plan, "shard.secondary_size")
    far = domain < size
    reach = f"the fast link joins {count_text(domain)}" if far else f"the primary ones have {count_text(group)} too"
    fits = domain < group and group % domain == 0
    yield Diagnostic(
        f"secondary shards of {count_text(size)} ranks are no nearer than primary ones",
        Label(span, reach),
        related(plan, span, ("cluster.domain", ""), ("cluster.gpus_per_node", "") if far else ("shard.size", "")),
        help=(
            f"use `secondary_size = {count_text(domain)}`, or leave it out" if fits else "leave `secondary_size` out",
        ),
        fixes=writing(plan, ("shard.secondary_size", count_text(domain))) if fits else (),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("shard.secondary_size", "shard.stage", "shard.group", "cluster.domain"))
