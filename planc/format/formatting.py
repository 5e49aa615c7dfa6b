"""The canonical layout of a text, if it can be read."""

from __future__ import annotations

from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.format.columns import text_of
from planc.format.layout import words
from planc.format.pieces import Piece, pieces
from planc.source import Source
from planc.syntax.parse import parse, scan


class Formatted(NamedTuple):
    """The text in the canonical layout, or None and why it cannot be read."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def format_text(text: str) -> str | None:
    """The text in the canonical layout; None where it cannot be read."""
    return format_source(Source("", text)).text


def format_source(source: Source) -> Formatted:
    """The text of a source in the canonical layout, or the faults that keep it from being read."""
    faults = parse(source).diagnostics
    if faults:
        return Formatted(None, faults)
    found = _pieces(source.text)
    text = text_of(words(found))
    if text != source.text and _essence(_pieces(text)) != _essence(found):
        raise AssertionError(f"the layout of {source.name!r} would change what it says")
    return Formatted(text, ())


def _pieces(text: str) -> list[Piece]:
    return pieces(text, scan(text))


def _essence(found: list[Piece]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What no layout may change: the tokens but for the blanks in them, and the comments between each two."""
    return [
        (
            piece.type,
            piece.text if piece.type != "QUANTITY" else "".join(piece.text.split()),
            tuple(comment.text for comment in piece.comments),
        )
        for piece in found
    ]
