"""`auto`: a value that follows from the others by one of the plan's equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planc.diagnostics.amounts import count_text
from planc.plan.model import Unknown

#: Each equation says that the products of both sides are equal.
EQUATIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("cluster.nodes", "cluster.gpus_per_node"),
        ("parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.data"),
    ),
    (("batch.global",), ("batch.micro", "batch.accumulation", "parallel.data")),
)

#: Fields that stand in an equation, so that `auto` is legal there.
SOLVABLE = frozenset(path for sides in EQUATIONS for side in sides for path in side)


def solve(path: str, is_auto: Callable[[str], bool], value: Callable[[str], Any]) -> Any:
    """The value of a field from the others; Unknown if none or several would do, or the division leaves a rest.

    `is_auto` tells whether a field is itself left to be worked out; `value` gives the others.
    """
    return _solve(path, is_auto, value, frozenset())


def _solve(path: str, is_auto: Callable[[str], bool], value: Callable[[str], Any], used: frozenset[int]) -> Any:
    reasons: list[Unknown] = []
    for number, sides in enumerate(EQUATIONS):
        if number in used or not any(path in side for side in sides):
            continue
        with_path, without = sides if path in sides[0] else sides[::-1]
        factors = [_value(other, is_auto, value, used | {number}) for other in (*without, *with_path) if other != path]
        unknown = next((factor for factor in factors if isinstance(factor, Unknown)), None)
        if unknown is not None:
            reasons.append(unknown)
            continue
        product = _product(factors[: len(without)])
        divisor = _product(factors[len(without) :])
        if divisor == 0 or product % divisor != 0 or product < divisor:
            return Unknown(f"{count_text(product)} is no multiple of {count_text(divisor)}", (path,))
        return product // divisor
    # A field that is faulty or missing has been reported; only where all are there, the equations do not settle it.
    faulty = next((reason for reason in reasons if not reason.undetermined), None)
    return faulty or Unknown(f"`{path}` does not follow from the other fields", (path,), undetermined=True)


def _value(path: str, is_auto: Callable[[str], bool], value: Callable[[str], Any], used: frozenset[int]) -> Any:
    if is_auto(path):
        return _solve(path, is_auto, value, used)
    found = value(path)
    return Unknown(f"`{path}` is not set", (path,), unset=True) if found is None else found


def _product(factors: list[Any]) -> Any:
    result = 1
    for factor in factors:
        result *= factor
    return result
