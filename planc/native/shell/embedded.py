"""A text that a script holds or puts together: the body of a heredoc, what `bash -c` gets."""

from __future__ import annotations

from bisect import bisect_right

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.shell.values import Literal, Piece, Unknown
from planc.source import Source, Span

#: What stands in such a text where it is unknown: in capitals, as a template has its gaps.
GAP = "PLANC_UNKNOWN_{}"

#: What stands there in a text that is a script.
SHELL_GAP = "${{PLANC_UNKNOWN_{}}}"


class Embedded(Source):
    """A text with a place in the script for each of its characters. Lines and columns are those of the script.

    gaps: what is unknown, by the text that stands for it here.
    """

    __slots__ = ("_offsets", "_places", "gaps")

    def __init__(self, outer: Span, pieces: tuple[Piece, ...], gap: str = GAP) -> None:
        self.gaps: dict[str, Unknown] = {}
        self._offsets: list[int] = []
        self._places: list[tuple[Span, bool]] = []
        texts: list[str] = []
        at, place = 0, outer
        for piece in pieces:
            if isinstance(piece, Literal):
                text, place = piece.text, piece.span
                self._places.append((place, piece.verbatim))
            else:
                text = gap.format(len(self.gaps))
                self.gaps[text] = piece
                self._places.append((Span(place.source, place.end, place.end) if texts else outer, False))
            self._offsets.append(at)
            texts.append(text)
            at += len(text)
        super().__init__(outer.source.name, "".join(texts))
        if not texts:
            self._offsets, self._places = [0], [(outer, False)]

    def outer(self, start: int, end: int) -> Span:
        """The place in the script of a part of the text."""
        first, last = self._place(start), self._place(max(start, end - 1))
        if start < end and last.start < last.end:
            return first.to(last) if first.source is last.source and first.start <= last.end else first
        return first._replace(end=first.start) if start == end else first

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, in the script."""
        place = self._place(offset)
        return place.source.position(place.start)

    def line(self, number: int) -> str:
        """A line of the script."""
        return self._places[0][0].source.line(number)

    def _place(self, offset: int) -> Span:
        """The place of one character; the whole of a piece that the script has in another form."""
        index = max(0, bisect_right(self._offsets, offset) - 1)
        place, verbatim = self._places[index]
        if not verbatim:
            return place
        start = min(place.start + offset - self._offsets[index], place.end)
        return Span(place.source, start, min(start + 1, place.end))


def outermost(span: Span) -> Span:
    """The place in the file itself of what lies in texts that it holds."""
    while isinstance(span.source, Embedded):
        span = span.source.outer(span.start, span.end)
    return span


def outside(found: Diagnostic) -> Diagnostic:
    """What is said of a text within a script, said of the script; its fixes are left out."""
    spans = [label.span for label in (found.primary, *found.related)]
    spans += [edit.span for fix in found.fixes for edit in fix.edits]
    if not any(isinstance(span.source, Embedded) for span in spans):
        return found
    primary = found.primary._replace(span=outermost(found.primary.span))
    related = tuple(label._replace(span=outermost(label.span)) for label in found.related)
    return found._replace(primary=primary, related=related, fixes=())
