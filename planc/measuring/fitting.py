"""Factors under which predictions come nearest to measurements, and which of them the measurements can tell apart.

A prediction is a function of the factors, so nothing is assumed about how they enter it; it is taken as a straight line
from step to step (Gauss-Newton), on relative errors, which lets a small layout count as much as a large one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

#: Least and largest factor that is looked for; the least is the language's.
LEAST, MOST = 1 / 16, 16.0

_STEPS = 40
_NUDGE = 1e-3
#: A factor that makes up no larger share of any prediction is not to be told, nor are two that move all of them alike.
_TELLING = 0.01

#: Seconds of a step (or bytes) under a factor for computation and one for communication.
Time = Callable[[float, float], float]


class Times(NamedTuple):
    """Factors for the time; `communication` is None where the measurements do not tell it from the rest.

    is_beyond: they would tell it, but from LEAST to MOST there is none that fits.
    """

    compute: float
    communication: float | None
    is_beyond: bool = False


def fit_one(predictions: Sequence[Callable[[float], float]], measured: Sequence[float]) -> float | None:
    """The one factor with the least squares of relative errors; None if no prediction depends on it."""
    factor = 1.0
    for _ in range(_STEPS):
        slope = drift = told = 0.0
        for predicted, at in zip(predictions, measured, strict=True):
            value = predicted(factor)
            along = (predicted(factor * (1 + _NUDGE)) - value) / _NUDGE
            slope += (along / at) ** 2
            drift += along / at * (1 - value / at)
            told = max(told, along / value)
        if told <= _TELLING:
            return None
        moved = _within(factor * (1 + drift / slope))
        if abs(moved - factor) <= 1e-9 * factor:
            return moved
        factor = moved
    return factor


def fit_times(predictions: Sequence[Time], measured: Sequence[float], communication: float) -> Times | None:
    """The factors of step times; `communication` is what stands for it where it is not to be told.

    None if not even the factor of computation can be told.
    """
    both = _fit_both(predictions, measured) if 1 < len(predictions) else None
    is_beyond = both is not None and (at_end(both.compute) or at_end(both.communication or 1.0))
    if both is not None and not is_beyond:
        return both
    # What the other factor is fitted to beside one that was held at an end is no measure of it.
    alone = [_alone(predicted, communication) for predicted in predictions]
    compute = fit_one(alone, measured)
    return None if compute is None else Times(compute, None, is_beyond)


def at_end(factor: float) -> bool:
    """Whether a factor is the least or the largest that is looked for, so that a better one lies beyond."""
    return factor in (LEAST, MOST)


def _alone(predicted: Time, communication: float) -> Callable[[float], float]:
    return lambda compute: predicted(compute, communication)


def _fit_both(predictions: Sequence[Time], measured: Sequence[float]) -> Times | None:
    """Both factors, or None where the layouts do not differ in what share of their time is communication."""
    compute = communication = 1.0
    for _ in range(_STEPS):
        aa = ab = bb = ar = br = told_a = told_b = 0.0
        for predicted, at in zip(predictions, measured, strict=True):
            value = predicted(compute, communication)
            left = 1 - value / at
            a = (predicted(compute * (1 + _NUDGE), communication) - value) / _NUDGE / at
            b = (predicted(compute, communication * (1 + _NUDGE)) - value) / _NUDGE / at
            aa, ab, bb, ar, br = aa + a * a, ab + a * b, bb + b * b, ar + a * left, br + b * left
            told_a, told_b = max(told_a, a * at / value), max(told_b, b * at / value)
        area = aa * bb - ab * ab
        # The area is zero where both move all predictions alike; in units of what each moves them by itself.
        if told_a <= _TELLING or told_b <= _TELLING or area <= _TELLING * aa * bb:
            return None
        to_compute = _within(compute * (1 + (bb * ar - ab * br) / area))
        to_communication = _within(communication * (1 + (aa * br - ab * ar) / area))
        still = abs(to_compute - compute) <= 1e-9 * compute and abs(to_communication - communication) <= 1e-9
        compute, communication = to_compute, to_communication
        if still:
            break
    return Times(compute, communication)


def _within(factor: float) -> float:
    return min(max(factor, LEAST), MOST)
