"""Fixes: each mends what it says, changes the span that it must, and they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands.configuring import Configurations
from planc.commands.files import Files
from planc.commands.finding import analyse_all
from planc.commands.mending import mend_all
from planc.commands.settling import settle
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.reporting.configuration import Chosen
from planc.reporting.fixing import mend, repair_of
from planc.rules import all_rules
from planc.source import Source, Span
from tests.shared import ROOT

ALL = Chosen(min_severity=Severity.INFO)


def judged(sources: tuple[Source, ...], files: Files) -> tuple[Diagnostic, ...]:
    configurations = Configurations(files, use=False)
    found = analyse_all(sources, files, (), configurations.houses(sources), use_cache=False)
    return settle(found, sources, configurations, ALL, ()).diagnostics


def with_fixes() -> list[tuple[str, int]]:
    """Each case of a fault, and each diagnostic of it (by its place in the order) that has a fix."""
    found = []
    for path in sorted((*ROOT.glob("tests/wrong/*.plan"), *ROOT.glob("tests/rules/*/err_*.plan"))):
        files = Files()
        source = files.read(str(path))
        if isinstance(source, Source):
            diagnostics = judged((source,), files)
            name = path.relative_to(ROOT).as_posix()
            found.extend((name, at) for at, each in enumerate(diagnostics) if each.fixes)
    return found


CASES = with_fixes()
RULES = {rule.code for rule in all_rules()}


@pytest.mark.parametrize(("name", "at"), CASES)
def test_a_fix_mends_its_fault_and_brings_no_other_error_of_the_text(name: str, at: int) -> None:
    files = Files()
    source = files.read(str(ROOT / name))
    assert isinstance(source, Source)
    before = judged((source,), files)
    found = before[at]
    for fix in found.fixes:
        alone = found._replace(fixes=(fix,))
        text = mend(source, (alone,), unsafe=True).text
        assert text != source.text, "the fix changes nothing"
        touched = [edit.span for edit in fix.edits]
        assert all(span.source is source for span in touched)
        after = judged((files.replace(source, text),), files)
        key = (found.code, found.message, found.primary.text)
        assert count(after, key) < count(before, key), fix.title
        if found.code in RULES:
            assert num_of(after, found.code) < num_of(before, found.code), f"{fix.title}: the rule still reports it"
        unread = sum(each.code < "PLN010" for each in before)
        assert sum(each.code < "PLN010" for each in after) <= unread, fix.title
        files.replace(source, source.text)


def num_of(diagnostics: tuple[Diagnostic, ...], code: str) -> int:
    return sum(each.code == code for each in diagnostics)


def count(diagnostics: tuple[Diagnostic, ...], key: tuple[str, str, str]) -> int:
    return sum((each.code, each.message, each.primary.text) == key for each in diagnostics)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
@pytest.mark.parametrize("unsafe", [False, True])
def test_all_fixes_together_end_and_leave_comments_alone(name: str, unsafe: bool) -> None:
    files = Files()
    source = files.read(str(ROOT / name))
    assert isinstance(source, Source)
    mended = mend_all((source,), files, lambda sources: judged(sources, files), unsafe)
    assert all(
        repair_of(found, unsafe) is None for found in mended.diagnostics if found.primary.span.source in mended.sources
    )
    again = mend_all(mended.sources, files, lambda sources: judged(sources, files), unsafe)
    assert again.applied == ()


def diagnostic(source: Source, *fixes: Fix) -> Diagnostic:
    return Diagnostic("m", Label(Span(source, 0, 1)), fixes=fixes, code="PLN101")


def edit(source: Source, start: int, end: int, text: str) -> Edit:
    return Edit(Span(source, start, end), text)


def test_of_equally_right_repairs_none_is_applied() -> None:
    source = Source("x", "abc")
    one, other = (Fix(text, (edit(source, 0, 1, text),), safe=True) for text in "xy")
    assert repair_of(diagnostic(source, one, other), unsafe=True) is None
    assert repair_of(diagnostic(source, one, other._replace(safe=False)), unsafe=True) == one
    assert repair_of(diagnostic(source, one._replace(safe=False)), unsafe=False) is None


@pytest.mark.parametrize(
    ("first", "second", "text", "num_applied"),
    [
        ((0, 2, "X"), (1, 3, "Y"), "Xcdef", 1),
        ((0, 2, "X"), (2, 3, "Y"), "XYdef", 2),
        ((1, 1, "X"), (1, 1, "Y"), "aXbcdef", 1),
        ((1, 1, "X"), (1, 1, "X"), "aXbcdef", 2),
        ((2, 4, ""), (0, 2, ""), "ef", 2),
        ((0, 6, "X"), (3, 3, "Y"), "X", 1),
    ],
)
def test_fixes_that_overlap_take_turns(
    first: tuple[int, int, str], second: tuple[int, int, str], text: str, num_applied: int
) -> None:
    source = Source("x", "abcdef")
    found = [diagnostic(source, Fix("f", (edit(source, *each),), safe=True)) for each in (first, second)]
    mended = mend(source, found, unsafe=False)
    assert (mended.text, len(mended.applied)) == (text, num_applied)


def test_a_fix_of_another_file_is_left_alone() -> None:
    source, other = Source("x", "abc"), Source("y", "abc")
    fix = Fix("f", (edit(source, 0, 1, ""), edit(other, 0, 1, "")), safe=True)
    assert mend(source, [diagnostic(source, fix)], unsafe=False).text == "abc"


def test_a_fix_that_makes_a_text_worse_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text("ab")
    files = Files()
    source = files.read(str(path))
    assert isinstance(source, Source)

    def judge(sources: tuple[Source, ...]) -> tuple[Diagnostic, ...]:
        (now,) = sources
        if now.text != "ab":
            return (diagnostic(now)._replace(code="PLN001"),)
        return (diagnostic(now, Fix("f", (edit(now, 0, 1, ""),), safe=True)),)

    mended = mend_all((source,), files, judge, unsafe=False)
    assert mended.applied == () and mended.sources[0].text == "ab"


def test_fixes_that_undo_each_other_end(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text("a")
    files = Files()
    source = files.read(str(path))
    assert isinstance(source, Source)

    def judge(sources: tuple[Source, ...]) -> tuple[Diagnostic, ...]:
        (now,) = sources
        other = {"a": "b", "b": "a"}[now.text]
        return (diagnostic(now, Fix("f", (edit(now, 0, 1, other),), safe=True)),)

    assert mend_all((source,), files, judge, unsafe=False).sources[0].text in "ab"


@pytest.mark.parametrize(
    ("entries", "titles"),
    [
        ("parallel { tensor = 16 }", ["write `tensor = 8` and `pipeline = 2`"]),
        ("parallel { tensor = 16  pipeline = 1 }", ["write `tensor = 8` and `pipeline = 2`"]),
        ("parallel {\n  tensor = 16\n}", []),  # no place for `pipeline`
        ("parallel { tensor = 16 }  pipeline = interleaved { chunks = 2 }", ["write `tensor = 8` and `pipeline = 2`"]),
        ("parallel { tensor = cluster.nodes * 8 }", ["write `tensor = 8` and `pipeline = 2`"]),
        ("parallel { tensor in [16] }", []),  # what is chosen is not written
    ],
)
def test_a_value_is_written_where_the_plan_has_a_place_for_it(entries: str, titles: list[str]) -> None:
    assert titles_of(PLAN.replace("ENTRIES", entries)) == titles


def test_a_value_that_stands_elsewhere_is_left_alone() -> None:
    inherited = PLAN.replace("plan run", "template base").replace("ENTRIES", "parallel { tensor = 16  pipeline = 1 }")
    assert titles_of(f"{inherited}plan run from base {{ }}\n") == []
    own = f"{inherited}plan run from base {{ parallel {{ sequence = false }} }}\n"
    assert titles_of(own) == ["write `tensor = 8` and `pipeline = 2`"]
    assert titles_of(PLAN.replace("ENTRIES", "parallel { tensor = 2 }"), "parallel.tensor=16") == []


PLAN = """\
gpu card { memory = 640 GiB  bf16 = true }
cluster two { gpu = card  nodes = 2  gpus_per_node = 8 }
model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
plan run {
  model = small  cluster = two  precision = bf16  batch { global = 64  micro = 1 }
  ENTRIES
}
"""


def titles_of(text: str, *settings: str) -> list[str]:
    found = analyse((Source("a.plan", text),), lambda name, user: "none", settings).diagnostics
    (crossing,) = (each for each in found if each.code == "PLN501")
    return [fix.title for fix in crossing.fixes]
