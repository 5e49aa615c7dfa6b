"""Text to tokens, by one regular expression made of the grammar's terminals. A token never depends on the parser."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

OPENING = {"LBRACE": "RBRACE", "LSQB": "RSQB", "LPAR": "RPAR"}
CLOSING = {closing: opening for opening, closing in OPENING.items()}
MAX_NESTING = 32

#: A terminal that no rule has: text that is no token of the language.
ERROR = "ERROR"
END = "$END"

#: What cannot be read is taken in one piece: an unclosed string to its line's end, a run of letters, or one character.
_UNREADABLE = re.compile(r'"[^\n]*|\'[^\'\n]*\'?|[^\x00-\x7f]+|.', re.DOTALL)


class Token(NamedTuple):
    """A terminal of the grammar and where it stands (code points)."""

    type: str
    start: int
    end: int


class Lexed(NamedTuple):
    """The tokens of a text, closed by `$END`, and where brackets are nested too deeply, if they are."""

    tokens: list[Token]
    too_deep: int | None


class Lexer:
    """The scanner of one grammar's tables."""

    __slots__ = ("_ignored", "_keywords", "_match")

    def __init__(self, tables: dict[str, Any]) -> None:
        self._match = re.compile(tables["pattern"]).match
        self._keywords: dict[str, str] = tables["keywords"]
        self._ignored = frozenset(tables["ignored"])

    def scan(self, text: str, start: int = 0, until: int | None = None) -> Lexed:
        """The tokens of a text, or of a part of it; ends where brackets are nested more than 32 deep."""
        tokens: list[Token] = []
        at, end, depth = start, len(text) if until is None else until, 0
        match, keywords, ignored = self._match, self._keywords, self._ignored
        if at == 0 and text.startswith("\ufeff"):
            at = 1
        while at < end:
            found = match(text, at)
            if found is None:
                unreadable = _UNREADABLE.match(text, at)
                stop = unreadable.end() if unreadable else at + 1
                tokens.append(Token(ERROR, at, stop))
                at = stop
                continue
            kind, stop = found.lastgroup or "", found.end()
            if kind not in ignored:
                if kind == "NAME":
                    kind = keywords.get(text[at:stop], kind)
                elif kind in OPENING:
                    depth += 1
                    if MAX_NESTING < depth:
                        return Lexed(tokens, at)
                elif kind in CLOSING:
                    depth -= 1
                tokens.append(Token(kind, at, stop))
            at = stop
        tokens.append(Token(END, end, end))
        return Lexed(tokens, None)
