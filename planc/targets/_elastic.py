"""Whether a run may go on with fewer nodes and still be what the plan says: torchrun alone can start it so."""

from __future__ import annotations

import math
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.targets import emitted_targets
from planc.targets._launch import for_all_nodes, is_unset

#: A global batch of so many times the plan's is another run, and no help.
_MOST = 100


class Reason(NamedTuple):
    """What is not right with fewer nodes, the arithmetic of it, and what would work."""

    message: str
    label: str
    help: tuple[str, ...] = ()


def why_not_elastic(plan: Plan, facts: Facts) -> Reason | None:
    """What is not right with fewer nodes; None where each number of nodes is.

    Each rank holds the whole model, a replica lies on one node, and the samples of a step are a multiple of those that
    the ranks take at once, so that the program reaches `batch.global` by other accumulation steps.
    """
    if any(not each.start.any_nodes for _, each in emitted_targets(plan)):
        return Reason(*for_all_nodes(plan), ("emit `torchrun` alone, or remove `min_nodes`",))
    gpus, micro, total = facts["cluster.gpus_per_node"], facts["batch.micro"], facts["batch.global"]
    replica = facts["parallel.tensor"] * facts["parallel.pipeline"] * facts["parallel.context"]
    least, nodes = facts["launch.min_nodes"], facts["cluster.nodes"]
    if any(isinstance(number, Unknown) for number in (gpus, micro, total, replica, least, nodes)):
        return None  # whoever misses it says so
    if 0 < facts["shard.stage"]:
        label = f"`stage = {facts['shard.stage']}` shares over all ranks"
        return Reason("with fewer nodes each rank would hold more", label)
    if gpus % replica or 1 < facts["parallel.expert"]:
        return Reason("with fewer nodes no replica would be whole", f"{replica} ranks a replica, {gpus} a node")
    if not is_unset(plan, "batch.ramp"):
        return Reason("with fewer nodes the ramp would be another", "`batch.ramp` counts on all nodes")
    return _uneven(range(least, nodes), (gpus // replica) * micro, total)


def _uneven(counts: range, of_a_node: int, total: int) -> Reason | None:
    """The first number of nodes that takes no whole number of times to the global batch."""
    uneven = [count for count in counts if total % (count * of_a_node)]
    if not uneven:
        return None
    whole = math.lcm(counts.stop, *counts) * of_a_node
    enough = -(-total // whole) * whole
    help = []
    if enough <= _MOST * total:
        help.append(f"write `global = {enough}` in `batch`, which {counts.start} to {counts.stop} nodes divide")
    if uneven[-1] + 1 < counts.stop:
        help.append(f"write `min_nodes = {uneven[-1] + 1}`, from which on {total} samples are whole steps")
    message = f"on {uneven[0]} nodes no accumulation reaches {total} samples"
    return Reason(message, f"{uneven[0] * of_a_node} samples at once", tuple(help))
