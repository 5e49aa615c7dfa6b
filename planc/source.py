"""A named text and places in it. Imports nothing of planc.

Offsets count code points from 0, so a Span means the same whatever the encoding on disk; lines and columns count from
1, as editors show them. Values here and below are `NamedTuple`s rather than frozen dataclasses: equally immutable,
and a dataclass costs half a millisecond to define and 5 ms to import, which a pre-commit hook pays at every start.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

#: Bytes that a file may have; what is longer was no text that a person wrote.
MAX_BYTES = 1 << 20

#: What standard input is called that no option names.
STDIN = "<stdin>"

#: How the names of planc's own files begin. Nothing in them has to be checked, so only what is referred to is read.
CATALOGUE = "planc/"

#: How the names of planc's own policies begin: files that may use each other, and are read whole.
POLICIES = "planc/policies/"


class Source:
    """A text and the name under which it is shown. Compared by identity: one file read once is one Source."""

    __slots__ = ("_line_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._line_starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"Source({self.name!r})"

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; the column counts code points."""
        starts = self._starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Text of a line, counted from 1, without its line end; empty past the last line."""
        starts = self._starts()
        if len(starts) < number:
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            starts, at = [0], self.text.find("\n")
            while at != -1:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts


class Span(NamedTuple):
    """The text from `start` up to, not including, `end` in a source (code points)."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that the span covers."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """Line of the first code point, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first code point, from 1."""
        return self.source.position(self.start)[1]

    def overlaps(self, other: Span) -> bool:
        """Whether the two share text; an empty span shares it with what it stands in."""
        return self.source is other.source and self.start <= other.end and other.start <= self.end

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of another one in the same source."""
        return Span(self.source, self.start, other.end)
