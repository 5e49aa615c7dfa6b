"""Optimizers and learning-rate schedules as DeepSpeed 0.19.8 knows them
(deepspeed/runtime/{config,engine,lr_schedules}.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, PLAIN, STEPS, TOKENS
from planc.targets._data import real
from planc.targets._launch import is_unset, option, written


class Optimizer(NamedTuple):
    """An optimizer of DeepSpeed.

    params: which fields of the plan it takes, each with DeepSpeed's name for it.
    tested: whether ZeRO takes it without `zero_allow_untested_optimizer` (ZERO_SUPPORTED_OPTIMIZERS).
    """

    name: str
    params: tuple[tuple[str, str], ...]
    tested: bool


_RATE = ("optimizer.learning_rate", "lr")
_BETAS = ("optimizer.betas", "betas")
_EPSILON = ("optimizer.epsilon", "eps")
_DECAY = ("optimizer.weight_decay", "weight_decay")
_MOMENTUM = ("optimizer.momentum", "momentum")

OPTIMIZERS: dict[str, Optimizer] = {
    "adamw": Optimizer("AdamW", (_RATE, _BETAS, _EPSILON, _DECAY), True),
    "sgd": Optimizer("SGD", (_RATE, _MOMENTUM, _DECAY), False),  # torch.optim.SGD, found by its name
    "lion": Optimizer("Lion", (_RATE, _BETAS, _DECAY), True),
    "muon": Optimizer("Muon", (_RATE, _MOMENTUM, _BETAS, _EPSILON, _DECAY), True),
}

#: WarmupLR, WarmupDecayLR and WarmupCosineLR warm up for this many steps at least, whatever they are told.
FEWEST_WARMUP_STEPS = 2


class Obstacle(NamedTuple):
    """Why a schedule cannot be written: the field to blame, what is wrong in a few words, and what would work."""

    path: str
    message: str
    help: str


def course(plan: Plan) -> str | None:
    """The word of the plan's schedule; None where there is none, although fields of one may be written."""
    kind: str | None = written(plan, "schedule")
    return None if kind == "schedule" else kind


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps DeepSpeed from following the plan's schedule."""
    kind = course(plan)
    if kind in ("wsd", "inverse-sqrt"):
        yield Obstacle("schedule", f"DeepSpeed has no `{kind}` schedule", "use `constant`, `linear` or `cosine`")
        return
    if kind is None:
        return
    warmup = steps_of(plan, facts, "schedule.warmup")
    if isinstance(warmup, Obstacle):
        yield warmup
    elif warmup == 1 or (kind != "constant" and warmup == 0):
        path = "schedule.warmup" if plan.is_written("schedule.warmup") else "schedule"
        message = f"DeepSpeed's `{kind}` schedule warms up for {FEWEST_WARMUP_STEPS} steps at least"
        yield Obstacle(path, message, f"write `warmup = {FEWEST_WARMUP_STEPS} steps`")
    if kind == "constant":
        if written(plan, "schedule.minimum") is not None:
            yield Obstacle("schedule.minimum", "a constant schedule has no minimum", "remove it")
        return
    total = None if _trainer_counts(plan) else steps_of(plan, facts, "schedule.total")
    if isinstance(total, Obstacle) and not (isinstance(warmup, Obstacle) and warmup.message == total.message):
        yield total
    elif is_unset(plan, "schedule.total"):
        yield Obstacle("schedule", f"the `{kind}` schedule has no end", "write `train { duration = ... steps }`")
    elif isinstance(total, int) and _is_for_trainer(plan) and not is_unset(plan, "train.duration"):
        steps = steps_of(plan, facts, "train.duration")
        if isinstance(steps, int) and steps != total:
            message = f"the schedule ends after {total} steps, the run after {steps}"
            yield Obstacle("schedule.total", message, "leave `total` out: the Trainer's schedules end with the run")
    yield from _rate_obstacles(plan, kind)


