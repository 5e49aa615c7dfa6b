"""A text as an editor needs it: its parts, what their tokens stand for, and the blocks that it defines.

A part is read once for each text that it has had, so that a keystroke costs the part in which it falls.
"""

from __future__ import annotations

from typing import NamedTuple

from planc.editing.roles import Role, roles_of
from planc.source import MAX_BYTES, Source, Span
from planc.syntax.lexer import CLOSING, END, MAX_NESTING, OPENING, Token
from planc.syntax.parse import cut, scan

#: Lines and parts of which it is kept how they read.
_MOST_LINES = 20_000
_MOST_PARTS = 2_000


class Kept(NamedTuple):
    """How lines and parts read, by their text, with places from its start."""

    tokens: dict[str, tuple[Token, ...]]
    roles: dict[str, tuple[Role, ...]]


class Part(NamedTuple):
    """A block, `use` or setting: its tokens, and the text from the first of them to the last."""

    start: int
    end: int
    tokens: list[Token]


class Document:
    """A text, cut into parts; whole is False where it is too large or too deep to be read."""

    __slots__ = ("_kept", "_roles", "parts", "source", "whole")

    def __init__(self, source: Source, kept: Kept) -> None:
        tokens = _tokens(source.text, kept.tokens)
        found = cut(source, tokens) if tokens is not None else []
        self.source = source
        self.whole = tokens is not None
        self.parts = tuple(Part(tokens[0].start, tokens[-1].end, tokens) for tokens in found if tokens)
        self._kept = kept
        self._roles: dict[int, tuple[Role, ...]] = {}

    def roles(self, part: Part) -> tuple[Role, ...]:
        """The roles of a part, with places in the text."""
        if part.start not in self._roles:
            self._roles[part.start] = tuple(
                role._replace(start=role.start + part.start, end=role.end + part.start) for role in self._relative(part)
            )
        return self._roles[part.start]

    def all_roles(self) -> list[Role]:
        """The roles of the whole text, in order."""
        return [role for part in self.parts for role in self.roles(part)]

    def part_at(self, offset: int) -> Part | None:
        """The last part that begins before an offset, or at it."""
        before = [part for part in self.parts if part.start <= offset]
        return before[-1] if before else None

    def role_at(self, offset: int) -> Role | None:
        """The role of the token that covers an offset or ends there; the one that begins there, of two."""
        part = self.part_at(offset)
        touched = [role for role in self.roles(part) if role.start <= offset <= role.end] if part else []
        return touched[-1] if touched else None

    def block_at(self, offset: int) -> tuple[str, str] | None:
        """Kind and name of the block at an offset; None outside of any."""
        part = self.part_at(offset)
        named = block_name(self.roles(part)) if part is not None else None
        return (named.kinds[0], named.text) if named is not None else None

    def definitions(self) -> list[Role]:
        """The names of the blocks that the text defines, in order."""
        return [role for role in self.all_roles() if role.type == "definition"]

    def span(self, role: Role) -> Span:
        """Where a role stands."""
        return Span(self.source, role.start, role.end)

    def _relative(self, part: Part) -> tuple[Role, ...]:
        text = self.source.text[part.start : part.end]
        kept = self._kept.roles
        found = kept.get(text)
        if found is None:  # another thread may clear what is kept at any time
            if _MOST_PARTS < len(kept):
                kept.clear()
            # The first line's indentation says nothing, so the part can be read as a text of its own.
            tokens = tuple(Token(token.type, token.start - part.start, token.end - part.start) for token in part.tokens)
            found = kept[text] = roles_of(Source("", text), tokens)
        return found


def block_name(roles: tuple[Role, ...]) -> Role | None:
    """The name of the block that a part is, among its roles; None if it is none."""
    return next((role for role in roles if role.type == "definition"), None)


def _tokens(text: str, kept: dict[str, tuple[Token, ...]]) -> list[Token] | None:
    """The tokens of a text; None if it is too large, or brackets are nested too deeply in it."""
    if MAX_BYTES < len(text):
        return None
    if _MOST_LINES < len(kept):
        kept.clear()
    tokens: list[Token] = []
    at = depth = 0
    for line in text.split("\n"):
        found = kept.get(line)
        if found is None:
            scanned = scan(line)
            if scanned[-1].type != END:
                return None
            found = kept[line] = tuple(scanned[:-1])
        for kind, start, end in found:
            tokens.append(Token(kind, start + at, end + at))
            depth += (kind in OPENING) - (kind in CLOSING)
            if MAX_NESTING < depth:
                return None
        at += len(line) + 1
    tokens.append(Token(END, len(text), len(text)))
    return tokens
