"""Suppressions: which lines a comment speaks for, and what is said of comments that are of no use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.kinds import known_rules
from planc.reporting.fixing import mend
from planc.reporting.suppressions import allowance, suppress, suppressions
from planc.source import Source, Span

RULES = known_rules()


def lines(text: str) -> list[tuple[str, str, int, int]]:
    """Name, reason, first and last line of each suppression."""
    found = suppressions(Source("x.plan", text))
    return [(one.name.text, one.reason, one.first, one.last) for one in found]


def outcome(
    text: str, *marks: str, code: str = "PLN101", name: str = "indivisible-world-size"
) -> tuple[list[str], list[str]]:
    """What is left of a diagnostic of a kind at each mark in a text, and the codes of the complaints."""
    source = Source("x.plan", text)
    found = [
        Diagnostic(mark, Label(Span(source, text.index(mark), text.index(mark) + 1)), code=code, name=name)
        for mark in marks
    ]
    result = suppress(found, (source,), lambda: RULES)
    return [left.message for left in result.diagnostics], [complaint.code for complaint in result.faults]


BLOCK = """\
# planc: allow indivisible-world-size -- half a node
plan a {
  one = 1
  two { x = [
    3 ] }
}
plan b { four = 4 }
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1  # planc: allow x-y -- why\nb = 2\n", [("x-y", "why", 1, 1)]),
        ("# planc: allow x-y -- why\na = 1\nb = 2\n", [("x-y", "why", 1, 2)]),
        (
            "# planc: allow x-y, PLN101 -- why not\n\n# other\na {\n b = 1\n}\nc = 2",
            [("x-y", "why not", 1, 6), ("PLN101", "why not", 1, 6)],
        ),
        ("a {\n  # planc: allow x-y -- why\n}\nb = 2", [("x-y", "why", 2, 2)]),
        ("#planc:allow x-y--why\na = 1\n", [("x-y--why", "", 1, 2)]),
        ("## PLANC : allow x-y -- why\na = [\n1,\n2]\nb = 1", [("x-y", "why", 1, 4)]),
        ('a = "# planc: allow x-y -- why"\n', []),
        ('a = "\\" # planc: allow x-y"  # planc: allow z-z -- "quoted" # twice\n', [("z-z", '"quoted" # twice', 1, 1)]),
        ("# about planc: it allows much\n", []),
        ("# planc: allow x-y -- why", [("x-y", "why", 1, 1)]),
        ("# planc: allow x-y --\na = 1", [("x-y", "", 1, 2)]),
        ("# planc: allow x-y -- why\na { b = 1\n", [("x-y", "why", 1, 2)]),
        ("# planc: allow x-y -- why\r\na { b = 1\r\n}\r\nc = 1\r\n", [("x-y", "why", 1, 3)]),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[tuple[str, str, int, int]]) -> None:
    assert lines(text) == expected


def test_a_block_and_no_more() -> None:
    assert outcome(BLOCK, "one", "two", "3", "four") == (["four"], [])
    assert outcome(BLOCK, "one", code="PLN201", name="x-y") == (["one"], ["PLN058"])


def test_a_line_and_no_more() -> None:
    text = BLOCK.replace("# planc: allow indivisible-world-size -- half a node\n", "").replace(
        "one = 1", "one = 1  # planc: allow PLN101 -- half a node"
    )
    assert outcome(text, "one", "two") == (["two"], [])


def test_a_policy_is_named_by_its_rule() -> None:
    for name in ("house.fabric", "house.*"):
        text = f"# planc: allow {name} -- agreed\nplan a {{ b = 1 }}\n"
        source = Source("x.plan", text)
        at = Label(Span(source, text.index("b"), text.index("b") + 1))
        found = Diagnostic("policy `house.fabric` forbids `x`", at, code="PLN090", name="broken-policy")
        assert suppress((found,), (source,), lambda: RULES)[::2] == ((), ())
        other = found._replace(message="policy `lab.fabric` forbids `x`")
        assert [each.code for each in suppress((other,), (source,), lambda: RULES).faults] == ["PLN058"]


def test_errors_of_the_language_stay() -> None:
    text = "# planc: allow PLN012 -- later\nplan a { b = 1 }\n"
    assert outcome(text, "b", code="PLN012", name="missing-field") == (["b"], ["PLN057"])
    advice = "# planc: allow decimal-suffix -- thousands\nplan a { b = 1 }\n"
    source = Source("x.plan", advice)
    at = Label(Span(source, advice.index("b"), advice.index("b") + 1))
    found = Diagnostic("x", at, code="PLN036", name="decimal-suffix", severity=Severity.INFO)
    assert suppress((found,), (source,), lambda: RULES)[::2] == ((), ())


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# planc: allow PLN101", ["PLN056"]),
        ("# planc: allow PLN101 --", ["PLN056"]),
        ("# planc: allow PLN101, PLN102 --", ["PLN056"]),
        ("# planc: allow indivisible-wold-size -- x", ["PLN057"]),
        ("# planc: allow PLN1 -- x", ["PLN057"]),
        ("# planc: allow PLN203 -- x", ["PLN058"]),
        ("# planc: allow", ["PLN055"]),
        ("# planc: ignore PLN101 -- x", ["PLN055"]),
        ("# planc: allow PLN101 because x", ["PLN055"]),
        ("# note # planc: allow PLN101 -- x", ["PLN055"]),
        ("# planc: allow PLN203 -- x # planc: allow PLN101 -- y", ["PLN055", "PLN058"]),
        ("# about # planc: the tool", []),
        ("# planc: allow house.fabric -- x", ["PLN058"]),
    ],
)
def test_complaints(comment: str, codes: list[str]) -> None:
    assert outcome(f"plan a {{ b = 1 }} {comment}\n")[1] == codes


