"""Fixes: each mends what it says, changes the span that it must, and they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands.configuring import Configurations
from planc.commands.files import Files
from planc.commands.finding import analyse_all
from planc.commands.mending import mend_all
from planc.commands.settling import settle
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.reporting.configuration import Chosen
from planc.reporting.fixing import mend, repair_of
from planc.source import Source, Span
from tests.shared import ROOT

ALL = Chosen(min_severity=Severity.INFO)


def judged(sources: tuple[Source, ...], files: Files) -> tuple[Diagnostic, ...]:
    configurations = Configurations(files, use=False)
    found = analyse_all(sources, files, (), configurations.houses(sources), use_cache=False)
    return settle(found, sources, configurations, ALL).diagnostics


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
        unread = sum(each.code < "PLN010" for each in before)
        assert sum(each.code < "PLN010" for each in after) <= unread, fix.title
        files.replace(source, source.text)


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
