"""A text as the formatter sees it: its tokens, each with the comments before it and the line on which it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from planc.syntax.lexer import Token

#: A sign in front of its operand, which a grammar of tokens need not tell from one between two.
UNARY = "UNARY"

#: What ends an operand. A sign behind one is between two operands, and a name behind one begins the next entry.
ENDS = frozenset(("NAME", "STRING", "QUANTITY", "LITERAL", "RBRACE", "RSQB", "RPAR"))

_COMMENT = re.compile(r"#[^\n]*")

#: Comments that speak of the line on which they stand, so that its entries have to stay together.
_OF_ITS_LINE = re.compile(r"#[ \t]*(?:planc:|<-)")


class Comment(NamedTuple):
    """A comment without the blanks behind it. trails: it stands behind a token; blank: a blank line is above it."""

    text: str
    trails: bool
    blank: bool


class Piece(NamedTuple):
    """A token that is no comma, what stands between it and the one before, and its line."""

    type: str
    text: str
    line: int
    blank: bool
    comma: bool
    comments: tuple[Comment, ...]


def pieces(text: str, tokens: Iterable[Token]) -> list[Piece]:
    """The tokens of a sound text, the last of which is `$END`."""
    found: list[Piece] = []
    comments: list[Comment] = []
    line, at, previous, comma, blank = 0, 0, "", False, False
    for kind, start, end in tokens:
        if "#" in (between := text[at:start]):
            for match in _COMMENT.finditer(text, at, start):
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
    return found


def bound_lines(found: Sequence[Piece]) -> frozenset[int]:
    """The lines that end in a comment that speaks of them: no line break is added to these or taken from them."""
    return frozenset(
        left.line
        for left, piece in pairwise(found)
        if piece.comments and piece.comments[0].trails and _OF_ITS_LINE.match(piece.comments[0].text)
    )
