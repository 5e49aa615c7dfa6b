"""The replicas cannot be cut into shard groups of the written size.

Why: hybrid sharding makes groups of `shard.size` replicas, and each group holds one copy of the states. A
    size that does not divide the replicas leaves some of them without a group: the mesh would have fewer
    ranks than the job, and PyTorch refuses it at start-up.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3  size = 3 }
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

Fix: use a size that divides the replicas, or leave it out: then all of them share one copy. `--unsafe-fixes`
    makes the change where the help names only one.

Source: torch.distributed.device_mesh, init_device_mesh: the product of the mesh is the world size;
    torchtitan, ParallelDims.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import nearest, options, use, world_agrees
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A written size with a rest; at stage 0 nothing is shared."""
    size, data = facts["shard.size"], facts["parallel.data"]
    if facts["shard.stage"] == 0 or facts["shard.leftover"] == 0 or not world_agrees(facts):
        return
    span = place(plan, "shard.size")
    fits = nearest(size, lambda other: other <= data and data % other == 0) or (data,)
    yield Diagnostic(
        f"shard size {count_text(size)} does not divide {plural(data, 'replica')}",
        Label(span, f"{count_text(data)} / {count_text(size)} = {quotient_text(data, size)} groups"),
        related(plan, span, ("parallel.data", ""), ("cluster.nodes", f"{plural(data, 'replica')} in all")),
        help=use(options("size", fits)),
        fixes=each_size(plan, "shard.size", fits),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("shard.size", "shard.stage", "shard.leftover", "parallel.data"))
