"""The dominant cost of a plan in one sentence: what limits it, and the change that would help most.

Neighbouring plans are worked out by the same facts: each change is of one field, with those that follow from it, keeps the
ranks and the global batch, and counts only if it is known to fit the card's memory under every engine of the plan, is
allowed, and by the prediction makes the step shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.facts.step import AXES
from planc.plan.model import Unknown

_MEANING = {
    "compute": "kernels below the card's peak rate take", "recompute": "computing activations again takes",
    "bubble": "waiting for other pipeline stages takes", "optimizer": "the optimizer's update takes",
    "overhead": "what a step costs beside its passes takes",
}  # fmt: skip
_EXCHANGE = {
    "tensor": "between tensor ranks", "context": "between context ranks", "expert": "between expert ranks",
    "pipeline": "between pipeline stages", "shard": "to gather sharded weights", "data": "to reduce gradients",
}  # fmt: skip

#: A change that saves less than this share of the step is none.
_WORTH = 0.01

#: Share of the card's memory that a change has to leave free: predictions err.
_SPARE = 0.05

#: Share of exchange from which one axis stands for all of it.
_ALONE = 0.99

Fields = Mapping[str, Any]

#: Whether a plan may have other values of these fields, given the facts that it then has under each engine.
Allowed = Callable[[Fields, "tuple[Facts, ...]"], bool]


class Change(NamedTuple):
    """A neighbouring plan: what to write, and by which share its step is shorter."""

    text: str
    saving: float


class Dominant(NamedTuple):
    """What limits a plan, and the best change, if any helps.

    limit: `step.limit`. share: what it takes of the step above the ideal, exchange along all axes. axis_share: of that
    exchange, what is along the axis that `limit` names; 0 where it names none. above_ideal: that part of the step.
    """

    limit: str
    share: float
    axis_share: float
    above_ideal: float
    change: Change | None


class _Trial(NamedTuple):
    """A neighbouring plan: what to write, the fields that differ, and its facts under each engine."""

    text: str
    fields: Fields
    every: tuple[Facts, ...]


def dominant(facts: Facts) -> Dominant | Unknown:
    """What limits a plan under an engine; no change is looked for."""
    limit, seconds, ideal = facts["step.limit"], facts["step.time"], facts["step.ideal"]
    unknown = next((value for value in (limit, seconds, ideal) if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    above = max(seconds - ideal, 1e-30)
    if limit in AXES:
        exchanged = sum(facts[f"communication.{axis}.exposed"] for axis in AXES)
        own = facts[f"communication.{limit}.exposed"] / exchanged
        return Dominant(limit, facts["step.communication"] / above, own, above / seconds, None)
    taken = facts[f"step.{limit}"]
    if limit == "compute":
        taken = taken - facts["step.recompute"] - ideal
    return Dominant(limit, taken / above, 0.0, above / seconds, None)


def dominants(every: Sequence[Facts], allowed: Allowed) -> tuple[Dominant | Unknown, ...]:
    """What limits a plan under each of its engines, each with the change that would help most."""
    found = tuple(map(dominant, every))
    if all(isinstance(each, Unknown) for each in found):
        return found
    trials = [
        _Trial(text, fields, tuple(facts.changed(fields) for facts in every)) for text, fields in _neighbours(every[0])
    ]
    judged: dict[str, bool] = {}
    return tuple(
        each if isinstance(each, Unknown) else each._replace(change=_best(facts, at, trials, allowed, judged))
        for at, (facts, each) in enumerate(zip(every, found, strict=True))
    )


def sentence(found: Dominant) -> str:
    """The dominant cost as one sentence, without a full stop."""
    change = found.change
    if change is None:
        return f"{limit_text(found)}; no neighbouring layout that fits is faster"
    return f"{limit_text(found)}; {change.text} would save {_percent(change.saving)}"


def limit_text(found: Dominant) -> str:
    """What limits a plan, without the change."""
    if found.limit in AXES:
        axis = _EXCHANGE[found.limit]
        taken = f"exchange {axis} takes" if _ALONE < found.axis_share else f"exchange, above all {axis}, takes"
    else:
        taken = _MEANING[found.limit]
    most = "most" if 0.5 < found.share else "the largest part"
    return f"{taken} {most} of the {_percent(found.above_ideal)} of the step beyond the ideal"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _best(facts: Facts, at: int, trials: list[_Trial], allowed: Allowed, judged: dict[str, bool]) -> Change | None:
    """The change that saves most under the engine with this index and is to be had under all of them."""
    savings = []
    for trial in trials:
        seconds = trial.every[at]["step.time"]
        if not isinstance(seconds, Unknown) and _WORTH <= (saving := 1 - seconds / facts["step.time"]):
            savings.append((saving, trial))
    for saving, trial in sorted(savings, key=lambda pair: -pair[0]):
        if trial.text not in judged:  # only of what would be named: memory and rules cost more than the time of a step
            judged[trial.text] = all(map(_fits, trial.every)) and allowed(trial.fields, trial.every)
        if judged[trial.text]:
            return Change(trial.text, saving)
    return None


def _fits(facts: Facts) -> bool:
    """Whether a plan is known to leave a part of the card free."""
    needed, held = facts["memory.total"], facts["memory.capacity"]
    return not isinstance(needed, Unknown) and not isinstance(held, Unknown) and bool(needed <= (1 - _SPARE) * held)


def _neighbours(facts: Facts) -> Iterator[tuple[str, Fields]]:
    """Changes of one field each, as they are written, with all fields that they change."""
    for fields in _changes(facts):
        # What follows from the first field has to be written where the plan has it written.
        named = [path for at, path in enumerate(fields) if at == 0 or facts.plan.is_written(path)]
        chunks = fields.get("pipeline.chunks")
        texts = (
            f"`pipeline = {fields[path]} {{ chunks = {chunks} }}`"
            if path == "pipeline"
            else f"`{path} = {_word(fields[path])}`"
            for path in named
            if path != "pipeline.chunks"
        )
        yield " with ".join(texts), fields


def _word(value: Any) -> str:
    return "true" if value is True else str(value)


def _changes(facts: Facts) -> Iterator[Fields]:
    """The fields of each neighbour, the one that is changed first."""
    paths = (
        "batch.micro",
        "batch.accumulation",
        "parallel.tensor",
        "parallel.pipeline",
        "parallel.data",
        "model.layers",
    )
    known = [facts[path] for path in paths]
    if any(isinstance(value, Unknown) for value in known):
        return
    micro, passes, tensor, stages, data, layers = known
    if passes % 2 == 0:
        yield {"batch.micro": 2 * micro, "batch.accumulation": passes // 2}
    if micro % 2 == 0:
        yield {"batch.micro": micro // 2, "batch.accumulation": 2 * passes}
    for path, size in (("parallel.tensor", tensor), ("parallel.pipeline", stages)):
        if size % 2 == 0 and passes % 2 == 0:
            yield {path: size // 2, **_replicas(facts, 2 * data, passes // 2)}
        if data % 2 == 0 and _splits(facts, path, 2 * size):
            yield {path: 2 * size, **_replicas(facts, data // 2, 2 * passes)}
    for word in {"full": ("selective", "none"), "selective": ("none",)}.get(facts["recompute"], ()):
        yield {"recompute": word}
    if 1 < tensor and facts["parallel.sequence"] is False:
        yield {"parallel.sequence": True}
    if 1 < stages and facts["pipeline"] == "1f1b" and layers % (2 * stages) == 0 and passes % stages == 0:
        yield {"pipeline": "interleaved", "pipeline.chunks": 2}


def _splits(facts: Facts, path: str, size: int) -> bool:
    """Whether an axis may be that large: heads over tensor ranks of one domain, layers over stages."""
    if path == "parallel.pipeline":
        return bool(facts["model.layers"] % size == 0)
    domain, heads = facts["cluster.domain"], facts["model.heads"]
    return not isinstance(domain, Unknown) and bool(size <= domain) and bool(heads % size == 0)


def _replicas(facts: Facts, data: Any, passes: Any) -> dict[str, Any]:
    """Fields that follow from the number of replicas; shards that spread over all of them still do."""
    size = facts["shard.size"]
    shared = {"shard.size": data} if size == facts["parallel.data"] else {}
    return {"parallel.data": data, "batch.accumulation": passes, **shared}
