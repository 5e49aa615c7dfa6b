"""What an editor shows of a text against what planc's lexer reads in it, character by character."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from planc import resources
from planc.syntax.lexer import Lexer
from tests.shared import ROOT

#: What the editor has to show each terminal as; terminals of one row may look alike.
CLASSES = {
    "comment": ("COMMENT",),
    "kind": ("KIND",),
    "key": ("KEY",),
    "language": ("LANGUAGE",),
    "verb": ("VERB",),
    "keyword": ("USE", "FROM", "WHEN", "BECAUSE", "AND", "OR", "NOT", "IN"),
    "literal": ("LITERAL",),
    "name": ("NAME",),
    "number": ("QUANTITY",),
    "string": ("STRING",),
    "operator": ("COMPARE", "SIGN", "STAR", "SLASH", "EQUAL", "__ANON_0"),
    "bracket": ("LBRACE", "RBRACE", "LSQB", "RSQB", "LPAR", "RPAR", "COMMA", "DOT"),
    "illegal": ("ERROR", "ELSE"),
}
_CLASS_OF = {terminal: shown for shown, terminals in CLASSES.items() for terminal in terminals}

#: Pieces of which texts are made that nobody would write; what stands beside what is decided by chance.
_PIECES = (
    "plan", "gpu", "policy", "model", "template", "cluster", "from", "use", "hf", "language", "in", "and", "or", "not",
    "when", "because", "else", "require", "forbid", "warn", "true", "none", "auto", "false", "min", "divides", "tensor",
    "llama-3.1-8b", "a-b", "x.5", "plan-a", "true-", "in-", "none.x", "_x9", "K", "80", "8Ki", "4Mi tokens", "1.5e-4",
    "80GB", "400 Gbit/s", "2.4 USD/h", "8 %", "8%", "24 hours", "1_000", "1.", ".5", "8 GB/s2", "3 EUR/kWh", "7e",
    "5 h.", '"text"', '"a \\" b"', '"\\q {x.y} {"', '"open', "'single'", '""', "# comment",
    "# planc: allow x -- y \" {", "=", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "..", ".", ",", "(", ")",
    "[", "]", "{", "}", "{", "}", "!", "$", "\u00e9", "\U0001f600", "@", ":", ";", "\\", "\f",
)  # fmt: skip


def texts() -> tuple[str, ...]:
    """Plans that are in the repository, the examples of the reference, and texts that are made by chance."""
    folders = ("examples", "planc/catalogue", "tests/wrong", "tests/rules", "tests/targets")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.plan"))]
    found = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    found += re.findall(r"^```plan[^\n]*\n(.*?)^```$", page, re.S | re.M)
    found += [_by_chance(random.Random(seed)) for seed in range(40)]
    # An editor takes every kind of line end for one, and the byte-order mark away.
    return tuple(text.replace("\r\n", "\n").replace("\r", " ").removeprefix("\ufeff") for text in found)


def _by_chance(chance: random.Random) -> str:
    between = ("", " ", " ", " ", "  ", "\t", "\n")
    return "".join(chance.choice(_PIECES) + chance.choice(between) for _ in range(120))


@cache
def _lexer() -> Lexer:
    tables = resources.parser_tables()
    return Lexer(tables | {"ignored": tuple(name for name in tables["ignored"] if name != "COMMENT")})


def differences(text: str, shown: Sequence[str]) -> Iterator[str]:
    """Tokens of a text that are shown as something else; `shown` has a class for each character.

    Blanks are left out, except those in a comment or string; what stands behind 32 brackets is not read.
    """
    for token in _lexer().scan(text).tokens:
        if token.type == "$END":
            continue
        due = _CLASS_OF[token.type]
        for at in range(token.start, token.end):
            if shown[at] != due and (due in ("comment", "string") or text[at] not in " \t\n"):
                snippet = text[max(0, token.start - 20) : token.end + 10]
                where = f"{token.type} {text[token.start : token.end]!r} in {snippet!r}"
                yield f"line {text.count(chr(10), 0, at) + 1}: {where} is shown as {shown[at] or 'nothing'}"
                break
