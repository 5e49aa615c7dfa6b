"""The dominant cost of a plan in one sentence: what limits it, and the change that would help most.

Neighbouring plans are worked out by the same facts: each change is of one field, keeps the ranks and the global batch, and
counts only if it fits the card's memory and, by the prediction, makes the step shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Unknown

_MEANING = {
    "compute": "kernels below the card's peak rate take", "recompute": "computing activations again takes",
    "bubble": "waiting for other pipeline stages takes", "optimizer": "the optimizer's update takes",
    "tensor": "exchange between tensor ranks takes", "context": "exchange between context ranks takes",
    "expert": "exchange between expert ranks takes", "pipeline": "sending between pipeline stages takes",
    "shard": "gathering sharded weights takes", "data": "reducing gradients takes",
}  # fmt: skip

#: A change that saves less than this share of the step is none.
_WORTH = 0.01

Fields = Mapping[str, Any]


class Change(NamedTuple):
    """A neighbouring plan: what to write, and by which share its step is shorter."""

    text: str
    saving: float


class Dominant(NamedTuple):
    """What limits a plan: `step.limit`, the share of the step above the ideal, and the best change, if any helps."""

    limit: str
    above_ideal: float
    change: Change | None


def dominant(facts: Facts) -> Dominant | Unknown:
    """What limits a plan under an engine, with the change that would help most."""
    limit, seconds, ideal = facts["step.limit"], facts["step.time"], facts["step.ideal"]
    unknown = next((value for value in (limit, seconds, ideal) if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    changes = [change for text, fields in _neighbours(facts) if (change := _tried(facts, text, fields))]
    best = max(changes, key=lambda change: change.saving, default=None)
    return Dominant(limit, 1 - ideal / seconds, best)


def sentence(found: Dominant) -> str:
    """The dominant cost as one sentence, without a full stop."""
    limit = f"{_MEANING[found.limit]} most of the {_percent(found.above_ideal)} of the step beyond the ideal"
    if found.change is None:
        return f"{limit}; no neighbouring layout that fits is faster"
    return f"{limit}; `{found.change.text}` would save {_percent(found.change.saving)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _tried(facts: Facts, text: str, fields: Fields) -> Change | None:
    """A change of the plan, or None if its time is not known, it does not fit, or saves nothing."""
    other = facts.changed(fields)
    seconds, needed, held = other["step.time"], other["memory.total"], other["memory.capacity"]
    if isinstance(seconds, Unknown):
        return None
    if not isinstance(needed, Unknown) and not isinstance(held, Unknown) and held < needed:
        return None
    saving = 1 - seconds / facts["step.time"]
    return Change(text, saving) if _WORTH <= saving else None


def _neighbours(facts: Facts) -> Iterator[tuple[str, Fields]]:
    """Changes of one field each, as they are written, with all fields that they change."""
    paths = ("batch.micro", "batch.accumulation", "parallel.tensor", "parallel.pipeline", "parallel.data", "model.layers")
    known = [facts[path] for path in paths]
    if any(isinstance(value, Unknown) for value in known):
        return
    micro, passes, tensor, stages, data, layers = known
    if passes % 2 == 0:
        yield f"batch.micro = {2 * micro}", {"batch.micro": 2 * micro, "batch.accumulation": passes // 2}
    if micro % 2 == 0:
        yield f"batch.micro = {micro // 2}", {"batch.micro": micro // 2, "batch.accumulation": 2 * passes}
    for path, size in (("parallel.tensor", tensor), ("parallel.pipeline", stages)):
        if size % 2 == 0 and passes % 2 == 0:
            yield f"{path} = {size // 2}", {path: size // 2, **_replicas(facts, 2 * data, passes // 2)}
        if data % 2 == 0 and _splits(facts, path, 2 * size):
            yield f"{path} = {2 * size}", {path: 2 * size, **_replicas(facts, data // 2, 2 * passes)}
    for word in {"full": ("selective", "none"), "selective": ("none",)}.get(facts["recompute"], ()):
        yield f"recompute = {word}", {"recompute": word}
    if 1 < tensor and facts["parallel.sequence"] is False:
        yield "parallel.sequence = true", {"parallel.sequence": True}
    if 1 < stages and facts["pipeline"] == "1f1b" and layers % (2 * stages) == 0 and passes % stages == 0:
        yield "pipeline = interleaved { chunks = 2 }", {"pipeline": "interleaved", "pipeline.chunks": 2}


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
