"""What holds of every table, whoever made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tables.common import FOLDER, Row, at, text_of

FILES = sorted(FOLDER.glob("*/*.json"))

_TOP = {"consumer", "version", "source", "unknown", "required", "keys", "removed"}
_ROW = {
    "above", "auto", "auto_dropped", "becomes", "below", "coerced", "default", "deprecated", "dest", "doc", "each",
    "flag", "folded", "items", "keys", "keys_of", "maximum", "minimum", "nargs", "only", "removed", "removed_words",
    "renamed", "required", "same", "set_from", "types", "unknown", "values", "variants", "words",
}  # fmt: skip
_TYPES = {"int", "float", "bool", "string", "list", "object", "null"}


def rows_of(row: Row, path: str = "") -> Iterator[tuple[str, Row]]:
    """Every row below one, with the path to it."""
    for name, key in row.get("keys", {}).items():
        below = f"{path}.{name}" if path else name
        yield below, key
        yield from rows_of(key, below)
    for name in ("items", "values"):
        if name in row:
            yield f"{path}[]", row[name]
            yield from rows_of(row[name], f"{path}[]")
    for name, variant in row.get("variants", {}).get("rows", {}).items():
        yield f"{path}<{name}>", variant
        yield from rows_of(variant, f"{path}<{name}>")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_table_is_well_formed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    table = json.loads(text)
    assert (path.parent.name, path.stem) == (table["consumer"], table["version"])
    assert text == text_of(table), "not as the script writes it"
    assert len(text) < 200_000
    assert set(table) <= _TOP and table["unknown"] in ("ignored", "rejected")
    for place, row in rows_of(table):
        check(place, row, table)
    for place, row in table.get("removed", {}).items():
        assert set(row) <= {"since", "renamed", "doc"}, place
        assert not is_known(table, place), f"{place} is removed and known"
        assert "renamed" not in row or is_known(table, row["renamed"]), place


def check(place: str, row: Row, table: Row) -> None:
    """What holds of every row."""
    assert set(row) <= _ROW, (place, set(row) - _ROW)
    types = row.get("types")
    assert types is None or set(types) <= _TYPES, place
    assert "keys" not in row or "unknown" in row, place
    assert row.get("unknown", "open") in ("ignored", "rejected", "open"), place
    assert row.get("auto", "hf") in ("hf", "accelerate"), place
    assert all(isinstance(word, str) for word in row.get("words", ())), place
    assert set(row.get("folded", ())) <= set(row.get("words", ())), place
    assert not set(row.get("words", ())) & set(row.get("removed_words", ())), place
    assert "keys" not in row or set(row.get("required", ())) <= set(row["keys"]), place
    assert "renamed" not in row or is_known(table, row["renamed"]), (place, row.get("renamed"))
    if "same" in row:
        beside = at(table, f"{place.rpartition('.')[0]}.{row['same']}" if "." in place else row["same"])
        kept = ("types", "default", "words")
        assert [beside.get(name) for name in kept] == [row.get(name) for name in kept], place
    default = row.get("default")
    if isinstance(default, str) and "words" in row:
        assert default.lower() in {word.lower() for word in row["words"]}, place


def is_known(table: Any, place: str) -> bool:
    """Whether a table has a row at a path."""
    try:
        at(table, place)
    except KeyError:
        return False
    return True