def _rate_obstacles(plan: Plan, kind: str) -> Iterator[Obstacle]:
    minimum = written(plan, "schedule.minimum")
    if kind == "linear" and minimum is not None and minimum != 0:
        yield Obstacle("schedule.minimum", "DeepSpeed's linear schedule ends at zero", "use `cosine`, or `minimum = 0`")
    needs_peak = kind == "linear" or (minimum is not None and minimum != 0)
    if needs_peak and is_unset(plan, "optimizer.learning_rate"):
        yield Obstacle("schedule", f"the `{kind}` schedule needs the peak", "write `optimizer { learning_rate = ... }`")


def scheduler_block(plan: Plan, facts: Facts) -> dict[str, Any] | None:
    """DeepSpeed's `scheduler`; None where the rate stays as it is. Only for a schedule without obstacles."""
    kind = course(plan)
    if kind is None:
        return None
    warmup = steps_of(plan, facts, "schedule.warmup")
    if kind == "constant" and not warmup:
        return None
    params: dict[str, Any] = {"warmup_num_steps": warmup, "warmup_type": "linear"}
    rate = written(plan, "optimizer.learning_rate")
    if kind == "cosine":
        minimum = written(plan, "schedule.minimum")
        ratio = 0.0 if not minimum else float(minimum / rate)
        params.update(total_num_steps=_end(plan, facts), warmup_min_ratio=0.0, cos_min_ratio=ratio)
        return {"type": "WarmupCosineLR", "params": params}
    params["warmup_min_lr"] = 0.0
    if rate is not None:
        params["warmup_max_lr"] = real(rate)
    if kind == "constant":
        return {"type": "WarmupLR", "params": params}
    params["total_num_steps"] = _end(plan, facts)
    return {"type": "WarmupDecayLR", "params": params}


def steps_of(plan: Plan, facts: Facts, path: str) -> int | Obstacle | None:
    """Optimizer steps that a length stands for, the last one whole; 0 for a warmup that is not set, None if unknown."""
    if is_unset(plan, path):
        return 0 if path == "schedule.warmup" else None
    value = written(plan, path)
    if value is None:
        return None
    amount, dimension = value
    if dimension == STEPS:
        return _up(amount)
    if dimension == PLAIN:
        total = steps_of(plan, facts, "schedule.total")
        if isinstance(total, int):
            return _up(amount * total)
        if total is None and is_unset(plan, "schedule.total"):
            return Obstacle(path, "a share of a length that is not written", "write the warmup in steps")
        return total
    if dimension == EPOCHS:
        size = written(plan, "dataset.size")
        if size is None:
            return Obstacle(path, "epochs of a data set of unknown size", "write steps, or `dataset { size = ... }`")
        amount, dimension = amount * size.value, size.dimension
    if dimension == TOKENS and is_unset(plan, "batch.sequence_length"):
        return Obstacle(path, "tokens, and no sequence length", "write `batch { sequence_length = ... }`")
    per_step = facts["batch.tokens" if dimension == TOKENS else "batch.global"]
    return None if isinstance(per_step, Unknown) else _up(amount, per_step)


def _end(plan: Plan, facts: Facts) -> int | str:
    """The step at which the schedule ends, or the word for which the Trainer puts its own count of the run's steps."""
    if _trainer_counts(plan):
        return "auto"
    total = steps_of(plan, facts, "schedule.total")
    assert isinstance(total, int)
    return total


def _trainer_counts(plan: Plan) -> bool:
    """Whether only the Trainer knows the steps: of each epoch it counts the last one too, which lacks some batches.

    It stops at a number that is not its own (transformers 5.23, `trainer_config_finalize`).
    """
    total = written(plan, "schedule.total")
    return _is_for_trainer(plan) and total is not None and bool(total.dimension == EPOCHS)


def _is_for_trainer(plan: Plan) -> bool:
    return bool(option(plan, "deepspeed", "trainer") == "hf")


def _up(amount: Any, divisor: int = 1) -> int:
    """amount / divisor, rounded up."""
    return int(-(-amount // divisor))
