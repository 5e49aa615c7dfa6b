"""The grammar, and the driver that reads by it, held against lark itself."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest
from lark import Lark, Tree
from lark.exceptions import LarkError

from planc import resources
from planc.source import Source
from planc.syntax import build_tables, nodes
from planc.syntax.parse import parse
from tests.shared import ROOT, SHARED

GRAMMAR = resources.read_text("grammar/plan.lark")
TEXTS = [
    path.read_text() for folder in (ROOT / "examples", SHARED / "language") for path in sorted(folder.glob("*.plan"))
]

#: Nodes of ours and the rules of lark's tree that they stand for.
SAME: dict[type, tuple[str, ...]] = {
    nodes.Field: ("field",),
    nodes.Section: ("section",),
    nodes.Candidates: ("candidates",),
    nodes.Rule: ("rule",),
    nodes.Body: ("body",),
    nodes.List: ("list",),
    nodes.Range: ("range",),
    nodes.Path: ("path",),
    nodes.Call: ("call",),
    nodes.Number: ("number", "setting"),
    nodes.Narrowed: ("narrowed",),
    nodes.Unary: ("negation", "signed"),
    nodes.Binary: ("either", "both", "comparison", "arithmetic"),
    nodes.Member: ("member", "stranger"),
    nodes.Block: ("block", "derived"),
    nodes.Use: ("use",),
}


@pytest.fixture(scope="module")
def reference() -> Lark:
    """lark's own parser of the grammar."""
    return Lark(GRAMMAR, parser="lalr", lexer="basic")


def test_no_conflicts() -> None:
    pytest.importorskip("interegular", reason="lark's strict mode needs interegular")
    Lark(GRAMMAR, parser="lalr", lexer="basic", strict=True)


def test_tables_are_the_same_on_every_run() -> None:
    assert build_tables.as_module(build_tables.build(GRAMMAR)) == build_tables.as_module(build_tables.build(GRAMMAR))


def test_no_two_terminals_of_one_priority_match_at_one_place(reference: Lark) -> None:
    """lark's strict mode passes over terminals with a look-ahead, so this is tried on text."""
    by_priority: dict[int, list[tuple[str, re.Pattern[str]]]] = {}
    for terminal in reference.terminals:
        if terminal.pattern.type == "re":
            by_priority.setdefault(terminal.priority, []).append(
                (terminal.name, re.compile(terminal.pattern.to_regexp()))
            )
    rng = random.Random(1)
    words = [
        "plan",
        "gpu",
        "use",
        "require",
        "none",
        "x",
        "a-b",
        "q2.5-7b",
        "8",
        "8Ki",
        "80 GB",
        "400 Gbit/s",
        "8 %",
        "=",
    ]
    words += ["{", "}", "==", "..", ".", "-", '"s"', "in", "\n", " ", "# c\n", "1e3", "language", ",", "%", "_", "/s"]
    for _ in range(3000):
        text = "".join(rng.choice(words) + rng.choice(["", " ", "  "]) for _ in range(8))
        for at in range(len(text)):
            for priority, terminals in by_priority.items():
                matching = [name for name, pattern in terminals if pattern.match(text, at)]
                assert len(matching) < 2, (priority, matching, text[at : at + 30])


def _count(value: Any, found: Counter[str]) -> Counter[str]:
    """How often each kind of node stands in a tree of ours."""
    if isinstance(value, tuple):
        for kind, names in SAME.items():
            if type(value) is kind:
                found[names[0]] += 1
        for part in value:
            _count(part, found)
    return found


def _count_lark(tree: Tree[Any]) -> Counter[str]:
    canonical = {name: names[0] for names in SAME.values() for name in names}
    return Counter(canonical[node.data] for node in tree.iter_subtrees_topdown() if node.data in canonical)


def _compare(reference: Lark, text: str) -> bool:
    """Whether the text is read, by both alike and as the same tree."""
    parsed = parse(Source("x", text))
    try:
        tree = reference.parse(text)
    except LarkError:
        assert parsed.diagnostics, text
        return False
    if re.search(r"\belse\b", text) is None:  # read, and reported with its own message
        assert not parsed.diagnostics, (text, [found.message for found in parsed.diagnostics])
    assert _count(parsed.file, Counter()) == _count_lark(tree), text
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_examples_are_read_as_lark_reads_them(reference: Lark, text: str) -> None:
    assert _compare(reference, text)


def test_a_name_that_ends_an_entry_on_a_line_of_its_own_opens_no_block(reference: Lark) -> None:
    assert _compare(reference, "plan p {\n  a = b +\n    c\n  d { e = 1 }\n  f in\n  g # h\n  i { }\n}\n")


def test_mutations_are_read_as_lark_reads_them(reference: Lark) -> None:
    rng = random.Random(2)
    pieces = [
        "plan",
        "x",
        "{",
        "}",
        "=",
        "==",
        "..",
        "8",
        "80 GB",
        "in",
        "[",
        "]",
        ",",
        "require",
        "when",
        '"s"',
        "-",
        "not",
    ]
    read = 0
    for _ in range(1500):
        tokens = re.findall(r'#[^\n]*|"[^"\n]*"|[\w.-]+|\s+|.', rng.choice(TEXTS))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(tokens))
            tokens[at : at + rng.randint(0, 1)] = [rng.choice(["", " " + rng.choice(pieces) + " "])]
        read += _compare(reference, "".join(tokens))
    assert 100 < read < 1400  # both kinds were met
