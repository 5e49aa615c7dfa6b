"""The blocks and sections of a text as a tree, and what can be folded away."""

from __future__ import annotations

from typing import NamedTuple

from planc.editing.document import Document, Part
from planc.editing.roles import Role
from planc.source import Span
from planc.syntax.lexer import Token

_HEADS = ("field", "key", "rule")


class Symbol(NamedTuple):
    """A block or entry: its name and detail, the whole of it, and where the name stands."""

    name: str
    type: str
    detail: str
    span: Span
    name_span: Span
    children: tuple[Symbol, ...] = ()


class Fold(NamedTuple):
    """Lines that can be folded away, both counted from 0: a body, or a comment over several lines."""

    first: int
    last: int
    is_comment: bool


def symbols(document: Document) -> tuple[Symbol, ...]:
    """The blocks of a document, with the fields and sections of their own in them."""
    found = []
    for part in document.parts:
        roles = document.roles(part)
        name = next((role for role in roles if role.type == "definition"), None)
        if name is not None:
            parent = next((f"from {role.text}" for role in roles if role.type == "parent"), "")
            span = Span(document.source, part.start, part.end)
            children = _entries(document, part, roles)
            found.append(Symbol(name.text or '""', name.kinds[0], parent, span, document.span(name), children))
    return tuple(found)


def _entries(document: Document, part: Part, roles: tuple[Role, ...]) -> tuple[Symbol, ...]:
    """The entries of a block; those of its sections lie in them."""
    at = {token.start: index for index, token in enumerate(part.tokens)}
    heads = [role for role in roles if role.type in _HEADS and role.start in at]
    ends = [_end(part.tokens, at[role.start]) for role in heads]
    return _nested(document, heads, ends, 0, len(heads))


def _nested(document: Document, heads: list[Role], ends: list[int], first: int, last: int) -> tuple[Symbol, ...]:
    found, at = [], first
    while at < last:
        inner = at + 1
        while inner < last and heads[inner].start < ends[at]:
            inner += 1
        head = heads[at]
        span = Span(document.source, head.start, ends[at])
        detail = " ".join(document.source.text[head.end : ends[at]].split()).removeprefix("= ")
        shown = "" if at + 1 < inner else detail[:40]
        children = _nested(document, heads, ends, at + 1, inner)
        type = "section" if children else head.type
        found.append(Symbol(head.text or '""', type, shown, span, document.span(head), children))
        at = inner
    return tuple(found)


def _end(tokens: list[Token], at: int) -> int:
    """Where the entry ends that begins at a token: before the next one of the same depth."""
    depth, end = 0, tokens[at].end
    for index in range(at + 1, len(tokens)):
        token = tokens[index]
        following = tokens[index + 1].type if index + 1 < len(tokens) else ""
        if token.type in ("LBRACE", "LSQB", "LPAR"):
            depth += 1
        elif token.type in ("RBRACE", "RSQB", "RPAR"):
            depth -= 1
        begins = token.type in ("KEY", "VERB") or (token.type in ("NAME", "STRING") and following in _OPENERS)
        if depth < 0 or (depth == 0 and begins and _is_entry(tokens, index)):
            return end
        end = token.end
    return end


_OPENERS = ("LBRACE", "IN", "EQUAL")

#: Tokens after which no entry begins.
_GO_ON = ("EQUAL", "COMMA", "LSQB", "LPAR", "DOT", "IN", "VERB", "AND", "OR", "NOT", "WHEN", "COMPARE", "SIGN", "STAR",
          "SLASH")  # fmt: skip


def _is_entry(tokens: list[Token], at: int) -> bool:
    """Whether a token begins an entry, and is no value behind `=`, in a list or in a condition."""
    return tokens[at].type == "KEY" or tokens[at - 1].type not in _GO_ON


def folds(document: Document) -> tuple[Fold, ...]:
    """The bodies and comments of more than one line."""
    source = document.source
    found: list[Fold] = []
    for part in document.parts:
        opened: list[int] = []
        for token in part.tokens:
            if token.type in ("LBRACE", "LSQB"):
                opened.append(source.position(token.start)[0] - 1)
            elif token.type in ("RBRACE", "RSQB") and opened:
                first, last = opened.pop(), source.position(token.start)[0] - 1
                if first + 1 < last:
                    found.append(Fold(first, last - 1, False))
    return tuple(dict.fromkeys((*found, *_comments(source.text))))


def _comments(text: str) -> list[Fold]:
    found: list[Fold] = []
    first = None
    for number, line in enumerate([*text.split("\n"), ""]):
        if line.lstrip().startswith("#"):
            first = number if first is None else first
        elif first is not None:
            if first < number - 1:
                found.append(Fold(first, number - 1, True))
            first = None
    return found
