"""A text as the formatter sees it: its tokens, each with the comments before it and the line on which it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from planc.syntax.lexer import CLOSING, OPENING, Token

#: A sign in front of its operand, which a grammar of tokens need not tell from one between two.
UNARY = "UNARY"

#: What ends an operand. A sign behind one is between two operands, and a name behind one begins the next entry.
ENDS = frozenset(("NAME", "STRING", "QUANTITY", "LITERAL", "RBRACE", "RSQB", "RPAR"))

COMMENT = re.compile(r"#[^\n]*")

#: Comments of which it matters what stands on their line, or below them: suppressions, and the marks of policy cases.
_POINTS = re.compile(r"#+[ \t]*(?:planc[ \t]*:|<-)", re.I)


class Comment(NamedTuple):
    """A comment without the blanks behind it. trails: it stands behind a token; blank: a blank line is above it."""

    text: str
    trails: bool
    blank: bool


class Piece(NamedTuple):
    """A token that is no comma, what stands between it and the one before, and its line.

    held: whether a line break comes before it (or none), where a comment that points at something leaves no choice.
    """

    type: str
    text: str
    line: int
    blank: bool
    comma: bool
    comments: tuple[Comment, ...]
    held: bool | None = None


def pieces(text: str, tokens: Iterable[Token]) -> list[Piece]:
    """The tokens of a sound text, the last of which is `$END`."""
    found: list[Piece] = []
    comments: list[Comment] = []
    line, at, previous, comma, blank = 0, 0, "", False, False
    for kind, start, end in tokens:
        if "#" in (between := text[at:start]):
            for match in COMMENT.finditer(text, at, start):
                breaks = text.count("\n", at, match.start())
                trails = not comments and bool(found) and found[-1].line == line + breaks
                comments.append(Comment(match[0].rstrip(" \t\r"), trails, blank or 1 < breaks))
                line, at, blank = line + breaks, match.end(), False
            between = text[at:start]
        breaks = between.count("\n")
        line, at, blank = line + breaks, end, blank or 1 < breaks
        if kind == "COMMA":
            comma = True
            continue
        shown = UNARY if kind == "SIGN" and (comma or previous not in ENDS) else kind
        found.append(Piece(shown, text[start:end], line, blank, comma, tuple(comments)))
        comments, previous, comma, blank = [], kind, False, False
    return _held(found) if _POINTS.search(text) else found


def _held(found: list[Piece]) -> list[Piece]:
    """The pieces, with the line breaks held on which it depends what a comment speaks of."""
    lines: set[int] = set()
    held: dict[int, bool] = {}
    for at, piece in enumerate(found):
        pointing = [comment for comment in piece.comments if _POINTS.match(comment.text)]
        if pointing and pointing[0].trails:
            lines.add(found[at - 1].line)
        if any(not comment.trails for comment in pointing):
            _hold_entry(found, at, held)
    for at in range(1, len(found)):
        if found[at].line in lines:
            held[at] = found[at - 1].line != found[at].line
    return [piece._replace(held=held.get(at)) for at, piece in enumerate(found)]


def _hold_entry(found: list[Piece], start: int, held: dict[int, bool]) -> None:
    """Holds the breaks outside of brackets from a piece on, up to the first one: there ends what is said of it."""
    depth = 0
    for at in range(start, len(found)):
        if start < at and depth <= 0:
            held[at] = found[at - 1].line != found[at].line
            if held[at]:
                return
        depth += (found[at].type in OPENING) - (found[at].type in CLOSING)