def test_what_no_rule_could_judge_is_not_called_unused() -> None:
    text = "# planc: allow PLN501 -- one tray\nplan a { b = 1 }\n"
    assert outcome(text, "b")[1] == ["PLN058"]
    assert outcome(text, "b", code="PLN012", name="missing-field") == (["b"], [])


def test_a_library_is_not_told_that_it_suppresses_nothing() -> None:
    text = "# planc: allow PLN501 -- one tray\ncluster c { nodes = 1 }\n"
    assert outcome(text) == ([], [])
    assert outcome(text.replace("PLN501", "PLN51"))[1] == ["PLN057"]


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("plan a {\n  b = 1  # planc: allow PLN203 -- x\n}\n", "plan a {\n  b = 1\n}\n"),
        ("  # planc: allow PLN203 -- x\nplan a { }\n", "plan a { }\n"),
        ("plan a { }\n# planc: allow PLN203 -- x", "plan a { }\n"),
        ("# planc: allow PLN203, PLN202 -- x\nplan a { }\n", "plan a { }\n"),
        ("# planc: allow PLN101 , PLN202 -- x\nplan a { b = 1 }\n", "# planc: allow PLN101 -- x\nplan a { b = 1 }\n"),
        ("# planc: allow PLN202, PLN101 -- x\nplan a { b = 1 }\n", "# planc: allow PLN101 -- x\nplan a { b = 1 }\n"),
    ],
)
def test_what_is_of_no_use_is_removed(text: str, mended: str) -> None:
    for _ in range(3):
        source = Source("x.plan", text)
        at = Label(Span(source, text.index("b = 1"), len(text))) if "b = 1" in text and "PLN101" in text else None
        found = [Diagnostic("m", at, code="PLN101", name="indivisible-world-size")] if at else []
        text = mend(source, suppress(found, (source,), lambda: RULES).faults, unsafe=False).text
    assert text == mended


@given(st.text(alphabet='# planc:allow-,\n{}[]"\\xPLN101', max_size=80))
def test_any_text_is_answered(text: str) -> None:
    source = Source("x.plan", text)
    count = text.count("\n") + 1
    assert all(1 <= one.first <= one.last <= count for one in suppressions(source))
    suppress((), (source,), lambda: RULES)


def at(text: str, mark: str, severity: Severity = Severity.ERROR, code: str = "PLN101") -> Diagnostic:
    """A diagnostic at a mark in a text."""
    start = text.index(mark)
    label = Label(Span(Source("x.plan", text), start, start + len(mark)))
    return Diagnostic("a fault", label, severity=severity, code=code, name="indivisible-world-size")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 2  # planc: allow indivisible-world-size -- \n"),
        ("b = 2", "b = 2  # planc: allow indivisible-world-size -- "),
        ("b = 2 \t\r\nc = 1\r\n", "b = 2  # planc: allow indivisible-world-size -- \r\nc = 1\r\n"),
        ('b = 2 c = "#" ', 'b = 2 c = "#"  # planc: allow indivisible-world-size -- '),
    ],
)
def test_a_comment_that_allows_what_was_found(text: str, expected: str) -> None:
    found = at(text, "b = 2")
    fix = allowance(found)
    assert fix is not None and not fix.safe
    (edit,) = fix.edits
    written = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert (fix.title, written) == ("allow `indivisible-world-size` here, with a reason", expected)
    assert outcome(written, "b = 2") == ([], ["PLN056"])  # which asks for the reason
    assert outcome(written.replace(" -- ", " -- a test"), "b = 2") == ([], [])


def test_what_no_comment_can_allow() -> None:
    for text in ("b = 2 # why", "b = 2 # planc: allow x -- y", 'b = 2 "open', "b = 2 'x' \" #"):
        assert allowance(at(text, "b = 2")) is None
    assert allowance(at("a = 1\n\n", "\n\n"[1:])) is not None  # the end of the first line
    assert allowance(at(" \t\n", "\t")) is None
    assert allowance(at("b = 2", "b", Severity.INFO)) is None
    assert allowance(at("b = 2", "b", Severity.ERROR, "PLN010")) is None
    assert allowance(at("b = 2", "b", Severity.WARNING, "PLN010")) is not None


@pytest.mark.parametrize(("rule", "name"), [("house.fabric", "house.fabric"), ("my house.x", "broken-policy")])
def test_a_rule_of_a_policy_is_allowed_by_its_own_name(rule: str, name: str) -> None:
    found = at("b = 2", "b")._replace(message=f"policy `{rule}` forbids `x`", code="PLN090", name="broken-policy")
    fix = allowance(found)
    assert fix is not None and fix.edits[0].text == f"  # planc: allow {name} -- "
