"""What the scripts share that make key tables: where a table lies, how it is written, and types of Python as rows."""

from __future__ import annotations

import enum
import inspect
import json
import types
import typing
from pathlib import Path
from typing import Any

from tests.compiling import ROOT

#: A row of a table, or a whole table.
Row = dict[str, Any]

FOLDER = ROOT / "planc" / "native" / "tables"

#: Names of JSON's types, by those of Python.
TYPES: dict[Any, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    list: "list",
    tuple: "list",
    dict: "object",
    type(None): "null",
}


def path_of(table: Row) -> Path:
    """Where a table lies."""
    return FOLDER / str(table["consumer"]) / f"{table['version']}.json"


def text_of(table: Row) -> str:
    """A table as the text of its file."""
    return json.dumps(table, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def write(table: Row) -> None:
    """Writes a table to its file, and says where."""
    path = path_of(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(table), encoding="utf-8")
    print(path.relative_to(ROOT))


def committed(consumer: str, version: str) -> Row:
    """The table that is in the repository."""
    table: Row = json.loads((FOLDER / consumer / f"{version}.json").read_text(encoding="utf-8"))
    return table


def versions_of(consumer: str) -> tuple[str, ...]:
    """The versions of a consumer of which the repository has a table, sorted as texts."""
    return tuple(sorted(path.stem for path in (FOLDER / consumer).glob("*.json")))


def at(table: Row, path: str) -> Row:
    """The row of a key that is named by its whole path, with dots."""
    row = table
    for name in path.split("."):
        row = row["keys"][name]
    return row


def type_name(value: Any) -> str:
    """The name of the JSON type of a value."""
    return next(name for kind, name in TYPES.items() if isinstance(value, kind))


def of_value(default: Any) -> Row:
    """The row of a key of which only the default is known: its type is that of the default."""
    return {"types": [type_name(default)], "default": default}


def of_hint(hint: Any) -> Row:
    """What a type annotation says of a key; nothing for one that takes anything."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _of_union(arguments)
    if origin is typing.Literal:
        return _of_choices(arguments)
    if origin is typing.Annotated:
        return of_hint(arguments[0])
    kind = origin or hint
    if not inspect.isclass(kind) or kind is object:
        return {}
    if issubclass(kind, enum.Enum):
        return _of_choices([member.value for member in kind])
    if issubclass(kind, Path):
        return {"types": ["string"]}
    row: Row = {"types": [name] if (name := TYPES.get(kind)) else []}
    if row["types"] == ["object"]:
        row["unknown"] = "open"
    if kind is list and arguments and (items := of_hint(arguments[0])):
        row["items"] = items
    return row


def _of_union(hints: tuple[Any, ...]) -> Row:
    rows = [of_hint(hint) for hint in hints]
    if not all("types" in row for row in rows):
        return {}
    merged: Row = {}
    for row in rows:
        merged |= row
    return merged | {"types": list(dict.fromkeys(name for row in rows for name in row["types"]))}


def _of_choices(values: Any) -> Row:
    """Words, or a range of whole numbers without gaps."""
    if all(isinstance(value, str) for value in values):
        return {"types": ["string"], "words": list(dict.fromkeys(values))}
    if all(isinstance(value, bool) for value in values):
        return {"types": ["bool"]}
    assert all(type(value) is int for value in values), values
    assert sorted(set(values)) == list(range(min(values), max(values) + 1)), values
    return {"types": ["int"], "minimum": min(values), "maximum": max(values)}
