"""Whether a checkpoint is one that a plan writes: its model has as many parameters, its ranks are laid out alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.text import visible
from planc.evidence.checkpoints.found import Found
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan

#: What a size of a layout counts, as one of them and as the plan's own number is called.
_NOUNS = {
    "world": "rank", "sharing": "sharing rank", "model_parallel": "model-parallel rank", "tensor": "tensor rank",
    "pipeline": "stage", "context": "context rank", "expert": "expert rank",
}  # fmt: skip

_COUNTED = ("model.total_parameters", "model.embedding_parameters", "model.hidden", "model.vocab")


def differences(found: Found, plan: Plan, facts: Facts) -> Iterator[str]:
    """What a plan would not have written so; each names the checkpoint."""
    name = f"`{visible(found.path)}`: " if found.path else ""
    yield from (f"{name}{fault}" for fault in found.faults)
    fault = of_model(found, plan, facts)
    if fault:
        yield f"{name}{fault}"
    yield from (f"{name}{fault}" for fault in _of_layout(found, plan, facts))


def of_model(found: Found, plan: Plan, facts: Facts) -> str:
    """Why the parameters are not those of the plan's model; empty if they are, or if that cannot be told."""
    wanted = counts(plan, facts)
    if found.parameters is None or found.adapter or not wanted or found.parameters in wanted:
        return ""
    return f"it holds {plural(found.parameters, 'parameter')}, and the plan's model has {count_text(wanted[0])}"


def counts(plan: Plan, facts: Facts) -> tuple[int, ...]:
    """Numbers of parameters that a checkpoint of the plan may hold, the model's own first; none where that is open.

    A tied output layer may stand there a second time, and the vocabulary be padded. Adapters are saved with or without
    the model, and layers for the prediction of further tokens are often left out.
    """
    known = [facts[path] for path in _COUNTED]
    if (
        not all(isinstance(value, int) for value in known)
        or plan["adapter"].value is not None
        or facts["model.mtp_layers"]
    ):
        return ()
    own, embedding, hidden, vocab = known
    padded = (Facts(plan, engine)["parallel.padded_vocab"] for engine in engines(plan))
    more = [0, *(hidden * (rows - vocab) for rows in padded if isinstance(rows, int))]
    if facts["model.tied"] is True:
        return tuple(dict.fromkeys(count for each in more for count in (own + each, own + embedding + 2 * each)))
    return tuple(dict.fromkeys(own + 2 * each for each in more))


def sizes(plan: Plan, facts: Facts) -> Mapping[str, Any]:
    """The sizes of the plan by the names of a layout; those that are not known are no numbers."""
    tensor, pipeline, context = (facts[f"parallel.{axis}"] for axis in ("tensor", "pipeline", "context"))
    data, expert = facts["parallel.data"], facts["parallel.expert"]
    found = {"world": facts["world.size"], "tensor": tensor, "pipeline": pipeline, "context": context, "expert": expert}
    if isinstance(data, int) and isinstance(context, int):
        found["sharing"] = data * context
    if isinstance(tensor, int) and isinstance(pipeline, int):
        found["model_parallel"] = tensor * pipeline
    return found


def _of_layout(found: Found, plan: Plan, facts: Facts) -> Iterator[str]:
    planned = sizes(plan, facts)
    for axis, size in found.layout.items():
        own = planned.get(axis)
        if axis in _NOUNS and isinstance(own, int) and size != own and not _is_implied(axis, found, planned):
            yield f"it was written by {plural(size, _NOUNS[axis])}, and the plan has {count_text(own)}"
    stage, own_stage = found.layout.get("stage"), facts["shard.stage"]
    if stage is not None and isinstance(own_stage, int) and stage != own_stage:
        yield f"it was written with ZeRO stage {stage}, and the plan has stage {own_stage}"
    world, writers = planned["world"], found.layout.get("writers", 0)
    if isinstance(world, int) and world < writers:
        yield f"{plural(writers, 'rank')} wrote it, and the plan has {count_text(world)}"
    either = found.layout.get("pipeline_or_expert")
    if either is not None and isinstance(planned["pipeline"], int):
        own, noun = (planned["expert"], "expert rank") if planned["pipeline"] == 1 else (planned["pipeline"], "stage")
        if isinstance(own, int) and own != either:
            yield f"it was written by {plural(either, noun)}, and the plan has {count_text(own)}"


def _is_implied(axis: str, found: Found, planned: Mapping[str, Any]) -> bool:
    """Whether tensor ranks or stages differ, so that their product is told of twice."""
    return axis == "model_parallel" and any(
        found.layout.get(part, planned.get(part)) != planned.get(part) for part in ("tensor", "pipeline")
    )
