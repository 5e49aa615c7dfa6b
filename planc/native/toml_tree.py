"""TOML as a tree: the values of `tomllib`, which has to have read a text before this looks for their places.

What a header begins, and what a dotted key implies, has no text of its own: the place of such a table is its name.
"""

from __future__ import annotations

import re
from typing import Any

from planc.native.tree import Broken, Entry, Map, Node, Scalar, Seq, Tree
from planc.source import Source, Span

_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)")

#: Brackets within each other; `tomllib` takes frames of the stack for each.
MAX_NESTING = 64

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_NAME = re.compile(rf"[A-Za-z0-9_-]+|{_STRING}")
_SCALAR = re.compile(
    rf'"""(?:[^"\\]|\\.|""?(?!"))*"{{3,5}}|\'\'\'(?:[^\']|\'\'?(?!\'))*\'{{3,5}}|{_STRING}|'
    r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+",
    re.S,
)


def read(source: Source) -> Tree | Broken:
    """The tree of a TOML text."""
    import tomllib

    try:
        values = tomllib.loads(source.text.replace("\r\n", "\n"))
        root = _Reader(source).document()
        return Tree(source, "toml", (_map(root, values),))
    except tomllib.TOMLDecodeError as error:
        return _broken(source, str(error))
    except RecursionError:
        return Broken(Span(source, 0, 0), f"nested more than {MAX_NESTING} deep")
    except ValueError:  # a number of more than 4,300 digits
        return Broken(Span(source, 0, 0), "a number is too long")


class _Table:
    """Where a table and what is in it stand."""

    __slots__ = ("inside", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.inside: dict[str, tuple[Span, _Place]] = {}


class _Array:
    """Where a list and its items stand."""

    __slots__ = ("items", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.items: list[_Place] = []


_Place = _Table | _Array | Span


class _Reader:
    """A text that `tomllib` could read, and how far it was looked through."""

    __slots__ = ("_at", "_source", "_text")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._at = 0

    def document(self) -> _Table:
        """Where everything stands."""
        root = table = _Table(Span(self._source, 0, len(self._text)))
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._next("["):
                table = self._header(root)
            else:
                self._entry(table)
            self._skip(_BLANK)
        return root

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match is not None else self._at

    def _next(self, text: str) -> bool:
        """Whether this stands next; it is stepped over."""
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _match(self, pattern: re.Pattern[str]) -> Span:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise AssertionError(f"tomllib reads what is not understood here: {self._text[self._at :][:20]!r}")
        self._at = match.end()
        return Span(self._source, *match.span())

    def _key(self) -> list[Span]:
        parts: list[Span] = []
        while not parts or self._next("."):
            self._skip(_SPACE)
            parts.append(self._match(_NAME))
            self._skip(_SPACE)
        return parts

    def _header(self, root: _Table) -> _Table:
        is_array = self._next("[")
        parts = self._key()
        whole = parts[0].to(parts[-1])
        self._at += 1 + is_array
        above = _within(root, parts[:-1])
        name = _bare(parts[-1])
        if not is_array:
            found = above.inside.setdefault(name, (whole, _Table(whole)))[1]
            assert isinstance(found, _Table)
            if found.span != whole:  # implied by what stands above it
                above.inside[name] = (whole, found)
                found.span = whole
            return found
        array = above.inside.setdefault(name, (whole, _Array(whole)))[1]
        assert isinstance(array, _Array)
        made = _Table(whole)
        array.items.append(made)
        return made

    def _entry(self, table: _Table) -> None:
        parts = self._key()
        self._at += 1  # `=`
        self._skip(_SPACE)
        _within(table, parts[:-1]).inside[_bare(parts[-1])] = (parts[0].to(parts[-1]), self._value())

    def _value(self) -> _Place:
        start = self._at
        if self._next("["):
            array = _Array(Span(self._source, start, start))
            while not self._closes("]"):
                array.items.append(self._value())
            array.span = Span(self._source, start, self._at)
            return array
        if self._next("{"):
            table = _Table(Span(self._source, start, start))
            while not self._closes("}"):
                self._entry(table)
            table.span = Span(self._source, start, self._at)
            return table
        return self._match(_SCALAR)

    def _closes(self, bracket: str) -> bool:
        """Whether the bracket is closed here; a comma is stepped over."""
        self._skip(_BLANK)
        if self._next(","):
            self._skip(_BLANK)
        return self._next(bracket)


def _within(table: _Table, parts: list[Span]) -> _Table:
    """The table that the parts of a key lead to: of a list of tables its last."""
    for part in parts:
        found = table.inside.setdefault(_bare(part), (part, _Table(part)))[1]
        if isinstance(found, _Array):
            found = found.items[-1]
        assert isinstance(found, _Table)
        table = found
    return table


def _bare(part: Span) -> str:
    """The name that a part of a key is."""
    import tomllib

    text = part.text
    if text[0] not in "\"'":
        return text
    (name,) = tomllib.loads(f"{text} = 1")
    return str(name)


def _map(table: _Table, values: dict[str, Any]) -> Map:
    entries = []
    for name, (key, place) in table.inside.items():
        made = _node(place, values[name])
        entries.append(Entry(key.to(made.span) if key.end < made.span.start else key, Scalar(key, name), made))
    return Map(table.span, tuple(entries))


def _node(place: _Place, value: Any) -> Node:
    if isinstance(place, _Table):
        return _map(place, value)
    if isinstance(place, _Array):
        return Seq(place.span, tuple(_node(item, each) for item, each in zip(place.items, value, strict=True)))
    plain = isinstance(value, (str, bool, int, float))
    return Scalar(place, value if plain else str(value))  # dates and times are texts to those who read these files


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
