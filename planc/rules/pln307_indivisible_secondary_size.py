"""The secondary shards do not divide the ranks.

Why: after the forward pass the weights stay shared over groups of `secondary_size` ranks, one whole copy
    each, so that the backward pass gathers them from near ranks. 16 ranks make no groups of 3: DeepSpeed
    stops where it makes the groups, and PyTorch where a module is sharded.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3  secondary_size = 3 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3  secondary_size = 4 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a size that the help names. `--unsafe-fixes` makes the change where it names only one.

Source: DeepSpeed 0.19.8, utils/groups.py, _create_zero_param_parallel_group: divides the world; PyTorch 2.13,
    _fsdp_init.py, _get_post_forward_mesh_info: a factor of the ranks that share the states.

Versions: all. DeepSpeed takes a size above its world as the world; FSDP2 refuses one above `shard.size`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A secondary size with a rest, at the one stage that has secondary shards."""
    size, ranks = facts["shard.secondary_size"], _ranks(facts)
    if ranks is None or facts["shard.stage"] != 3:
        return
    if facts.engine.runtime == "deepspeed":
        size = min(size, ranks)
    if ranks % size == 0:
        return
    span = place(plan, "shard.secondary_size")
    fits = nearest(min(size, ranks), lambda other: other < ranks and ranks % other == 0, least=2) or (1,)
    yield Diagnostic(
        f"secondary shards of {plural(size, 'rank')} do not divide {count_text(ranks)}",
        Label(span, f"{count_text(ranks)} / {count_text(size)} = {quotient_text(ranks, size)} shards"),
        related(plan, span, ("shard.size", ""), ("cluster.nodes", ""), ("cluster.gpus_per_node", "")),
        help=use(options("secondary_size", fits)),
        fixes=each_size(plan, "shard.secondary_size", fits),
    )


def _ranks(facts: Facts) -> Any:
    """The ranks that have to be divided; None where the engine has no secondary shards, or they are not known."""
    path = {"deepspeed": "world.size", "fsdp2": "shard.group"}.get(facts.engine.runtime)
    ranks = facts[path] if path else None
    return ranks if isinstance(ranks, int) else None


RULE = Rule(Severity.ERROR, "plan", check, ("shard.secondary_size", "shard.stage"))
