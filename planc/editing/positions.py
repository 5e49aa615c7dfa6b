"""Places as the language server protocol counts them: lines from 0, and in a line the units of an encoding.

planc counts code points. A character beyond U+FFFF is two units of UTF-16, which is what a client counts in if nothing
else was agreed. Lines end with a line feed, a carriage return, or both.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from planc.source import Source, Span

#: Encodings by their names in the protocol; the first one that a client offers is taken.
ENCODINGS = ("utf-32", "utf-16", "utf-8")

_LINE_END = re.compile(r"\r\n|\n|\r")


class Positions:
    """Turns offsets into positions and back, in one encoding; keeps where the lines of each text begin."""

    __slots__ = ("_starts", "encoding")

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._starts: dict[Source, list[int]] = {}

    def of(self, source: Source, offset: int) -> tuple[int, int]:
        """Line and character of an offset."""
        starts = self._lines(source)
        line = bisect_right(starts, min(max(offset, 0), len(source.text))) - 1
        return line, self._units(source.text[starts[line] : offset])

    def range(self, span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where a span begins and ends."""
        return self.of(span.source, span.start), self.of(span.source, span.end)

    def offset(self, source: Source, line: int, character: int) -> int:
        """The offset of a position; a place beyond the end of a line or text is that end."""
        starts, text = self._lines(source), source.text
        if line < 0:
            return 0
        if len(starts) <= line:
            return len(text)
        end = starts[line + 1] if line + 1 < len(starts) else len(text)
        content = text[starts[line] : end].rstrip("\r\n")
        if content.isascii() or self.encoding == "utf-32":
            return starts[line] + min(max(character, 0), len(content))
        at = 0
        for number, letter in enumerate(content):
            if character <= at:
                return starts[line] + number
            at += self._units(letter)
        return starts[line] + len(content)

    def forget(self, source: Source) -> None:
        """Drops what is known of a source that nobody uses any more."""
        self._starts.pop(source, None)

    def _lines(self, source: Source) -> list[int]:
        if source not in self._starts:
            self._starts[source] = [0, *(match.end() for match in _LINE_END.finditer(source.text))]
        return self._starts[source]

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding == "utf-32":
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum("\uffff" < letter for letter in text)
