"""What a variable holds, as far as the script says it: known text and unknown pieces side by side."""

from __future__ import annotations

from itertools import pairwise, takewhile
from typing import NamedTuple

from planc.source import Span

#: Code points that a value may have, and words that a list may have; what is longer is unknown.
MOST_TEXT = 1 << 16
MOST_WORDS = 1 << 10


class Unknown(NamedTuple):
    """Text that only the run knows.

    reason: why, to be read in a message; text: as it is written, `$(nproc)`; name: the variable, if it is one that the
    script does not set, else "".
    """

    reason: str
    text: str
    name: str = ""


class Literal(NamedTuple):
    """Known text.

    span: where it is written; default_of: the variable of the environment that would replace it, or "".
    """

    text: str
    span: Span
    default_of: str = ""

    @property
    def verbatim(self) -> bool:
        """Whether the script has the very characters of the text."""
        return self.span.end - self.span.start == len(self.text) and self.span.text == self.text

    def part(self, start: int, end: int) -> Literal:
        """A part of the text, with its place if it has one of its own."""
        span = self.span
        if self.verbatim:
            span = Span(span.source, span.start + start, span.start + end)
        return Literal(self.text[start:end], span, self.default_of)


Piece = Literal | Unknown


class Word(NamedTuple):
    """One word of a command, after all expansions.

    span: where the command has it; `"$X"` for one that comes from a variable. pieces: its text, known and unknown.
    many: it is unknown, and may be any number of words, none among them.
    """

    span: Span
    pieces: tuple[Piece, ...]
    many: bool = False

    @property
    def value(self) -> str | Unknown:
        """The text, or what of it is unknown."""
        unknown = next((piece for piece in self.pieces if isinstance(piece, Unknown)), None)
        return self.prefix if unknown is None else unknown

    @property
    def known(self) -> str | None:
        """The text, if it is known."""
        value = self.value
        return value if isinstance(value, str) else None

    @property
    def prefix(self) -> str:
        """The text up to the first unknown piece."""
        return "".join(piece.text for piece in takewhile(lambda piece: isinstance(piece, Literal), self.pieces))

    @property
    def origin(self) -> Span:
        """Where the text is written, in one place and without quotes, so that it can be edited there; else `span`."""
        literals = [piece for piece in self.pieces if isinstance(piece, Literal)]
        if not literals or len(literals) < len(self.pieces) or not all(piece.verbatim for piece in literals):
            return self.span
        for before, after in pairwise(literals):
            if before.span.source is not after.span.source or before.span.end != after.span.start:
                return self.span
        return literals[0].span.to(literals[-1].span)

    @property
    def default_of(self) -> str:
        """The variable of the environment that would replace the text, or a part of it; "" if there is none."""
        names = (piece.default_of for piece in self.pieces if isinstance(piece, Literal))
        return next(filter(None, names), "")

    def after(self, length: int) -> Word:
        """The word without its first characters, which have to be known."""
        pieces = list(self.pieces)
        start = self.span.start
        while length and isinstance(first := pieces[0], Literal):
            taken = min(length, len(first.text))
            rest = first.part(taken, len(first.text))
            if first.verbatim and first.span.source is self.span.source:
                start = rest.span.start
            pieces[:1] = [rest] if rest.text else []
            length -= taken
        inside = self.span.start <= start <= self.span.end
        return Word(self.span._replace(start=start) if inside else self.span, tuple(pieces))


class Scalar(NamedTuple):
    """What a plain variable holds."""

    pieces: tuple[Piece, ...]


class Array(NamedTuple):
    """What a list holds: words that no expansion splits again."""

    items: tuple[Word, ...]


class Unset(NamedTuple):
    """That a variable was unset."""


Value = Scalar | Array | Unset


def unknown(reason: str, text: str, name: str = "") -> Scalar:
    """A value that only the run knows."""
    return Scalar((Unknown(reason, text, name),))


def bounded(value: Value) -> Value:
    """The value, or an unknown one where it has grown too long."""
    pieces = value.pieces if isinstance(value, Scalar) else ()
    if isinstance(value, Array):
        pieces = tuple(piece for word in value.items[:MOST_WORDS] for piece in word.pieces)
        if MOST_WORDS < len(value.items):
            return Array((Word(value.items[0].span, (Unknown("too long", "..."),), many=True),))
    if MOST_TEXT < sum(len(piece.text) for piece in pieces) or MOST_WORDS * 2 < len(pieces):
        return unknown("too long", "...")
    return value


def joined(values: tuple[Value | None, ...], reason: str, name: str) -> Value | None:
    """What a variable holds where several ways meet: what they have in common, and then something unknown.

    None stands for a variable that the script has not set.
    """
    first, *others = values
    return_value = first
    for other in others:
        return_value = _joined(return_value, other, reason, name)
    return return_value


def _joined(one: Value | None, other: Value | None, reason: str, name: str) -> Value | None:
    if _same(one, other):
        return one
    doubt = Unknown(reason, f"${name}")
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        common = _common(one.pieces, other.pieces)
        rests = (one.pieces[common:], other.pieces[common:])
        apart = common and all(not rest or _begins_with_blank(rest[0]) for rest in rests)
        blank = [literal.part(0, 1) for rest in rests for literal in rest[:1] if apart and isinstance(literal, Literal)]
        return Scalar((*one.pieces[:common], *blank[:1], doubt))
    if isinstance(one, Array) and isinstance(other, Array):
        pairs = zip(one.items, other.items, strict=False)
        common = sum(1 for _ in takewhile(lambda pair: _texts(pair[0].pieces) == _texts(pair[1].pieces), pairs))
        rest = (one.items[common:] or other.items[common:])[0]
        return Array((*one.items[:common], Word(rest.span, (doubt,), many=True)))
    for value in (one, other):
        if isinstance(value, Array) and value.items:
            return Array((Word(value.items[0].span, (doubt,), many=True),))
    return Scalar((doubt,))


def _same(one: Value | None, other: Value | None) -> bool:
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return _texts(one.pieces) == _texts(other.pieces)
    if isinstance(one, Array) and isinstance(other, Array):
        return [_texts(word.pieces) for word in one.items] == [_texts(word.pieces) for word in other.items]
    return type(one) is type(other) and not isinstance(one, (Scalar, Array))


def _texts(pieces: tuple[Piece, ...]) -> list[tuple[str, str, bool]]:
    """Pieces without their places."""
    return [
        (piece.text, piece.default_of, True) if isinstance(piece, Literal) else (piece.text, piece.reason, False)
        for piece in pieces
    ]


def _common(one: tuple[Piece, ...], other: tuple[Piece, ...]) -> int:
    pairs = zip(_texts(one), _texts(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _begins_with_blank(piece: Piece) -> bool:
    return isinstance(piece, Literal) and piece.text[:1].isspace()
