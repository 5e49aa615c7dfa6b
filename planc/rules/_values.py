"""Values as a message shows them, by the unit of the fact or the type of the field at a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planc.diagnostics.amounts import (
    count_text,
    energy_text,
    gpu_time_text,
    percent_text,
    rate_text,
    size_text,
    speed_text,
    time_text,
)
from planc.facts.facts import FACTS
from planc.plan.model import Unknown
from planc.plan.policies import QUOTED_PATH
from planc.plan.quantities import amount_words
from planc.plan.schema import SECTIONS, Field
from planc.plan.units import BANDWIDTH, BYTES, RATE, TIME, Amount, Dimension

_BY_UNIT: dict[str, Callable[[Any], str]] = {
    "bytes": size_text, "bytes/s": speed_text, "FLOP/s": rate_text, "s": time_text, "share": percent_text,
    "GPU s": gpu_time_text, "J": energy_text,
}  # fmt: skip
_BY_DIMENSION: dict[Dimension, Callable[[Any], str]] = {
    BYTES: size_text, BANDWIDTH: speed_text, TIME: time_text, RATE: rate_text,
}  # fmt: skip


def value_text(path: str, value: Any) -> str:
    """The value of a fact or field in a person's units."""
    if isinstance(value, Unknown) or value is None:
        return "not set" if value is None or value.unset else "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple) and not isinstance(value, Amount):
        return f"[{', '.join(value_text(path, item) for item in value)}]"
    if isinstance(value, Amount):
        return amount_words(value)
    if not isinstance(value, (int, float)) and not hasattr(value, "numerator"):
        return str(value)
    return _form(path)(value)


def filled(text: str, lookup: Callable[[str], Any]) -> str:
    """A policy's reason with each `{path}` in it replaced by the value there."""
    return QUOTED_PATH.sub(lambda match: value_text(match[1], lookup(match[1])), text)


def _form(path: str) -> Callable[[Any], str]:
    if path in FACTS:
        return _BY_UNIT.get(FACTS[path].unit, count_text)
    field = _field(path)
    if field is None:
        return count_text
    if field.type.form == "share":
        return percent_text
    return next(
        (_BY_DIMENSION[dimension] for dimension in field.type.dimensions if dimension in _BY_DIMENSION), count_text
    )


def _field(path: str) -> Field | None:
    section, field = "plan", None
    for name in path.split("."):
        field = next((known for known in SECTIONS.get(section, ()) if known.name == name), None)
        if field is None:
            return None
        section = field.type.of
    return field
