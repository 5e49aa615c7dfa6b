"""Offloaded states do not fit the memory of their node.

Why: what `offload` moves off the cards lies in the memory of their node: with Adam 12 bytes of each parameter, and 4 of
    the gradients that it is updated with, of all cards of the node. A node that runs out of memory kills the job, or
    swaps.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  cpu_memory = 64 GiB }
    model big { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
    plan run {
      model    = big
      cluster  = one
      shard    { stage = 3 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      offload  { optimizer = cpu }
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  cpu_memory = 256 GiB }
    model big { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
    plan run {
      model    = big
      cluster  = one
      shard    { stage = 3 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      offload  { optimizer = cpu }
    }

Fix: more nodes share the states further; `offload { optimizer = nvme }` keeps them on a disk; or leave them on the
    cards.

Source: Ren et al., ZeRO-Offload (2021), section 4; DeepSpeed, estimate_zero2_model_states_mem_needs.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Bytes offloaded by the cards of a node over its stated memory."""
    needed, memory = facts["memory.host"], facts["cluster.cpu_memory"]
    if needed <= memory:
        return
    in_gib = "iB" in plan["cluster.cpu_memory"].span.text
    span = place(plan, "offload.optimizer", "offload.weights", "offload")
    cards = facts["cluster.gpus_per_node"]
    found = tuple(_more_nodes(plan, facts, in_gib))
    yield Diagnostic(
        f"offloaded states take {size_text(needed, in_gib)} of a node's {size_text(memory, in_gib)}",
        Label(span, f"{size_text(needed / cards, in_gib)} for each of {cards} cards"),
        related(plan, span, ("cluster.cpu_memory", ""), ("shard.stage", ""), ("cluster.nodes", "")),
        help=helps(found) or ("offload to `nvme`, or leave the states on the cards",),
        fixes=fixes(found),
    )


def _more_nodes(plan: Plan, facts: Facts, in_gib: bool) -> Iterator[Repair]:
    """The fewest nodes whose memory is enough, if what a card offloads is shared by all of them."""
    own, needed, memory = facts["cluster.nodes"], facts["memory.host"], facts["cluster.cpu_memory"]
    if not known(own) or memory == 0 or plan.is_written("shard.size") or plan.is_written("parallel.data"):
        return
    replica, cards = facts["world.model_parallel"], facts["cluster.gpus_per_node"]
    nodes = -(-own * needed // memory)
    data = nodes * cards // replica
    given = {"cluster.nodes": nodes, "parallel.data": data, "shard.size": data}
    enough = Facts(plan, facts.engine, given)["memory.host"]
    if nodes * cards % replica == 0 and known(enough) and enough <= memory:
        text = count_text(nodes)
        help = f"`nodes = {text}` offloads {size_text(enough, in_gib)} a node"
        yield Repair(help, writing(plan, ("cluster.nodes", text)))


RULE = Rule(Severity.ERROR, "plan", check, ("memory.host", "cluster.cpu_memory"))
