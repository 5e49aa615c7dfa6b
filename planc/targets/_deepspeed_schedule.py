"""Optimizers and learning-rate schedules as DeepSpeed 0.19.8 knows them
(deepspeed/runtime/{config,engine,lr_schedules}.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, PLAIN, SAMPLES, STEPS, TOKENS
from planc.targets._data import real
from planc.targets._launch import is_unset, written


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


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps DeepSpeed from following the plan's schedule."""
    kind = written(plan, "schedule")
    if kind in ("wsd", "inverse-sqrt"):
        yield Obstacle("schedule", f"DeepSpeed has no `{kind}` schedule", "use `constant`, `linear` or `cosine`")
        return
    if kind is None:
        return
    warmup = steps_of(plan, facts, "schedule.warmup")
    if isinstance(warmup, Obstacle):
        yield warmup
    elif kind != "constant" and warmup is not None and warmup < FEWEST_WARMUP_STEPS:
        path = "schedule.warmup" if plan.is_written("schedule.warmup") else "schedule"
        yield Obstacle(path, f"DeepSpeed's `{kind}` schedule warms up for 2 steps at least", "write `warmup = 2 steps`")
    yield from _end_obstacles(plan, facts, kind)


def _end_obstacles(plan: Plan, facts: Facts, kind: str) -> Iterator[Obstacle]:
    minimum = written(plan, "schedule.minimum")
    if kind == "constant":
        if minimum is not None:
            yield Obstacle("schedule.minimum", "a constant schedule has no minimum", "remove it")
        return
    total = steps_of(plan, facts, "schedule.total")
    if isinstance(total, Obstacle):
        yield total
    elif total is None:
        yield Obstacle("schedule", f"the `{kind}` schedule has no end", "write `train { duration = ... steps }`")
    if kind == "linear" and minimum is not None and minimum != 0:
        yield Obstacle("schedule.minimum", "DeepSpeed's linear schedule ends at zero", "use `cosine`, or `minimum = 0`")
    needs_peak = kind == "linear" or (minimum is not None and minimum != 0)
    if needs_peak and is_unset(plan, "optimizer.learning_rate"):
        yield Obstacle("schedule", f"the `{kind}` schedule needs the peak", "write `optimizer { learning_rate = ... }`")


def scheduler_block(plan: Plan, facts: Facts) -> dict[str, Any] | None:
    """DeepSpeed's `scheduler`; None where the rate stays as it is. Only for a schedule without obstacles."""
    kind = written(plan, "schedule")
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
        params.update(total_num_steps=_total(plan, facts), warmup_min_ratio=0.0, cos_min_ratio=ratio)
        return {"type": "WarmupCosineLR", "params": params}
    params["warmup_min_lr"] = 0.0
    if rate is not None:
        params["warmup_max_lr"] = real(rate)
    if kind == "constant":
        return {"type": "WarmupLR", "params": params}
    params["total_num_steps"] = _total(plan, facts)
    return {"type": "WarmupDecayLR", "params": params}


def steps_of(plan: Plan, facts: Facts, path: str) -> int | Obstacle | None:
    """Optimizer steps that a length stands for, the last one whole; 0 for a warmup that is not set, None if unknown."""
    if is_unset(plan, path) or written(plan, path) is None:
        return 0 if path == "schedule.warmup" and is_unset(plan, path) else None
    amount, dimension = plan.value(path)
    if dimension == STEPS:
        return _up(amount)
    if dimension == PLAIN:
        total = steps_of(plan, facts, "schedule.total")
        if isinstance(total, int):
            return _up(amount * total)
        return Obstacle(path, "a share of a length that is not known", "write the warmup in steps")
    if dimension == EPOCHS:
        return Obstacle(path, "epochs are no number of steps yet", "write the length in steps")
    per_step = facts["batch.global" if dimension == SAMPLES else "batch.tokens"]
    if isinstance(per_step, Unknown):
        if not per_step.unset:
            return None
        return Obstacle(
            path, "tokens are no steps without a sequence length", "write `batch { sequence_length = ... }`"
        )
    assert dimension in (SAMPLES, TOKENS)
    return _up(amount, per_step)


def _total(plan: Plan, facts: Facts) -> int:
    total = steps_of(plan, facts, "schedule.total")
    assert isinstance(total, int)
    return total


def _up(amount: Any, divisor: int = 1) -> int:
    """amount / divisor, rounded up."""
    return int(-(-amount // divisor))
