"""Lengths of the run, the learning rate's course and the intervals, as Megatron-LM counts them: in iterations, or in
samples beside a batch that grows (megatron/training/arguments.py, validate_args; optimizer_param_scheduler.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, PLAIN, STEPS, TOKENS, Amount
from planc.targets._data import real
from planc.targets._launch import is_unset, written

#: Courses of the learning rate by the plan's word, and what Megatron calls them.
STYLES = {"constant": "constant", "linear": "linear", "cosine": "cosine", "inverse-sqrt": "inverse-square-root"}

#: A flag as (field, name, value), as `Flag` takes them.
Said = tuple[str, str, Any]


class Obstacle(NamedTuple):
    """Why a length cannot be written: the field to blame, what is wrong in a few words, and what would work."""

    path: str
    message: str
    help: str


def course(plan: Plan) -> str | None:
    """The word of the plan's schedule; None where there is none, although fields of one may be written."""
    kind: str | None = written(plan, "schedule")
    return None if kind == "schedule" else kind


def length_flags(plan: Plan, facts: Facts) -> Iterator[Said]:
    """The flags of the length, the learning rate's course and the intervals; what has an obstacle is left out."""
    unit = "samples" if _grows(plan) else "iters"
    yield "train.duration", f"train-{unit}", _whole(plan, facts, "train.duration")
    yield "schedule", "lr-decay-style", "constant" if course(plan) is None else STYLES.get(course(plan) or "")
    if course(plan) is not None:
        yield "schedule.total", f"lr-decay-{unit}", _whole(plan, facts, "schedule.total")
        warmup = written(plan, "schedule.warmup")
        if isinstance(warmup, Amount) and warmup.dimension == PLAIN:
            yield "schedule.warmup", "lr-warmup-fraction", real(warmup.value)
        else:
            yield "schedule.warmup", f"lr-warmup-{unit}", _whole(plan, facts, "schedule.warmup")
        minimum = written(plan, "schedule.minimum")
        yield "schedule.minimum", "min-lr", None if minimum is None else real(minimum)
    yield "checkpoint.every", "save-interval", _steps(plan, "checkpoint.every")
    yield "log.every", "log-interval", _steps(plan, "log.every")
    start, length = _steps(plan, "profile.start"), _steps(plan, "profile.length")
    if start is not None and length is not None:
        yield "profile", "profile", True
        yield "profile", "use-pytorch-profiler", True  # else an nsys in front of the command is waited for
        yield "profile.start", "profile-step-start", start
        yield "profile.length", "profile-step-end", start + length
        yield "profile.ranks", "profile-ranks", tuple(written(plan, "profile.ranks") or ()) or None


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps Megatron from the plan's lengths, its schedule and its intervals."""
    if written(plan, "batch.ramp") == "stepped":
        yield Obstacle("batch.ramp", "Megatron has no batch that grows in stated steps", "use `linear`")
    kind = course(plan)
    if kind == "wsd":
        message = "Megatron's WSD asks for the length of its decay"
        yield Obstacle("schedule", message, "use `constant`, `linear`, `cosine` or `inverse-sqrt`")
    if kind == "constant" and written(plan, "schedule.minimum") is not None:
        yield Obstacle("schedule.minimum", "a constant schedule has no minimum", "remove it")
    lengths = ["train.duration"]
    if kind is not None:
        lengths += ["schedule.warmup"] + ["schedule.total"] * plan.is_written("schedule.total")
    for path in lengths:
        found = _length(plan, facts, path)
        if isinstance(found, Obstacle):
            yield found
    for path in ("checkpoint.every", "log.every", "profile.start", "profile.length"):
        found = _interval(plan, path)
        if isinstance(found, Obstacle):
            yield found
    for first, second in (("start", "length"), ("length", "start")):
        if _is_set(plan, f"profile.{first}") and not _is_set(plan, f"profile.{second}"):
            yield Obstacle(f"profile.{first}", f"Megatron's profile has a start and an end, no `{second}`",
                           f"write `profile {{ {second} = ... steps }}`")  # fmt: skip


def _grows(plan: Plan) -> bool:
    return bool(written(plan, "batch.ramp") == "linear")


def _is_set(plan: Plan, path: str) -> bool:
    return plan.find(path) is not None and not is_unset(plan, path)


def _whole(plan: Plan, facts: Facts, path: str) -> int | None:
    found = _length(plan, facts, path)
    return None if isinstance(found, Obstacle) else found


def _length(plan: Plan, facts: Facts, path: str) -> int | Obstacle | None:
    """A length in iterations, or in samples where the batch grows; the last one whole."""
    value = written(plan, path)
    if not isinstance(value, Amount) or value.dimension == PLAIN:
        return None
    length = written(plan, "batch.sequence_length")
    if value.dimension == TOKENS and length is None:
        return Obstacle(path, "tokens, and no sequence length", "write `batch { sequence_length = ... }`")
    if _grows(plan):
        if value.dimension in (STEPS, EPOCHS):
            message = "beside a batch that grows Megatron counts in samples"
            help = "write it in tokens" if path.startswith("schedule") else "write it in samples or tokens"
            return Obstacle(path if plan.is_written(path) else "train.duration", message, help)
        return _up(value.value, length) if value.dimension == TOKENS else _up(value.value)
    if value.dimension == STEPS:
        return _up(value.value)
    if value.dimension == EPOCHS:
        steps = facts["train.steps"]
        if isinstance(steps, Unknown):
            return Obstacle(path, "epochs of a data set of unknown size", "write steps, or `dataset { size = ... }`")
        return _up(steps)
    per_step = facts["batch.tokens" if value.dimension == TOKENS else "batch.global"]
    return None if isinstance(per_step, Unknown) else _up(value.value, per_step)


def _steps(plan: Plan, path: str) -> int | None:
    found = _interval(plan, path)
    return None if isinstance(found, Obstacle) else found


def _interval(plan: Plan, path: str) -> int | Obstacle | None:
    """A number of iterations that is written as such."""
    value = written(plan, path) if _is_set(plan, path) else None
    if value is None:
        return None
    amount = value.value if isinstance(value, Amount) else value
    if isinstance(value, Amount) and value.dimension != STEPS:
        return Obstacle(path, "Megatron saves after iterations, not after a time", "write it in steps")
    if not isinstance(amount, int) or (amount < 1 and path != "profile.start"):
        return Obstacle(path, "the interval is no whole number of steps", "write `... steps`")
    return amount


def _up(amount: Any, divisor: Any = 1) -> int:
    """amount / divisor, rounded up."""
    return int(-(-amount // divisor))
