"""TOML as a tree: the values of `tomllib`, each at the place that a scan of the text finds for its key."""

from __future__ import annotations

import re
from typing import Any

from planc.native.tree import Broken, Entry, Map, Node, Scalar, Seq, Tree
from planc.readers.toml_places import Places
from planc.source import Source, Span

_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)")

#: Brackets within each other; `tomllib` takes frames of the stack for each.
MAX_NESTING = 64


def read(source: Source) -> Tree | Broken:
    """The tree of a TOML text."""
    import tomllib

    try:
        values = tomllib.loads(source.text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        return _broken(source, str(error))
    except RecursionError:
        return Broken(Span(source, 0, 0), f"nested more than {MAX_NESTING} deep")
    except ValueError:  # a number of more than 4,300 digits
        return Broken(Span(source, 0, 0), "a number is too long")
    places = Places(source)
    try:
        return Tree(source, "toml", (_map(source, places, values, ()),))
    except RecursionError:
        return Broken(Span(source, 0, 0), f"nested more than {MAX_NESTING} deep")


def _map(source: Source, places: Places, values: dict[str, Any], path: tuple[str, ...]) -> Map:
    entries = []
    for name, value in values.items():
        key = places.key(*path, name)
        made = _node(source, places, value, (*path, name))
        entries.append(Entry(key.to(made.span) if key.start <= made.span.start else key, Scalar(key, name), made))
    span = places.key(*path) if path else Span(source, 0, len(source.text))
    return Map(span, tuple(entries))


def _node(source: Source, places: Places, value: Any, path: tuple[str, ...]) -> Node:
    if isinstance(value, dict):
        return _map(source, places, value, path)
    span = places.written(*path)
    if isinstance(value, list):
        return Seq(span, tuple(_node(source, places, item, path) for item in value))
    plain = isinstance(value, (str, bool, int, float))
    return Scalar(span, value if plain else str(value))  # dates and times are texts to those who read these files


def _broken(source: Source, error: str) -> Broken:
    match = _PLACE.fullmatch(error)
    if match is None or match[2] is None:
        end = len(source.text.rstrip())
        return Broken(Span(source, max(0, end - 1), end), (match[1] if match else error)[:100].lower())
    at = 0
    for _ in range(int(match[2]) - 1):
        at = source.text.find("\n", at) + 1
    at = min(at + int(match[3]) - 1, len(source.text))
    return Broken(Span(source, at, min(at + 1, len(source.text))), match[1][:100].lower())
