"""Whether a value fits a row of a table, as the tests hold tables against consumers."""

from __future__ import annotations

import math
from typing import Any

from tests.tables.common import Row, type_name

#: Values of every type, also as texts: what people write into files, right or wrong.
SAMPLES: tuple[Any, ...] = (
    True, False, 0, 1, 2, 3, 4, -1, 8, 0.0, 0.5, 1.0, 2.5, 5e8, -0.5, "8", "0.5", "true", "False", "on", "1", "",
    "none", "cpu", "nvme", "no such word", "auto", None, [], ["text"], {},
)  # fmt: skip

_FLAGS = {"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0"}


def fits(value: Any, row: Row) -> bool:
    """Whether a consumer takes a value for a key, as its row says."""
    types = row.get("types")
    if types is None:
        return True
    name = type_name(value)
    if name == "string" and "string" in types:
        return _is_word(value, row)
    if name == "list" and name in types and "items" in row:
        return all(fits(item, row["items"]) for item in value)
    if name in types or (name == "int" and "float" in types):
        return _is_within(value, row)
    if name in ("list", "object", "null") or not row.get("coerced"):
        return False
    return any(_is_coerced(value, kind, row) for kind in types)


def _is_word(value: str, row: Row) -> bool:
    words = row.get("words")
    folded = {word.lower() for word in row.get("folded", ())}
    return words is None or value in words or value.lower() in folded


def _is_within(value: Any, row: Row) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    least, most = row.get("minimum", -math.inf), row.get("maximum", math.inf)
    return bool(least <= value <= most and row.get("above", -math.inf) < value < row.get("below", math.inf))


def _is_coerced(value: Any, kind: str, row: Row) -> bool:
    """Whether a consumer that converts makes a value of this kind of it."""
    if kind == "bool":
        return str(value).lower() in _FLAGS or (isinstance(value, int | float) and value in (0, 1))
    if kind not in ("int", "float"):
        return False
    try:
        number = float(value)
    except ValueError:
        return False
    return (kind == "float" or number.is_integer()) and _is_within(number, row)
