"""Texts of the language made by its grammar, with blanks, line ends and comments wherever it allows them."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import strategies as st
from lark import Lark

from planc import resources

#: Texts of terminals. The words for kinds are names where no other name follows, and any word may follow a number.
SAMPLES: dict[str, tuple[str, ...]] = {
    "LANGUAGE": ("language",),
    "KEY": ("a", "tokens", "plan", "long-name.5b"),
    "KIND": ("gpu", "plan", "policy"),
    "VERB": ("require", "forbid", "warn"),
    "LITERAL": ("true", "none"),
    "NAME": ("b", "GB", "h", "plan", "gpu", "llama-3.1-8b"),
    "STRING": ('"s"', '"# no {comment}\t"', '"a \\" b"'),
    "QUANTITY": (
        "8",
        "8Ki",
        "80GB",
        "80  GB",
        "4Mi\ttokens",
        "1.5e-4",
        "8%",
        "8 %",
        "2.4USD/h",
        "3 foo",
        "7foo",
        "1k %",
    ),
    "COMPARE": ("<=", "==", ">"),
    "SIGN": ("-", "+"),
}
BLANKS = ("", " ", "\t", "   ")
GAPS = (
    *BLANKS, " ", " ", "\n", "\n", "\r\n", "\n\n", "\n \n\n", "# c\n", " # c \t\r\n", "\n# own\n",
    "\n\n# own\n\n# more\n",
    " # planc: allow x -- y\n", " #<- PLN001\n", "\n  # planc: allow z\n",
)  # fmt: skip

_DEEPEST, _MOST = 26, 60


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text of tokens that the grammar allows in this order; most are read as these tokens, and so are sound."""
    text, on_its_line = "", False
    for symbol in draw(_derivations()):
        token = draw(st.sampled_from(SAMPLES[symbol])) if symbol in SAMPLES else _fixed()[symbol]
        gap = draw(st.sampled_from(BLANKS if on_its_line else GAPS))
        text += gap or " " * (re.search(r'[\w".-]{2}$', text[-1:] + token[:1]) is not None)
        text += token
        on_its_line = symbol in ("KEY", "KIND", "LANGUAGE")
    return text + draw(st.sampled_from(GAPS))


@st.composite
def _derivations(draw: st.DrawFn) -> list[str]:
    out: list[str] = []
    todo: list[tuple[str, int]] = [("start", 0)]
    while todo:
        symbol, depth = todo.pop()
        rules = _rules().get(symbol)
        if rules is None:
            out.append(symbol)
            continue
        shortest = min(map(_size, rules))
        grows = depth < _DEEPEST and len(out) + len(todo) < _MOST
        fits = [rule for rule in rules if grows or _size(rule) == shortest]
        todo.extend((part, depth + 1) for part in reversed(draw(st.sampled_from(fits))))
    return out


@cache
def _parser() -> Lark:
    return Lark(resources.read_text("grammar/plan.lark"), parser="lalr", lexer="basic")


@cache
def _fixed() -> dict[str, str]:
    """Terminals that have one text."""
    return {terminal.name: terminal.pattern.value for terminal in _parser().terminals if terminal.pattern.type == "str"}


@cache
def _rules() -> dict[str, list[tuple[str, ...]]]:
    """Symbol -> what it may be, but for what stands for text that cannot be read."""
    rules: dict[str, list[tuple[str, ...]]] = {}
    for rule in _parser().rules:
        expansion = tuple(symbol.name for symbol in rule.expansion)
        if not {"BAD", "bad", "ELSE"} & {*expansion}:
            rules.setdefault(str(rule.origin.name), []).append(expansion)
    rules["start"].remove(())
    return rules


@cache
def _sizes() -> dict[str, int]:
    """Symbol -> tokens of the shortest text that it can be."""
    sizes: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for symbol, rules in _rules().items():
            known = [sum(sizes.get(part, 1) for part in rule) for rule in rules if _known(rule, sizes)]
            if known and min(known) < sizes.get(symbol, 1 << 30):
                sizes[symbol] = min(known)
                changed = True
    return sizes


def _known(rule: tuple[str, ...], sizes: dict[str, int]) -> bool:
    return all(part in sizes or part not in _rules() for part in rule)


def _size(rule: tuple[str, ...]) -> int:
    return sum(_sizes().get(part, 1) for part in rule)
