"""What formatting must leave as it is, found without the formatter: the tree, the comments, what stands on a line."""

from __future__ import annotations

import re
from typing import Any

from planc.format.formatting import format_text
from planc.reporting.suppressions import suppressions
from planc.source import Source
from planc.syntax.lexer import CLOSING, END, Token
from planc.syntax.parse import parse, scan
from tests.syntax.trees import plain

#: The comma that begins a line goes to the line before; what a comment said of the line by it alone goes with it.
COMMA_FIRST = re.compile(r"^[ \t]*,[ \t\r]*(?:#|$)|#[^\n]*\n\s*,", re.M)


def tree(text: str) -> Any:
    """The tree of a text that has to be sound, without places and without blanks in numbers."""
    parsed = parse(Source("x", text))
    assert parsed.diagnostics == (), (text, parsed.diagnostics)
    return _without_blanks_in_numbers(plain(parsed.file))


def comments(text: str) -> list[tuple[int, str]]:
    """The comments of a text, each with the number of tokens before it that are no commas."""
    found, at, count = [], 0, 0
    for token in scan(text):
        found += [(count, comment.rstrip()) for comment in re.findall(r"#[^\n]*", text[at : token.start])]
        at, count = token.end, count + (token.type != "COMMA")
    return found


def spoken_of(text: str) -> list[tuple[str, frozenset[int]]]:
    """What comments speak of, by the numbers of tokens: those on the lines of a suppression, or before a mark."""
    tokens = [(number, token) for number, token in enumerate(_tokens(text)) if token.type not in CLOSING]
    lines = {number: text.count("\n", 0, token.start) + 1 for number, token in tokens}
    source = Source("x", text)
    ranges = [(f"allow {one.name.text}", one.first, one.last) for one in suppressions(source)]
    marks = re.finditer(r"^[^\n#]*[^\s#,][^\n#]*# ?<-", re.sub(r'"(?:[^"\\\n]|\\[^\n])*"', _blotted, text), re.M)
    ranges += [("mark", source.position(mark.start())[0], source.position(mark.start())[0]) for mark in marks]
    return [
        (what, frozenset(number for number, line in lines.items() if first <= line <= last))
        for what, first, last in ranges
    ]


def _blotted(string: re.Match[str]) -> str:
    return "s" * len(string[0])


def _tokens(text: str) -> list[Token]:
    return [token for token in scan(text) if token.type not in ("COMMA", END)]


def check(text: str) -> str:
    """The canonical layout of a sound text, after all that it promises was tried."""
    formatted = format_text(text)
    assert formatted is not None, text
    assert tree(formatted) == tree(text), (text, formatted)
    assert comments(formatted) == comments(text), (text, formatted)
    if not COMMA_FIRST.search(text):
        assert spoken_of(formatted) == spoken_of(text), (text, formatted)
    assert format_text(formatted) == formatted, (text, formatted)
    _check_blanks(formatted)
    return formatted


def _check_blanks(text: str) -> None:
    assert text == "" or (text.endswith("\n") and text[0] not in "\n \ufeff"), text
    assert "\n\n\n" not in text and not text.endswith("\n\n"), text
    assert not re.search(r"[ \t\r]\n", text), text
    assert not re.search(r"\{\n\n|\[\n\n|\n\n *[\]}]", text), text
    bare = re.sub(r'"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*', "", text)
    assert "\t" not in bare and "\r" not in bare, text
    assert all(len(row) - len(row.lstrip(" ")) & 1 == 0 for row in text.split("\n")), text


def _without_blanks_in_numbers(node: Any) -> Any:
    if not isinstance(node, tuple):
        return node
    if node[:1] == ("Number",) or (node[:1] == ("Name",) and re.match(r"[0-9]", node[1])):
        return (node[0], "".join(node[1].split()))
    return tuple(map(_without_blanks_in_numbers, node))
