"""Where a cursor stands: what is open there, and what may be written."""

from __future__ import annotations

import re
from typing import NamedTuple

from planc.editing.document import Document, Part
from planc.editing.roles import Frame, Walker
from planc.plan.schema import KINDS, Type
from planc.syntax.lexer import ERROR, Token

#: A number as far as it is typed: digits, a suffix before a blank, blanks, the beginning of a unit.
_NUMBER = re.compile(r"[0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?((?:[kMBT]|[KMGT]i)(?=[ \t]))?([ \t]*)([A-Za-z/%]*)\Z")

#: Tokens that are a word, whole or in part.
_WORDLIKE = ("NAME", "KEY", "KIND", "VERB", "LITERAL", "USE", "FROM", "IN", "AND", "OR", "NOT", "WHEN", "BECAUSE",
             "ELSE", "LANGUAGE")  # fmt: skip


class Cursor(NamedTuple):
    """A place in a text.

    place: `top`, `name` (of a new block), `from` (may follow), `parent`, `use` and `import` (in or before a path),
        `entry`, `value`, `after` (a whole value), `unit`, or `nowhere`. start: where the word at the cursor begins, and
        word the part of it before the cursor; follows: it is followed by `=` or `{`. quoted: it stands in a string.
    """

    place: str
    start: int
    word: str
    part: Part | None = None
    walker: Walker | None = None
    follows: bool = False
    quoted: bool = False

    @property
    def frame(self) -> Frame:
        """The innermost body, list or parentheses; only where one is open."""
        assert self.walker is not None
        return self.walker.frames[-1]

    @property
    def due(self) -> Type | None:
        """What is due as a value, if that is known."""
        return self.frame.due if self.walker is not None and self.walker.frames else None


def cursor_at(document: Document, offset: int) -> Cursor:
    """What may be written at an offset."""
    text = document.source.text
    part = next((part for part in reversed(document.parts) if part.start < offset), None)
    before = [token for token in part.tokens if token.start < offset] if part is not None else []
    if _in_comment(text, before[-1].end if before else 0, offset):
        return Cursor("nowhere", offset, "")
    start, word, follows, quoted = offset, "", False, False
    if before and offset <= before[-1].end and (before[-1].type in _WORDLIKE or _is_string(text, before[-1])):
        last = before.pop()
        quoted = _is_string(text, last)
        if quoted and last.end == offset and last.type != ERROR and 1 < last.end - last.start:
            return Cursor("nowhere", offset, "")  # behind the closing quote
        start = last.start + 1 if quoted else last.start
        word = text[start:offset]
    elif before and offset < before[-1].end and before[-1].type not in ("QUANTITY", ERROR):
        return Cursor("nowhere", offset, "")
    number = before[-1] if before and before[-1].type == "QUANTITY" and not word and not quoted else None
    if part is not None:
        follows = any(token.type in ("EQUAL", "LBRACE") for token in _behind(part, offset))
    walker = Walker(document.source, tuple(before)) if before else None
    if number is not None and walker is not None and walker.frames:
        return _in_number(text, number, offset, part, walker)
    return Cursor(_place(walker, text, before, start), start, word, part, walker, follows, quoted)


def _in_number(text: str, number: Token, offset: int, part: Part | None, walker: Walker) -> Cursor:
    """In a number, or behind one in its line: a unit may follow, and an entry too if it is whole."""
    written = text[number.start : offset]
    found = _NUMBER.match(written)
    if found is None:
        return Cursor("after" if number.end < offset else "nowhere", offset, "", part, walker)
    unit = found[3]
    return Cursor("unit", offset - len(unit), unit, part, walker, follows=bool(found[2] or unit))


def _place(walker: Walker | None, text: str, before: list[Token], start: int) -> str:
    if walker is None or (not walker.frames and walker.header in ("", "closed")):
        last = text[before[-1].start : start] if before else ""
        return "name" if last.rstrip() in KINDS and "\n" not in last else "top"
    if not walker.frames:
        return {"kind": "name", "name": "from", "from": "parent", "use": "use", "call": "import"}.get(
            walker.header, "nowhere"
        )
    frame = walker.frame
    assert frame is not None
    if frame.state == "value" or frame.bracket != "{":
        return "value" if frame.state in ("value", "entry") else "after"
    if frame.state == "key":
        return "nowhere"
    return "after" if frame.state == "operand" else "entry"


def _behind(part: Part, offset: int) -> list[Token]:
    """The token behind the cursor, or behind the word that it stands in or before."""
    return [token for token in part.tokens if offset <= token.start][:1]


def _is_string(text: str, token: Token) -> bool:
    return token.type == "STRING" or (token.type == ERROR and text[token.start] == '"')


def _in_comment(text: str, start: int, offset: int) -> bool:
    """Whether a comment begins between the last token and the cursor, in the cursor's line."""
    line = text.rfind("\n", 0, offset) + 1
    return "#" in text[max(start, line) : offset]
