"""How the layers of a plan's pipeline are said to torchtitan."""

from __future__ import annotations

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._launch import written

#: torchtitan's schedules, by the plan's; both go through the stages in a loop.
SCHEDULES = {"1f1b": "1F1B", "interleaved": "Interleaved1F1B"}


def stated_layers(plan: Plan, facts: Facts) -> tuple[int, ...] | None:
    """Layers of every virtual stage where the plan states them; None where they follow from the number of layers."""
    stated = written(plan, "pipeline.layers")
    if stated is not None:
        return tuple(stated)
    ends = (written(plan, "pipeline.first_stage_layers"), written(plan, "pipeline.last_stage_layers"))
    if ends == (None, None):
        return None
    return tuple(facts.at_stage(stage)["stage.layers"] for stage in range(plan.value("parallel.pipeline")))


def chunk_layers(plan: Plan) -> int | None:
    """Layers of the longest chunk, from which torchtitan works out how many there are; None for its own two."""
    if written(plan, "pipeline.chunks") in (None, 2):
        return None
    return -(-slots(plan) // virtual_stages(plan))


def slots(plan: Plan) -> int:
    """Layers that are shared out, an embedding or a loss that counts as one among them."""
    ends = ("pipeline.embedding_as_layer", "pipeline.loss_as_layer")
    count: int = plan.value("model.layers") + sum(bool(written(plan, path)) for path in ends)
    return count


def virtual_stages(plan: Plan) -> int:
    """Stages of all ranks, each chunk one."""
    count: int = plan.value("parallel.pipeline") * (written(plan, "pipeline.chunks") or 1)
    return count
