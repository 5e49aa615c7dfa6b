"""Slips inside the condition of a rule, found in its tokens before they are parsed.

Each of them also reads as the beginning of something else (`batch.micro = 1` sets a field, `4 if` is a number with a
unit), so the parser would meet them too late, and twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source, Span
from planc.syntax.lexer import Token
from planc.syntax.slips import replacement

#: What other languages write before a guard.
_GUARDS = ("if", "where", "whenever")

_ENDS_OPERAND = ("NAME", "QUANTITY", "STRING", "LITERAL", "RPAR", "RSQB")
_OPERATORS = ("AND", "OR", "NOT", "IN", "WHEN", "COMPARE", "SIGN", "STAR", "SLASH", "DOT", "COMMA", "LPAR", "LSQB")


class Condition(NamedTuple):
    """The tokens of a condition, with its guard, from `start` up to `end`, and the slip in it, if there is one."""

    start: int
    end: int
    slip: Diagnostic | None


def conditions(source: Source, tokens: list[Token]) -> Iterator[Condition]:
    """The conditions among the tokens of a block, in their order."""
    at = 0
    while at < len(tokens):
        at += 1
        if tokens[at - 1].type == "VERB":
            found = _condition(source, tokens, at)
            yield found
            at = max(at, found.end)


def _condition(source: Source, tokens: list[Token], start: int) -> Condition:
    at, slip, operand = start, None, False
    while at < len(tokens):
        found, taken = _slip(source, tokens, at, operand)
        if found is not None:
            slip, operand = slip or found, False
            at += taken
            continue
        kind = tokens[at].type
        continues = kind in _OPERATORS or (kind in _ENDS_OPERAND and (not operand or kind in ("RPAR", "RSQB")))
        # A name on the next line opens an entry, unless an operator waits for it; a call opens its brackets.
        if not continues or (operand and kind in ("LPAR", "LSQB") and tokens[at - 1].type != "NAME"):
            break
        operand = kind in _ENDS_OPERAND
        at += 1
    return Condition(start, at, slip)


def _slip(source: Source, tokens: list[Token], at: int, operand: bool) -> tuple[Diagnostic | None, int]:
    """The slip at a token, and how many tokens it takes."""
    token, following = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else tokens[at]
    text = source.text[token.start : token.end]
    if token.type == "KEY" and not operand and _goes_on(source, tokens, at) and following.type == "EQUAL":
        after = tokens[at + 2] if at + 2 < len(tokens) else following
        end, meant = following.end, "=="
        if after.start == following.end and after.type == "COMPARE":  # `=<` and `=>`
            end, meant = after.end, f"{source.text[after.start]}="
        wrong = Span(source, following.start, end)
        message = f"`{wrong.text}` in place of `{meant}`" if meant != "==" else "`=` sets, it does not compare"
        return replacement(wrong, message, meant), 2 if end == following.end else 3
    if token.type == "COMPARE" and following.type == "EQUAL":
        meant = f"{text[0]}="
        return replacement(Span(source, token.start, following.end), f"`{meant}` in two parts", meant), 2
    if token.type == "NAME" and operand and text in _GUARDS and not _is_first_on_line(source, token):
        return _guard(Span(source, token.start, token.end)), 1
    word = text.split()[-1] if token.type == "QUANTITY" else ""
    if word in _GUARDS and not operand:  # the word behind a number is read as its unit
        return _guard(Span(source, token.end - len(word), token.end)), 1
    return None, 0


def _goes_on(source: Source, tokens: list[Token], at: int) -> bool:
    """Whether a key still belongs to the rule: behind an operator, or in the line of the rule's first word."""
    return tokens[at - 1].type != "VERB" or "\n" not in source.text[tokens[at - 1].end : tokens[at].start]


def _is_first_on_line(source: Source, token: Token) -> bool:
    start = source.text.rfind("\n", 0, token.start) + 1
    return not source.text[start : token.start].strip(" \t")


def _guard(span: Span) -> Diagnostic:
    return replacement(span, f"`{span.text}` in place of `when`", "when")
