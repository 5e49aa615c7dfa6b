"""Where a key or a value stands in a TOML text; `tomllib` reads values and keeps no places.

Only files that `tomllib` could read are searched. A place that this scan does not find (a key in an inline table, say)
is that of what holds it, so a message may point a little too wide, never at another key.
"""

from __future__ import annotations

import re

from planc.source import Source, Span

_STRING = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_KEY = re.compile(rf"[ \t]*((?:[\w-]+|{_STRING})(?:[ \t]*\.[ \t]*(?:[\w-]+|{_STRING}))*)[ \t]*(=|\]|$)", re.M)
_PART = re.compile(rf"[\w-]+|{_STRING}")
_HEADER = re.compile(r"[ \t]*\[{1,2}")
_SKIPPED = re.compile(rf'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|{_STRING}|#[^\n]*|[\[\]{{}}\n]|[^"\'#\[\]{{}}\n]+', re.S)


class Places:
    """The places of the keys of a TOML text."""

    __slots__ = ("_entries", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._entries = dict(_entries(source))

    def key(self, *path: str) -> Span:
        """The key at a path; that of the nearest table above it that is written; else the start of the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self._entries:
                return self._entries[path[:length]][0]
        return Span(self._source, 0, 0)

    def written(self, *path: str) -> Span:
        """The value at a path as it is written, comments left out; the key where the value is not found."""
        if path not in self._entries:
            return self.key(*path)
        span = self._entries[path][1]
        text = self._source.text
        start = end = span.start
        while start < span.end and text[start].isspace():
            start += 1
        at = start
        while at < span.end:
            match = _SKIPPED.match(text, at)
            after = match.end() if match is not None else at + 1
            if match is None or match[0][0] != "#":
                piece = text[at:after].rstrip()
                end = at + len(piece) if piece else end
            at = after
        return Span(self._source, start, max(start, end))

    def value(self, text: str, *path: str) -> Span:
        """A quoted text in the value at a path; the key if it is not found there, as where it holds escapes."""
        key, value = self._entries.get(path, (self.key(*path), self.key(*path)))
        for quote in "\"'":
            at = self._source.text.find(f"{quote}{text}{quote}", value.start, value.end)
            if at != -1:
                return Span(self._source, at, at + len(text) + 2)
        return key


def _entries(source: Source) -> list[tuple[tuple[str, ...], tuple[Span, Span]]]:
    """The path of each table header and key, with the place of its name and of its value."""
    found: list[tuple[tuple[str, ...], tuple[Span, Span]]] = []
    implied: list[tuple[tuple[str, ...], tuple[Span, Span]]] = []
    text, at = source.text, 0
    table: tuple[str, ...] = ()
    while at < len(text):
        header = _HEADER.match(text, at)
        match = _KEY.match(text, header.end() if header else at)
        end = _end(text, match.end() if match else at)
        if match is not None:
            parts = tuple(_bare(part) for part in _PART.findall(match[1]))
            table = parts if header else table
            path = parts if header else (*table, *parts)
            name = Span(source, match.start(1), match.end(1))
            found.append((path, (name, Span(source, match.end(), end))))
            # `[tool.planc]` and `versions.torch = ...` write the tables above them as well.
            implied.extend((path[:length], (name, name)) for length in range(1, len(path)))
        at = end + 1
    return [*reversed(implied), *found]  # of equals the last one counts


def _end(text: str, at: int) -> int:
    """Where the line ends on which a value ends: brackets and long strings go over several."""
    depth = 0
    while at < len(text):
        match = _SKIPPED.match(text, at)
        if match is None:
            at += 1
            continue
        if match[0] in ("[", "{"):
            depth += 1
        elif match[0] in ("]", "}"):
            depth -= 1
        elif match[0] == "\n" and depth <= 0:
            return at
        at = match.end()
    return at


def _bare(part: str) -> str:
    return part[1:-1] if part[:1] in "\"'" else part
