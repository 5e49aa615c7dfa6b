"""The text of a heredoc, with what is expanded in it."""

from __future__ import annotations

import re

from planc.native.shell.nodes import Node, descend, shifted
from planc.native.shell.parsing import parse
from planc.native.shell.scopes import Scope
from planc.native.shell.values import Literal, Piece, Unknown
from planc.native.shell.words import Words
from planc.source import Span

_TABS = re.compile(r"(?m)^\t+")


def body_of(node: Node, words: Words, scope: Scope) -> tuple[Span, tuple[Piece, ...], bool]:
    """The place of a heredoc's text, its pieces, and whether nothing in it is expanded."""
    span = _place(node, words)
    opening = node.first("heredoc_start")
    literal = opening is not None and any(mark in words.text(opening) for mark in "\"'\\")
    if literal or not any(mark in span.text for mark in "$`\\"):
        pieces: tuple[Piece, ...] = (Literal(span.text, span),)
    else:
        pieces = _expanded(span, words, scope)
    if node.first("<<-") is not None:
        pieces = _without_tabs(pieces)
    return span, pieces, literal


def _place(node: Node, words: Words) -> Span:
    """Where the text stands: the grammar leaves blanks before and behind it out."""
    source, text = words.source, words.source.text
    opening, body, closing = (node.first(f"heredoc_{part}") for part in ("start", "body", "end"))
    least = (opening or node).end
    start = body.start if body is not None else (closing.start if closing is not None else node.end)
    line = text.find("\n", least) + 1 or len(text)
    blank = line <= start and not text[line:start].strip()
    start = line if blank else max(least, text.rfind("\n", 0, start) + 1)
    end = closing.start if closing is not None else max(start, body.end if body is not None else node.end)
    if closing is not None:
        end = max(start, text.rfind("\n", 0, end) + 1)
    return Span(source, start, end)


def _expanded(span: Span, words: Words, scope: Scope) -> tuple[Piece, ...]:
    """The pieces of a text in which variables are replaced: read as one between double quotes, of which it has none."""
    parsed = parse('"' + span.text.replace('"', "'") + '"')
    string = next((node for node in descend(parsed.statements) if node.type == "string"), None)
    if string is None or string.start or string.broken or string.end < len(span.text):
        return (Unknown("not followed", span.text),)
    inner = tuple(child for child in string.children if child.named and child.type != "string_content")
    moved = tuple(shifted(child, span.start - 1) for child in inner)
    return words.body(moved, span.start, span.end, scope)


def _without_tabs(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces without the tabs at the start of lines."""
    found: list[Piece] = []
    fresh = True
    for piece in pieces:
        if not isinstance(piece, Literal):
            found.append(piece)
            fresh = False
            continue
        at = 0
        for tabs in _TABS.finditer(piece.text):
            if tabs.start() == 0 and not fresh:
                continue
            found.append(piece.part(at, tabs.start()))
            at = tabs.end()
        found.append(piece.part(at, len(piece.text)))
        fresh = piece.text.endswith("\n") or (fresh and not piece.text)
    return tuple(piece for piece in found if piece.text)
