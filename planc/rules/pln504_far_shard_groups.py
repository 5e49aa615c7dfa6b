"""Hybrid sharding makes groups that cross the edge of a node.

Why: hybrid sharding keeps a copy of the states for each group, so that what a layer gathers comes over the links of
    the node and only gradients cross the network. A group of 12 ranks on nodes of 8 gathers over the network all
    the same, and holds more copies than one group of all ranks would.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster four { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = four
      shard    { stage = 3  size = 16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster four { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = four
      shard    { stage = 3  size = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: make the group as large as the node, less the tensor and context ranks in it; where the states do not fit
    there, the group has to be larger, and this is as it should be.

Source: PyTorch FSDP2, fully_shard on a mesh of two dimensions; Zhao et al., PyTorch FSDP (2023), on hybrid sharding.

Versions: all. DeepSpeed shares over all replicas: see PLN932.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import options
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Groups of some replicas that no domain holds whole."""
    size, data, stage = facts["shard.size"], facts["parallel.data"], facts["shard.stage"]
    domain, apart = facts["cluster.domain"], facts["parallel.tensor"] * facts["parallel.context"]
    reach = size * apart  # consecutive ranks from the first of a group to its last
    if facts.engine.runtime == "deepspeed" or stage == 0 or data <= size or data % size != 0:
        return
    if domain % reach == 0 or apart == 0 or domain % apart != 0 or data % (domain // apart) != 0 or size == 1:
        return
    near = domain // apart
    unit = "node" if domain == facts["cluster.gpus_per_node"] else "domain"
    span = place(plan, "shard.size")
    own = f"{count_text(size)} x {count_text(apart)}" if 1 < apart else count_text(size)
    yield Diagnostic(
        f"shard groups of {plural(size, 'replica')} do not lie in one {unit}",
        Label(span, f"{own} = {count_text(reach)} ranks, and a {unit} has {count_text(domain)}"),
        related(plan, span, ("cluster.gpus_per_node", ""), ("parallel.tensor", ""), ("parallel.context", "")),
        help=(f"{options('size', (near,))[0]} keeps what is gathered in the {unit}",) if 1 < near else (),
        fixes=each_size(plan, "shard.size", (near,)) if 1 < near else (),
    )


RULE = Rule(
    Severity.INFO,
    "plan",
    check,
    ("shard.size", "parallel.data", "shard.stage", "cluster.domain", "parallel.tensor", "parallel.context"),
)
