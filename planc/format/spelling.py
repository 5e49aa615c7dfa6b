"""How a number with its unit is written: `8Ki`, `80 GB`, `400 Gbit/s`, `4Mi tokens`, `8 %`."""

from __future__ import annotations

import re

from planc.plan.units import UNITS

_PARTS = re.compile(r"([0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?)([A-Za-z][A-Za-z0-9_]*(?:/\w+)?)?[ \t]*(.*)")


def spelled(quantity: str) -> str:
    """A quantity with one blank before its unit. A suffix touches its number, and so does what is not known."""
    number, glued, unit = _parts(quantity)
    if glued in UNITS and not unit:
        return f"{number} {glued}"
    return f"{number}{glued} {unit}" if unit else number + glued


def touching(quantity: str) -> str:
    """A quantity that may stand before `in` or `{`, where a word apart would be read as the name of an entry."""
    number, glued, unit = _parts(quantity)
    return spelled(quantity) if (glued and unit) or unit == "%" else number + glued + unit


def has_loose_unit(quantity: str) -> bool:
    """Whether a unit stays apart from its number even before `in` or `{`: that takes a line break."""
    _, glued, unit = _parts(quantity)
    return bool(glued and unit) and unit != "%"


def _parts(quantity: str) -> tuple[str, str, str]:
    match = _PARTS.fullmatch(quantity)
    if match is None:  # the grammar has no such quantity
        raise ValueError(quantity)
    return match[1], match[2] or "", match[3]
