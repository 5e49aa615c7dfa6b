"""Whether a run may go on with fewer nodes and still be what the plan says: torchrun alone can start it so."""

from __future__ import annotations

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.targets._launch import is_unset

#: Targets whose files say nothing that depends on the number of nodes.
_NUMBERLESS = ("env", "torchrun")


def why_not_elastic(plan: Plan, facts: Facts) -> tuple[str, str] | None:
    """What is not right with fewer nodes, and the arithmetic of it; None where each number of nodes is.

    Each rank holds the whole model, a replica lies on one node, and the samples of a step are a multiple of those that
    the ranks take at once, so that the program reaches `batch.global` by other accumulation steps.
    """
    if any(choice.name not in _NUMBERLESS for choice in plan.targets):
        return "the launch scripts are not elastic", "would be left out"
    gpus, micro, total = facts["cluster.gpus_per_node"], facts["batch.micro"], facts["batch.global"]
    replica = facts["parallel.tensor"] * facts["parallel.pipeline"] * facts["parallel.context"]
    least, nodes = facts["launch.min_nodes"], facts["cluster.nodes"]
    if any(isinstance(number, Unknown) for number in (gpus, micro, total, replica, least, nodes)):
        return None  # whoever misses it says so
    if 0 < facts["shard.stage"]:
        return "with fewer nodes each rank would hold more", f"`stage = {facts['shard.stage']}` shares over all ranks"
    if gpus % replica or 1 < facts["parallel.expert"]:
        return "with fewer nodes no replica would be whole", f"{replica} ranks a replica, {gpus} a node"
    if not is_unset(plan, "batch.ramp"):
        return "with fewer nodes the ramp would be another", "`batch.ramp` counts on all nodes"
    for count in range(least, nodes):
        at_once = count * (gpus // replica) * micro
        if total % at_once:
            return f"on {count} nodes no accumulation reaches {total} samples", f"{at_once} samples at once"
    return None
