"""JSON with the place of everything, so that what is wrong with a value can be shown where it stands.

The standard library's reader gives values without places, takes the last of two equal keys without a word, and says of
a broken file only where it stopped. This one is as generous as it is with `NaN` and `Infinity`, which such files hold.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from planc.source import Source, Span

MAX_NESTING = 32


class String(NamedTuple):
    """A string; `value` is without quotes and escapes."""

    span: Span
    value: str


class Number(NamedTuple):
    """A number as it is written."""

    span: Span
    text: str


class Word(NamedTuple):
    """`true`, `false`, `null`, and what is no JSON but often found in it: `NaN`, `Infinity`, `-Infinity`.

    Of a template it may be a name in capitals, in whose place a value is to be filled in.
    """

    span: Span
    word: str


class Array(NamedTuple):
    """`[a, b]`."""

    span: Span
    items: tuple[Value, ...]


class Member(NamedTuple):
    """`"key": value`."""

    span: Span
    key: String
    value: Value


class Object(NamedTuple):
    """`{"key": value}`, with equal keys as often as they stand there."""

    span: Span
    members: tuple[Member, ...]


class Broken(NamedTuple):
    """Where reading stopped, and what is wrong there: a short text for beside the place, and help."""

    span: Span
    text: str
    help: tuple[str, ...] = ()


Value = String | Number | Word | Array | Object

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.])")
_WORD = re.compile(r"(?:true|false|null|NaN|-?Infinity)(?![0-9A-Za-z_])")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*(?![0-9A-Za-z_.])")
_OTHER = re.compile(r"[0-9A-Za-z_.+-]+|.", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SLIPS = {
    "True": "write `true`", "False": "write `false`", "None": "write `null`", "'": "JSON quotes with `\"`",
    "/": "JSON has no comments", "#": "JSON has no comments",
}  # fmt: skip


def read(source: Source, placeholders: bool = False) -> Value | Broken:
    """The value that a text holds, or why it holds none. With `placeholders`, names in capitals are words as well."""
    reader = _Reader(source, placeholders)
    try:
        value = reader.value(0)
        reader.skip_blanks()
        if reader.at < len(source.text):
            raise _Stop(reader.unexpected("nothing more is due here"))
    except _Stop as stop:
        return stop.broken
    return value


class _Stop(Exception):
    """Reading cannot go on; never leaves this module."""

    def __init__(self, broken: Broken) -> None:
        self.broken = broken


class _Reader:
    """A text and how far it has been read."""

    __slots__ = ("at", "scalars", "source", "text")

    def __init__(self, source: Source, placeholders: bool) -> None:
        self.source = source
        self.scalars: tuple[tuple[re.Pattern[str], type[Number] | type[Word]], ...] = ((_NUMBER, Number), (_WORD, Word))
        if placeholders:
            self.scalars = (*self.scalars, (_PLACEHOLDER, Word))
        self.text = source.text
        self.at = 0

    def skip_blanks(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def value(self, depth: int) -> Value:
        """The value that stands next."""
        self.skip_blanks()
        if MAX_NESTING <= depth:
            raise _Stop(Broken(self.span(1), f"nested more than {MAX_NESTING} deep"))
        first = self.text[self.at : self.at + 1]
        if first == "{":
            return self.object(depth)
        if first == "[":
            return self.array(depth)
        if first == '"':
            return self.string("a string is not closed in its line")
        for pattern, node in self.scalars:
            found = pattern.match(self.text, self.at)
            if found is not None:
                span = self.span(len(found[0]))
                self.at = found.end()
                return node(span, found[0])
        raise _Stop(self.unexpected("a value is due here"))

    def object(self, depth: int) -> Object:
        start, members = self.at, list[Member]()
        self.at += 1
        while not self.closes("}", bool(members), start):
            key = self.string("a quoted key is due here")
            self.skip_blanks()
            if self.text[self.at : self.at + 1] != ":":
                raise _Stop(self.unexpected("`:` is due here"))
            self.at += 1
            value = self.value(depth + 1)
            members.append(Member(key.span.to(value.span), key, value))
        return Object(Span(self.source, start, self.at), tuple(members))

    def array(self, depth: int) -> Array:
        start, items = self.at, list[Value]()
        self.at += 1
        while not self.closes("]", bool(items), start):
            items.append(self.value(depth + 1))
        return Array(Span(self.source, start, self.at), tuple(items))

    def closes(self, bracket: str, follows: bool, start: int) -> bool:
        """Whether the bracket is closed here; else a comma is skipped where one is due."""
        self.skip_blanks()
        following = self.text[self.at : self.at + 1]
        if following == "":
            raise _Stop(Broken(Span(self.source, start, start + 1), f"this is not closed: `{bracket}` is missing"))
        if following == bracket:
            self.at += 1
            return True
        if not follows:
            return False
        if following != ",":
            raise _Stop(self.unexpected(f"`,` or `{bracket}` is due here"))
        comma = self.span(1)
        self.at += 1
        self.skip_blanks()
        if self.text[self.at : self.at + 1] == bracket:
            raise _Stop(Broken(comma, f"a comma before `{bracket}`", ("remove the comma",)))
        return False

    def string(self, due: str) -> String:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise _Stop(self.unexpected(due))
        span = self.span(len(found[0]))
        self.at = found.end()
        return String(span, _ESCAPE.sub(_unescaped, found[0][1:-1]))

    def span(self, length: int) -> Span:
        return Span(self.source, self.at, self.at + length)

    def unexpected(self, due: str) -> Broken:
        """What is wrong with the text that stands next."""
        found = _OTHER.match(self.text, self.at)
        if found is None:  # the end of the text: its last character is where to look
            end = len(self.text.rstrip())
            return Broken(Span(self.source, max(0, end - 1), end), f"the text ends; {due.removesuffix(' here')}")
        help = _SLIPS.get(found[0])
        return Broken(self.span(len(found[0])), due, (help,) if help else ())


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return _ESCAPED.get(match[2], match[2])
    code = int(match[1], 16)
    return "?" if 0xD800 <= code < 0xE000 else chr(code)
