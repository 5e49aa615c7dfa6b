"""The canonical layout of a text, if it can be read."""

from __future__ import annotations

from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.format.columns import text_of
from planc.format.layout import words
from planc.format.pieces import COMMENT, pieces
from planc.source import MAX_BYTES, Source, Span
from planc.syntax.faults import FILE_TOO_LARGE
from planc.syntax.lexer import END, Token
from planc.syntax.parse import cut, parse, parse_part, scan


class Formatted(NamedTuple):
    """The text in the canonical layout, or None and why it cannot be read."""

    text: str | None
    diagnostics: tuple[Diagnostic, ...]


def format_text(text: str) -> str | None:
    """The text in the canonical layout; None where it cannot be read."""
    return format_source(Source("", text)).text


def format_source(source: Source) -> Formatted:
    """The text of a source in the canonical layout, or the faults that keep it from being read."""
    tokens = scan(source.text)
    if not _is_sound(source, tokens):
        return Formatted(None, parse(source).diagnostics)
    text = text_of(words(pieces(source.text, tokens)))
    if text != source.text and _essence(text, scan(text)) != _essence(source.text, tokens):
        raise AssertionError(f"the layout of {source.name!r} would change what it says")
    if MAX_BYTES < len(text.encode()):  # what is read now could not be read again
        label = f"{len(text.encode()):,} bytes; the limit is {MAX_BYTES:,}"
        fault = FILE_TOO_LARGE.at(Span(source, 0, 0), "the file would be larger than 1 MiB in its layout", label)
        return Formatted(None, (fault,))
    return Formatted(text, ())


def _is_sound(source: Source, tokens: list[Token]) -> bool:
    """Whether `parse` finds no fault in the text that these are the tokens of."""
    if MAX_BYTES < len(source.text) or tokens[-1].type != END:
        return False
    return not any(parse_part(source, part)[1] for part in cut(source, tokens))


def _essence(text: str, tokens: list[Token]) -> list[str]:
    """What no layout may change: the kinds and texts of the tokens but for commas, and the comments between them."""
    found: list[str] = []
    end = 0
    for kind, start, stop in tokens:
        if end < start and "#" in (between := text[end:start]):
            found.extend(comment.rstrip(" \t\r") for comment in COMMENT.findall(between))
        end = stop
        if kind == "QUANTITY":
            found.append("".join(text[start:stop].split()))
        elif kind != "COMMA":
            found.append(kind + text[start:stop])
    return found
