"""Suppressions in files of other tools: which comments there are, and for which lines each speaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.kinds import known_rules
from planc.native.layout import Layout
from planc.native.tree import Broken, Tree
from planc.reporting.fixing import mend
from planc.reporting.suppressions import suppress, suppressions
from planc.source import Source, Span
from tests.native.trees import read, tree

RULES = known_rules()


def comments(form: str, text: str) -> list[str]:
    """The comments of a text."""
    return [each.text for each in Layout(tree(form, text)).comments()]


def lines(form: str, text: str) -> list[tuple[int, int]]:
    """First and last line for which each suppression speaks."""
    found = tree(form, text)
    return [(one.first, one.last) for one in suppressions(found.source, Layout(found))]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("yaml", "a: 1 # one\n#two\nb: 2#3\n", ["# one", "#two"]),
        ("yaml", 'a: "x # y" # z\n', ["# z"]),
        ("yaml", "a: 'it''s # y'\nb: |\n  # text\n  x\n# after\n", ["# after"]),
        ("yaml", "a: [1, # x\n 2] # y\n", ["# x", "# y"]),
        ("yaml", "a:\n  # in\n  - b # item\n", ["# in", "# item"]),
        ("yaml", "#\n", ["#"]),
        ("yaml", "a: b\n  c # d\n", ["# d"]),
        ("yaml", "a: 1\n---\n# second\nb: 'c # d'\n", ["# second"]),
        ("yaml", "a: &x 'b # c' # d\ne: *x # f\n", ["# d", "# f"]),
        ("yaml", '"a # b": 1 # c\r\n', ["# c"]),
        ("toml", "a = 1# one\n# two\n", ["# one", "# two"]),
        ("toml", "a = '''\n# no\n'''\nb = \"# no\" # yes\n", ["# yes"]),
        ("toml", "a = [ 1, # x\n '#', # y\n]\n", ["# x", "# y"]),
        ("toml", "[a] # x\n'# y' = 1 # z\n", ["# x", "# z"]),
        ("toml", "a = {b = '#'} # x", ["# x"]),
        ("json", '{"a": "# planc: allow x-y -- why"}', []),
        ("text", "a slots=8 # x\n# y\nb#c\n", ["# x", "# y"]),
    ],
)
def test_comments(form: str, text: str, expected: list[str]) -> None:
    assert comments(form, text) == expected


ALLOW = "# planc: allow x-y -- why"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("yaml", f"a: 1 {ALLOW}\nb: 2\n", (1, 1)),
        ("yaml", f"{ALLOW}\na: 1\nb: 2\n", (1, 2)),
        ("yaml", f"{ALLOW}\na:\n  b: 1\n\n  c: 2\nd: 3\n", (1, 5)),
        ("yaml", f"a:\n  {ALLOW}\n  b: 1\n  c: 2\n", (2, 3)),
        ("yaml", f"{ALLOW}\n\n# why\na: [1,\n 2]\nb: 3\n", (1, 5)),
        ("yaml", f"a:\n- b: 1\n  c: 2\n{ALLOW}\n- d: 1\n  e: 2\n", (4, 6)),
        ("yaml", f"a: 1\n{ALLOW}\n", (2, 2)),
        ("yaml", f"{ALLOW}\na: |\n  x\n  y\nb: 1\n", (1, 4)),
        ("yaml", f"{ALLOW}\n- 1\n- 2\n", (1, 2)),
        ("yaml", f"a: 1\n{ALLOW}\n---\nb:\n  c: 1\n", (2, 5)),
        ("yaml", f"{ALLOW}\r\na:\r\n  b: 1\r\nc: 1\r\n", (1, 3)),
        ("yaml", f"a:\n  b: 1\n  {ALLOW}\nc: 1\n", (3, 4)),
        ("toml", f"a = 1 {ALLOW}\nb = 1\n", (1, 1)),
        ("toml", f"{ALLOW}\na = [\n 1]\nb = 1\n", (1, 3)),
        ("toml", f"{ALLOW}\n[a]\nb = 1\nc = 2\n[d]\ne = 1\n", (1, 4)),
        ("toml", f"[a]\n{ALLOW}\nb = 1\nc = 2\n", (2, 3)),
        ("toml", f"{ALLOW}\n[[a]]\nb = 1\n[[a]]\nb = 2\n", (1, 3)),
        ("toml", f"[a]\n{ALLOW}\n[a.b]\nc = 1\nd = 2", (2, 5)),
        ("toml", f"a = [\n{ALLOW}\n  [1,\n  2],\n  [3]]\n[b]\nc = 1\n", (2, 4)),
        ("text", f"{ALLOW}\na slots=8\nb slots=8\n", (1, 2)),
        ("text", f"{ALLOW}\n\n# x\na slots=8", (1, 4)),
        ("text", f"a slots=8\n{ALLOW}\n\n", (2, 2)),
        ("text", f"a slots=8 {ALLOW}\nb slots=8\n", (1, 1)),
        ("text", f"{ALLOW}\ntorchrun \\\n  --nnodes=2 \\\r\n  train.py\nwait\n", (1, 4)),
        ("text", f"{ALLOW}\ntorchrun \\", (1, 2)),
    ],
)
def test_lines(form: str, text: str, expected: tuple[int, int]) -> None:
    assert lines(form, text) == [expected]


def outcome(form: str, text: str, mark: str, code: str, *silent: str) -> tuple[bool, list[str]]:
    """Whether what is found at a mark is left, and the codes of the complaints."""
    found = tree(form, text)
    name, severity = RULES[code]
    at = text.index(mark)
    fault = Diagnostic("x", Label(Span(found.source, at, at + 1)), code=code, name=name, severity=severity)
    layouts = {found.source: Layout(found, frozenset(silent))}
    result = suppress((fault,), (found.source,), lambda: RULES, layouts)
    return bool(result.diagnostics), [complaint.code for complaint in result.faults]


@pytest.mark.parametrize(
    ("text", "mark", "code", "expected"),
    [
        ("a: 1 # planc: allow unknown-key -- our fork\n", "a", "PLN062", (False, [])),
        ("# planc: allow PLN062 -- our fork\na:\n  b: 1\n", "b", "PLN062", (False, [])),
        ("a: 1 # planc: allow unknown-key\n", "a", "PLN062", (False, ["PLN056"])),
        ("a: 1 # planc: allow unknown-kex -- x\n", "a", "PLN062", (True, ["PLN057"])),
        ("a: 1 # planc: disable unknown-key\n", "a", "PLN062", (True, ["PLN055"])),
        ("a: 1 # planc: allow wrong-value -- x\n", "a", "PLN062", (True, ["PLN058"])),
        ("a: 1 # planc: allow unreadable-file -- x\n", "a", "PLN060", (True, ["PLN057"])),
        ("a: 1 # no # planc: allow unknown-key -- x\n", "a", "PLN062", (True, ["PLN055"])),
        ("a: '# planc: allow unknown-key -- x'\n", "a", "PLN062", (True, [])),
    ],
)
def test_what_is_suppressed_and_what_is_wrong_with_the_comment(
    text: str, mark: str, code: str, expected: tuple[bool, list[str]]
) -> None:
    assert outcome("yaml", text, mark, code) == expected
    assert outcome("toml", text.replace(":\n  b: 1", ".b = 1").replace("a: ", "a = "), mark, code) == expected


def test_a_rule_that_stayed_silent_leaves_a_suppression_unused_without_a_word() -> None:
    text = "a: 1 # planc: allow indivisible-world-size -- x\n"
    assert outcome("yaml", text, "a", "PLN062") == (True, ["PLN058"])
    assert outcome("yaml", text, "a", "PLN062", "PLN101") == (True, [])
    assert outcome("yaml", text.replace("indivisible-world-size", "PLN101"), "a", "PLN062", "PLN101") == (True, [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a: 1  # planc: allow unknown-key -- x\nb: 2\n", "a: 1\nb: 2\n"),
        ("a:\n  # planc: allow unknown-key -- x\n  b: 2 # y\n", "a:\n  b: 2 # y\n"),
        ("a: 1 # planc: allow unknown-key, PLN063 -- x\n", None),
    ],
)
def test_what_is_unused_is_taken_out(text: str, left: str | None) -> None:
    found = tree("yaml", text)
    faults = suppress((), (found.source,), lambda: RULES, {found.source: Layout(found)}).faults
    assert faults
    mended = mend(found.source, faults, unsafe=False).text
    assert read("yaml", mended).roots  # type: ignore[union-attr]
    assert mended == left if left is not None else mended.startswith("a: 1 # planc: allow ")


@given(st.text(alphabet="ab:-[]{}'\"#, \n\r|>&*=", max_size=40), st.sampled_from(("yaml", "toml", "text")))
def test_any_text_has_comments_that_begin_with_the_mark(text: str, form: str) -> None:
    found = read(form, text)
    if isinstance(found, Broken):
        return
    layout = Layout(found)
    for comment in layout.comments():
        assert comment.text.startswith("#")
        assert "\n" not in comment.text
        assert comment.line <= layout.last_line(comment) <= text.count("\n") + 1


def test_a_text_of_another_layout_is_that_of_a_plan() -> None:
    source = Source("x.plan", "plan a {\n # planc: allow x-y -- why\n b { c = 1 }\n}\n")
    assert [(one.first, one.last) for one in suppressions(source)] == [(2, 3)]
    assert isinstance(tree("text", ""), Tree)
