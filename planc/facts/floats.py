"""Formulas of times and rates, which are worked out in floats: their inputs made so, and what has no value told.

What is exact elsewhere (bytes, counts) becomes a float here once, before the formula, so that the formula can be written
plainly. No number raises: one beyond the range of floats, or a division by zero, is Unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from planc.facts.arithmetic import is_array
from planc.plan.model import Unknown

_BEYOND = Unknown("a number beyond the range of floats")
_BY_ZERO = Unknown("a division by zero")


def in_floats(formula: Callable[..., Any]) -> Callable[..., Any]:
    """The formula, given its numbers as floats (or arrays of them); Unknown where it has no finite value."""

    @wraps(formula)
    def on_floats(*inputs: Any) -> Any:
        try:
            value = formula(*map(_as_float, inputs))
        except OverflowError:
            return _BEYOND
        except ZeroDivisionError:
            return _BY_ZERO
        return _BEYOND if isinstance(value, float) and not math.isfinite(value) else value

    return on_floats


def binary_logarithm(value: Any) -> Any:
    """The logarithm to base 2 of a number that is at least 1; item by item for arrays."""
    return (import_module("numpy") if is_array(value) else math).log2(value)


_AS_THEY_ARE = frozenset((float, bool, str, type(None)))


def _as_float(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return float(value)
    if kind in _AS_THEY_ARE or isinstance(value, (str, Unknown)):
        return value
    if kind is tuple:
        return tuple(map(_as_float, value))
    if is_array(value):
        return value if value.dtype.kind in "bf" else value * 1.0
    return float(value) if hasattr(value, "numerator") else value
