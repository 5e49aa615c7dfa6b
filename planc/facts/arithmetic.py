"""Arithmetic of the formulas: exact for the integers and fractions of one plan, item by item for numpy arrays.

A formula that is written with these and with `+ - *` serves one plan and a million layouts alike. No zero divisor raises:
what has no value is Unknown, and a whole division by zero leaves everything over.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from planc.plan.model import Unknown
from planc.plan.units import exact


def is_array(value: Any) -> bool:
    """Whether a value is a numpy array (or a numpy scalar), told apart without importing numpy."""
    return hasattr(value, "dtype")


def divide(dividend: Any, divisor: Any) -> Any:
    """dividend / divisor: an int or Fraction for exact numbers, a float for floats, item by item for arrays."""
    if is_array(dividend) or is_array(divisor):
        return _plain(dividend) / _plain(divisor)
    if divisor == 0:
        return Unknown("a division by zero")
    if isinstance(dividend, float) or isinstance(divisor, float):
        left, right = real(dividend), real(divisor)
        if isinstance(left, Unknown):
            return left
        if isinstance(right, Unknown):
            return right
        return _finite(left / right) if right else Unknown("a division by zero")  # a Fraction may be 0 as a float
    return exact(dividend, divisor)


def product(left: Any, right: Any) -> Any:
    """left x right: exact for exact numbers; with an array in floats, where counts may pass 2^63."""
    if is_array(left) or is_array(right):
        return wide(_plain(left)) * wide(_plain(right))
    if not isinstance(left, float) and not isinstance(right, float):
        return left * right
    left, right = real(left), real(right)
    if isinstance(left, Unknown):
        return left
    return right if isinstance(right, Unknown) else _finite(left * right)


def total(*terms: Any) -> Any:
    """The sum of the terms: exact for exact numbers, in floats where one is an array."""
    if any(map(is_array, terms)):
        return sum(wide(_plain(term)) for term in terms)
    return sum(terms)


def wide(value: Any) -> Any:
    """An array in floats, so that its products may pass 2^63; a number as it is."""
    return value * 1.0 if is_array(value) and value.dtype.kind != "f" else value


def whole(dividend: Any, divisor: Any) -> Any:
    """dividend // divisor, rounded down; 0 where the divisor is 0."""
    if is_array(dividend) or is_array(divisor):
        return where(divisor == 0, 0, dividend // where(divisor == 0, 1, divisor))
    return 0 if divisor == 0 else dividend // divisor


def remainder(dividend: Any, divisor: Any) -> Any:
    """What `whole` leaves over; everything where the divisor is 0."""
    if is_array(dividend) or is_array(divisor):
        return where(divisor == 0, dividend, dividend % where(divisor == 0, 1, divisor))
    return dividend if divisor == 0 else dividend % divisor


def rounded_up(dividend: Any, divisor: Any) -> Any:
    """dividend / divisor, rounded up; 0 where the divisor is 0."""
    return -whole(-dividend, divisor)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; item by item where the condition is an array."""
    if not is_array(condition):
        return yes if condition else no
    if condition.ndim == 0:  # a numpy scalar is one number
        return yes if condition else no
    return import_module("numpy").where(condition, _plain(yes), _plain(no))


def largest(left: Any, right: Any) -> Any:
    """The larger of two numbers, item by item where one is an array."""
    if is_array(left) or is_array(right):
        return import_module("numpy").maximum(_plain(left), _plain(right))
    return max(left, right)


def smallest(left: Any, right: Any) -> Any:
    """The smaller of two numbers, item by item where one is an array."""
    if is_array(left) or is_array(right):
        return import_module("numpy").minimum(_plain(left), _plain(right))
    return min(left, right)


def at_largest(keys: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
    """The value that stands where the largest of the keys does, item by item for arrays; of equal keys the first counts."""
    best, found = keys[0], values[0]
    for key, value in zip(keys[1:], values[1:], strict=True):
        more = best < key
        best, found = where(more, key, best), where(more, value, found)
    return found


def growth(exponent: Any) -> Any:
    """e^exponent - 1, exact near 0 as well; the exponent is at most 700."""
    return (import_module("numpy") if is_array(exponent) else math).expm1(exponent)


def real(value: Any) -> Any:
    """The value as a float (an array or Unknown as it is), or Unknown if it is too large for one."""
    if is_array(value) or isinstance(value, Unknown):
        return value
    try:
        return float(value)
    except OverflowError:
        return Unknown("a number beyond the range of floats")


def _finite(value: float) -> Any:
    """A float that is not infinite, or Unknown."""
    return value if abs(value) < float("inf") else Unknown("a number beyond the range of floats")


def _plain(value: Any) -> Any:
    """A Fraction as a float, so that it can stand beside an array; anything else as it is."""
    return float(value) if hasattr(value, "numerator") and not isinstance(value, int) and not is_array(value) else value
