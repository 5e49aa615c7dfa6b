"""What the docstring of a formula says of it, with the constants and formulas that it names in braces filled in.

`{MATMUL_SHARE}` stands for a constant of `constants.py`, whose value is put there; `{scatter_time}` for a function of
`collectives.py`, whose formula is told beside. So whoever has a calculator can do the sum again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from planc.diagnostics.amounts import number_text, size_text, time_text
from planc.facts import collectives, constants
from planc.facts.constants import Constant

_LABELS = ("Shape:", "Formula:", "Source:", "Assumes:", "Errors:")
_NAME = re.compile(r"\{(\w+)\}")


class Evidence(NamedTuple):
    """The parts of a docstring, each on one line; a part that is not there is empty.

    where: what stands in the formula: a constant with its value and source, or a function with its formula.
    """

    meaning: str
    formula: str
    source: str
    assumes: str
    where: tuple[str, ...]


@lru_cache(1024)
def evidence_of(docstring: str | None) -> Evidence:
    """What a docstring says; an editor or a search explains many plans."""
    parts = _parts(docstring)
    formula = parts.get("Formula:", "")
    where = tuple(_told(name) for name in named_in(formula))
    return Evidence(parts.get("", ""), _filled(formula), parts.get("Source:", ""), parts.get("Assumes:", ""), where)


def named_in(formula: str) -> tuple[str, ...]:
    """The constants and functions that a formula names, those of its functions behind them, each once."""
    found: dict[str, None] = {}
    waiting = _NAME.findall(formula)
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = None
            waiting.extend(_NAME.findall(_formula_of(name)))
    return tuple(found)


def constant_text(constant: Constant) -> str:
    """The value of a constant as a sum has it."""
    if constant.unit == "s":
        return time_text(constant.value)
    if constant.unit == "bytes" and 1024 <= constant.value:
        return size_text(constant.value, constant.value % 1024 == 0)
    return number_text(constant.value)


def _parts(docstring: str | None) -> dict[str, str]:
    """The labelled parts (`Formula:`, `Source:` ...), and as `""` the first line."""
    parts: dict[str, str] = {}
    label = ""
    for line in (docstring or "").strip().splitlines():
        first, _, rest = line.strip().partition(" ")
        if first in _LABELS:
            label, line = first, rest
        parts[label] = f"{parts.get(label, '')} {line.strip()}".strip()
    return parts


def _filled(formula: str) -> str:
    return _NAME.sub(lambda match: constant_text(_constant(match[1])) if match[1].isupper() else match[1], formula)


def _told(name: str) -> str:
    if not name.isupper():
        return f"{name} = {_filled(_formula_of(name))}"
    constant = _constant(name)
    fitted = "; fitted on what runs measured" if constant.fitted_on else ""
    unit = "time" if constant.unit == "s" else "" if 1024 <= constant.value else constant.unit
    return f"{constant_text(constant)} = {name}: {f'{unit} {constant.source}'.strip()}{fitted}"


def _constant(name: str) -> Constant:
    found: Constant = getattr(constants, name)
    return found


def _formula_of(name: str) -> str:
    """The formula of a function of `collectives.py`; a constant has none."""
    return "" if name.isupper() else _parts(getattr(collectives, name).__doc__).get("Formula:", "")
