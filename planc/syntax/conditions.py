"""Slips inside a rule of a policy, found in its tokens before they are parsed.

Each of them also reads as the beginning of something else (`batch.micro = 1` sets a field, `4 if` is a number with a
unit, `deny` opens a section), so the parser would meet them too late, and twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import all_nearest
from planc.source import Source, Span
from planc.syntax.faults import SYNTAX_ERROR
from planc.syntax.lexer import Token
from planc.syntax.slips import guesses, replacement

#: What other languages write before a guard.
_GUARDS = ("if", "where", "whenever")

_ENDS_OPERAND = ("NAME", "QUANTITY", "STRING", "LITERAL", "RPAR", "RSQB")
_OPERATORS = ("AND", "OR", "NOT", "IN", "WHEN", "COMPARE", "SIGN", "STAR", "SLASH", "DOT", "COMMA", "LPAR", "LSQB")


#: How rules begin, and what people write in their place; what is only inflected can mean nothing else.
_VERBS: dict[str, tuple[str, ...]] = {
    "require": ("requires", "required", "requiring"),
    "forbid": ("forbids", "forbidden"),
    "warn": ("warns", "warning"),
}
_LIKE_VERBS: dict[str, tuple[str, ...]] = {
    "require": ("must", "assert", "ensure", "enforce", "expect", "need", "needs", "check", "always", "allow", "only"),
    "forbid": ("deny", "denies", "disallow", "prohibit", "reject", "refuse", "ban", "block", "never", "error", "fail"),
    "warn": ("caution", "notice", "advise"),
}
_ANY_VERB = frozenset(
    word for verbs in (_VERBS, _LIKE_VERBS) for verb, words in verbs.items() for word in (verb, *words)
)
#: What goes on with a rule in its next line, well or badly written.
_GOES_ON = (*_GUARDS, "when", "and", "or", "not", "in", "because", "unless")
_BEGINS_OPERAND = ("NAME", "QUANTITY", "STRING", "LITERAL", "LPAR", "NOT")


class Condition(NamedTuple):
    """The tokens of a condition, with its guard, from `start` up to `end`, and the slip in it, if there is one.

    Where the slip is in the verb, it and the reason are among the tokens.
    """

    start: int
    end: int
    slip: Diagnostic | None


def conditions(source: Source, tokens: list[Token]) -> Iterator[Condition]:
    """The conditions among the tokens of a block, in their order."""
    is_policy = _is_policy(source, tokens)
    at = 0
    while at < len(tokens):
        at += 1
        if tokens[at - 1].type == "VERB":
            found = _condition(source, tokens, at)
            yield found
            at = max(at, found.end)
        elif tokens[at - 1].type == "NAME" and _begins_rule(source, tokens, at - 1, is_policy):
            end = _condition(source, tokens, at).end
            end += 2 * ([token.type for token in tokens[end : end + 2]] == ["BECAUSE", "STRING"])
            yield Condition(at - 1, end, _verb(Span(source, tokens[at - 1].start, tokens[at - 1].end)))
            at = max(at, end)


def may_hold_rules(source: Source, tokens: list[Token]) -> bool:
    """Whether the tokens of a block have conditions; a plan has some where it narrows a policy."""
    return _is_policy(source, tokens) or any(
        token.type == "VERB" or (token.type == "NAME" and _begins_rule(source, tokens, at, is_policy=False))
        for at, token in enumerate(tokens)
    )


def _is_policy(source: Source, tokens: list[Token]) -> bool:
    return tokens[0].type == "KIND" and source.text[tokens[0].start : tokens[0].end] == "policy"


def _begins_rule(source: Source, tokens: list[Token], at: int, is_policy: bool) -> bool:
    """Whether a name stands where the verb of a rule is due: before an operand in its line.

    Outside a policy only a word that is like a verb can be meant as one, and only behind the name of a rule.
    """
    if not 0 < at < len(tokens) - 2 or tokens[at + 1].type not in _BEGINS_OPERAND:
        return False
    if not is_policy and (
        tokens[at - 1].type != "EQUAL" or source.text[tokens[at].start : tokens[at].end].lower() not in _ANY_VERB
    ):
        return False
    if source.text[tokens[at].start : tokens[at].end].lower() in _GOES_ON:
        return False
    if tokens[at + 1].type == "STRING" and tokens[at + 2].type not in ("COMPARE", "IN", "NOT"):
        return False  # a reason, behind `because` written wrongly
    before, operand = tokens[at - 1], tokens[at + 1]
    begins = before.type in ("LBRACE", "EQUAL") or (
        before.type in (*_ENDS_OPERAND, "COMMA", "RBRACE") and _is_first_on_line(source, tokens[at])
    )
    if operand.type == "LPAR" and operand.start == tokens[at].end:
        return False  # calls a function
    return begins and "\n" not in source.text[tokens[at].end : operand.start]


def _verb(span: Span) -> Diagnostic:
    """The fault of a word in place of the verb of a rule."""
    message = f"`{span.text}` begins no rule"
    for verb, inflected in _VERBS.items():
        if span.text.lower() in (verb, *inflected):
            return replacement(span, message, verb)
    meant = next((verb for verb, words in _LIKE_VERBS.items() if span.text.lower() in words), "")
    near = (meant,) if meant else tuple(all_nearest(span.text, _VERBS))
    help = f"did you mean `{near[0]}`?" if near else "a rule begins with `require`, `forbid` or `warn`"
    return SYNTAX_ERROR.at(span, message, help=(help,), fixes=guesses(span, *near))


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
    begins_line = _is_first_on_line(source, token) and following.type not in _BEGINS_OPERAND
    if token.type == "NAME" and operand and text in _GUARDS and not begins_line:
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
