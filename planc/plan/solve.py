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


def equation_of(path: str) -> str:
    """The equation from which a field follows, in words; empty for a field that is in none."""
    for sides in EQUATIONS:
        if any(path in side for side in sides):
            return " = ".join(" x ".join(side) for side in sides)
    return ""


#: Fields that stand in an equation, so that `auto` is legal there.
SOLVABLE = frozenset(path for sides in EQUATIONS for side in sides for path in side)


class NotWhole(Unknown):
    """A value that would have to be a fraction: the division with its rest, and what would make it whole."""

    __slots__ = ("arithmetic", "help")

    def __init__(self, path: str, product: int, divisor: int, factors: str) -> None:
        super().__init__(f"{count_text(product)} is no multiple of {count_text(divisor)}", (path,))
        whole, rest = divmod(product, divisor) if divisor else (0, product)
        shown = (count_text(product), count_text(divisor), count_text(whole), count_text(rest))
        self.arithmetic = "{} / {} = {} rest {}".format(*shown)
        self.help = (
            (f"{factors} is {count_text(divisor)}, which has to divide {count_text(product)}",) if factors else ()
        )


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
            named = " x ".join(f"`{other}`" for other in with_path if other != path)
            return NotWhole(path, product, divisor, named)
        return product // divisor
    # A field that is faulty or missing has been reported; only where all are there, the equations do not settle it.
    faulty = next((reason for reason in reasons if not reason.undetermined), None)
    return faulty or Unknown(f"`{path}` does not follow from the other fields", (path,), undetermined=True)


def would_do(path: str, is_auto: Callable[[str], bool], value: Callable[[str], Any]) -> tuple[int, ...]:
    """The values of a field with which the others could be whole, if they can be listed: divisors of what is known."""
    for sides in EQUATIONS:
        if not any(path in side for side in sides):
            continue
        with_path, without = sides if path in sides[0] else sides[::-1]
        if any(is_auto(other) for other in without):
            continue
        known = [value(other) for other in (*without, *(other for other in with_path if not is_auto(other)))]
        if any(factor is None or isinstance(factor, Unknown) for factor in known):
            continue
        product, divisor = _product(known[: len(without)]), _product(known[len(without) :])
        if 0 < divisor and product % divisor == 0 and product // divisor <= MOST:
            return tuple(size for size in range(1, product // divisor + 1) if product // divisor % size == 0)
    return ()


#: The largest product whose divisors are listed.
MOST = 1_000_000


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
