"""Arithmetic of the formulas: exact for the integers and fractions of one plan, item by item for numpy arrays.

A formula that is written with these and with `+ - *` serves one plan and a million layouts alike. No zero divisor raises:
what has no value is Unknown, and a whole division by zero leaves everything over.
"""

from __future__ import annotations

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
        return right if isinstance(right, Unknown) else left / right
    return exact(dividend, divisor)


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
    if is_array(condition):
        return condition * _plain(yes) + (1 - condition) * _plain(no)
    return yes if condition else no


def largest(left: Any, right: Any) -> Any:
    """The larger of two numbers, item by item where one is an array."""
    if is_array(left) or is_array(right):
        return where(left > right, left, right)
    return max(left, right)


def real(value: Any) -> Any:
    """The value as a float (an array as it is), or Unknown if it is too large for one."""
    if is_array(value):
        return value
    try:
        return float(value)
    except OverflowError:
        return Unknown("a number beyond the range of floats")


def _plain(value: Any) -> Any:
    """A Fraction as a float, so that it can stand beside an array; anything else as it is."""
    return float(value) if hasattr(value, "numerator") and not isinstance(value, int) and not is_array(value) else value
