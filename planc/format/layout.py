"""Where lines are broken and words set apart: pieces of a text to words, each with what stands before it.

What stands on one line stays on one line. A body or list that spans several has its brackets at the ends of lines and
on lines of their own. Inside an entry a line break is kept beside an operator, a clause of a rule or a comma; elsewhere
it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planc.format.pieces import ENDS, UNARY, Comment, Piece
from planc.format.spelling import has_loose_unit, spelled, touching
from planc.syntax.lexer import CLOSING, END, OPENING

FILE = "FILE"

_BEGIN_ENTRY = frozenset(("KEY", "STRING", "NAME", "VERB"))
_BEGIN_BLOCK = frozenset(("KIND", "USE", "LANGUAGE"))
_KEEP_BREAK_AFTER = frozenset(("AND", "OR", "COMPARE", "SIGN", "STAR", "SLASH"))
_KEEP_BREAK_BEFORE = _KEEP_BREAK_AFTER | {"WHEN", "BECAUSE"}

#: Words that begin a block if another name follows on their line.
_KINDS = frozenset(("gpu", "cluster", "model", "policy", "plan", "template"))


class Word(NamedTuple):
    """A word of the result, and the blanks or the line break before it.

    starts: what it begins an entry or item of (the type of the bracket, or FILE), empty if it begins none. edge: it
    does, or it closes a bracket or the file. depth: how many brackets it stands in, and the file; a closing one stands
    where its opening one does. indent: of its line, comment_indent: of the comments before it.
    """

    type: str
    text: str
    before: str
    breaks: bool
    blank: bool
    comments: tuple[Comment, ...]
    starts: str
    edge: bool
    depth: int
    indent: int
    comment_indent: int


class _Frame(NamedTuple):
    """A pair of brackets, or the file: whether it spans several lines, and how far in its entries and its end stand."""

    type: str
    spans: bool
    indent: int
    closing_indent: int


def words(found: Sequence[Piece]) -> list[Word]:
    """The words of a sound text, the last of which is its end."""
    spanning = _spanning(found)
    frames = [_Frame(FILE, True, 0, 0)]
    began = [0]  # for each frame the line of the text on which its last entry began
    indent = 0
    out: list[Word] = []
    left = Piece(FILE, "", -1, False, False, ())
    for at, piece in enumerate(found):
        frame = frames[-1]
        closes = piece.type in CLOSING or piece.type == END
        starts = not closes and _starts(frame, left, piece)
        spanned = began[-1] != left.line
        breaks = _breaks(frame, left, piece, starts, closes, spanned)
        following = found[at + 1] if at + 1 < len(found) else piece
        if _has_comma(frame, left, piece, starts, closes, breaks) or (
            piece.comma and starts and not breaks and _needs_comma(left, piece, following, spanned)
        ):
            out[-1] = out[-1]._replace(text=out[-1].text + ",")
        edge = starts or closes
        inner = frame.indent if edge else frame.indent + 1
        if breaks:
            indent = frame.closing_indent if closes else inner
        before = "" if breaks else _blanks(frame, left, piece, starts)
        text = _text(piece, following)
        blank = starts and piece.blank
        depth = len(frames) - (piece.type in CLOSING)
        begun = frame.type if starts else ""
        out.append(Word(piece.type, text, before, breaks, blank, piece.comments, begun, edge, depth, indent, inner))
        if starts:
            began[-1] = piece.line
        if piece.type in OPENING:
            frames.append(_Frame(piece.type, at in spanning, indent + 1, indent))
            began.append(piece.line)
        elif piece.type in CLOSING:
            frames.pop()
            began.pop()
        left = piece
    return out


def _spanning(found: Sequence[Piece]) -> set[int]:
    """The positions of the opening brackets that hold something and whose closing ones stand on a later line."""
    spanning: set[int] = set()
    open_at: list[int] = []
    for at, piece in enumerate(found):
        if piece.type in OPENING:
            open_at.append(at)
        elif piece.type in CLOSING:
            opened = open_at.pop()
            if found[opened].line < piece.line and (opened + 1 < at or piece.comments):
                spanning.add(opened)
    return spanning


def _starts(frame: _Frame, left: Piece, piece: Piece) -> bool:
    """Whether a piece begins an entry or an item."""
    if frame.type == FILE:
        return piece.type in _BEGIN_BLOCK
    if frame.type == "LBRACE":
        return piece.type in _BEGIN_ENTRY and (left.type in ENDS or left.type == "LBRACE")
    return piece.comma or left.type in OPENING


def _breaks(frame: _Frame, left: Piece, piece: Piece, starts: bool, closes: bool, spanned: bool) -> bool:
    """Whether a line break comes between two pieces. `spanned`: the entry before has taken more than one line."""
    if piece.comments or piece.type == END:
        return True
    if piece.held is not None:
        return piece.held
    if left.type in OPENING or closes:
        return frame.spans
    if starts:
        return left.line != piece.line or (frame.spans and spanned)
    if left.line == piece.line:
        return False
    return (
        left.type in _KEEP_BREAK_AFTER
        or piece.type in _KEEP_BREAK_BEFORE
        or (piece.type == "NOT" and left.type in ENDS)
        or _runs_together(left, piece)
    )


def _runs_together(left: Piece, piece: Piece) -> bool:
    """Whether two pieces that stand on two lines would be read otherwise on one."""
    if left.type == "QUANTITY":
        return piece.type in ("IN", "LBRACE") and has_loose_unit(left.text)
    return piece.type == "FROM" and left.text in _KINDS


def _has_comma(frame: _Frame, left: Piece, piece: Piece, starts: bool, closes: bool, breaks: bool) -> bool:
    """Whether a comma comes between two pieces in a list or call, before the comments that stand there."""
    if left.type in OPENING:
        return False
    return (frame.type in ("LSQB", "LPAR") and starts) or (frame.type == "LSQB" and closes and breaks)


def _needs_comma(left: Piece, piece: Piece, following: Piece, spanned: bool) -> bool:
    """Whether two entries on a line would be read otherwise without the comma between them, which says nothing else."""
    if left.type == "QUANTITY":  # the name would be its unit
        return piece.type == "NAME" and _stays_apart(following)
    if left.type != "NAME" or piece.type == "KEY":
        return False
    return left.text in _KINDS or (spanned and piece.type in ("NAME", "STRING"))  # the two would open a block


def _stays_apart(piece: Piece) -> bool:
    """Whether a comment before a `{` or `in`, or one that points there, keeps a line break before it."""
    return bool(piece.comments or piece.held)


def _blanks(frame: _Frame, left: Piece, piece: Piece, starts: bool) -> str:
    """The blanks between two pieces on one line."""
    if left.type == "LBRACE" or piece.type == "RBRACE":
        return "" if left.type == "LBRACE" and piece.type == "RBRACE" else " "
    if left.type in OPENING or piece.type in CLOSING or left.type in ("DOT", UNARY, FILE) or piece.type == "DOT":
        return ""
    if piece.text == ".." or left.text == ".." or (piece.type == "LPAR" and left.type == "NAME"):
        return ""
    if piece.type in ("WHEN", "BECAUSE") or (starts and frame.type in (FILE, "LBRACE")):
        return "  "
    return " "


def _text(piece: Piece, following: Piece) -> str:
    if piece.type != "QUANTITY":
        return piece.text
    if following.type in ("IN", "LBRACE") and not _stays_apart(following):
        return touching(piece.text)
    return spelled(piece.text)
