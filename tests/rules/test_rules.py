"""Every rule against its cases: a new case is a new file in `tests/rules/<code>/`.

`ok_*.plan` is clean under all rules. `err_*.plan` reports this code and no other, on every line that ends in
`# <- PLN101` and on no other line. The first line of each, a comment, says what it shows.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Diagnostic, Fix, Severity
from planc.rules import all_rules
from tests.analysis import analysis_of, analysis_of_file, faults

FOLDER = Path(__file__).parent
OK = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/ok_*.plan"))
ERR = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/err_*.plan"))
CODES = [rule.code for rule in all_rules()]


@pytest.mark.parametrize("name", OK)
def test_ok(name: str) -> None:
    analysis = analysis_of_file(FOLDER / name)
    assert analysis.plans or "model" in (FOLDER / name).read_text(encoding="utf-8"), "the case has nothing to judge"
    assert [(diagnostic.code, diagnostic.message) for diagnostic in faults(analysis)] == []


def reported(name: str) -> list[Diagnostic]:
    """What is said of a failing case; advice only where the case is about it."""
    analysis, code = analysis_of_file(FOLDER / name), Path(name).parent.name.upper()
    loud = faults(analysis)
    return [diagnostic for diagnostic in analysis.diagnostics if diagnostic in loud or diagnostic.code == code]


@pytest.mark.parametrize("name", ERR)
def test_err(name: str) -> None:
    code = Path(name).parent.name.upper()
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(f"# <- {code}")}
    assert marked, f"{name} marks no line with `# <- {code}`"
    found = reported(name)
    assert {diagnostic.code for diagnostic in found} == {code}
    assert {diagnostic.primary.span.line for diagnostic in found} == marked
    assert len(found) == len(marked), "one cause, one diagnostic"


@pytest.mark.parametrize("name", [*OK, *ERR])
def test_the_first_line_says_what_a_case_shows(name: str) -> None:
    first = (FOLDER / name).read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# ")
    assert 3 < len(first.split())


@pytest.mark.parametrize("code", CODES)
def test_each_rule_has_both_kinds_of_case(code: str) -> None:
    folders = [Path(name).parent.name.upper() for name in (*OK, *ERR)]
    assert code in {Path(name).parent.name.upper() for name in OK}, "no ok_*.plan"
    assert code in {Path(name).parent.name.upper() for name in ERR}, "no err_*.plan"
    assert set(folders) <= set(CODES), "cases of a rule that does not exist"


@pytest.mark.parametrize("name", ERR)
def test_the_house_form_of_diagnostics(name: str) -> None:
    for diagnostic in reported(name):
        assert_house_form(diagnostic)


def assert_house_form(diagnostic: Diagnostic) -> None:
    """What STYLE asks of every diagnostic: a short message without advice, numbers, help that can be acted upon."""
    message = diagnostic.message
    assert len(message.split()) <= 12, message
    assert (
        message[0].islower() or message[0] in "`" or message[0].isdigit() or message.startswith(("DeepSpeed", "ZeRO"))
    )
    assert not message.endswith(".")
    assert diagnostic.primary.text, "the primary label holds the arithmetic"
    texts = [message, diagnostic.primary.text, *(label.text for label in diagnostic.related), *diagnostic.help]
    for text in (*texts, *diagnostic.notes):
        assert text.isascii(), text
        assert "\n" not in text
        for word in ("invalid", "illegal", "please", "must be"):
            assert word not in text.lower(), text
        assert text.count("`") % 2 == 0, text
    primary = diagnostic.primary.span
    assert primary.end > primary.start
    assert "\n" not in primary.text


def changes(text: str) -> list[dict[str, str]]:
    """What a line of help proposes: each a set of fields to write together."""
    fields = re.findall(r"`(\w+) = ([^`]+)`", text)
    if not fields:
        return []
    together = " and " in text and "nearest" not in text and len({name for name, _ in fields}) == len(fields)
    return [dict(fields)] if together else [{name: value} for name, value in fields]


def changed(diagnostic: Diagnostic, change: dict[str, str]) -> str | None:
    """The text of the case with the fields set that a label shows; None if one of them stands nowhere yet."""
    source = diagnostic.primary.span.source
    entries = [label.span for label in (diagnostic.primary, *diagnostic.related) if label.span.source is source]
    edits = []
    for name, value in change.items():
        places = [span.start + at for span in entries for at in starts(name, span.text)]
        if not places:
            return None
        edits.append((places[0], name, value))
    text = source.text
    for start, name, value in sorted(edits, reverse=True):
        old = rf'^{name}\s*=\s*(\[[^\]]*\]|"[^"]*"|[\w.]+( (tokens|steps|samples|epochs|h|min|s))?)'
        rest = re.sub(old, f"{name} = {value}", text[start:])
        text = text[:start] + rest
    return text


def starts(name: str, text: str) -> list[int]:
    return [match.start() for match in re.finditer(rf"(?<![\w-]){name}\s*=", text)]


@pytest.mark.parametrize("name", ERR)
def test_help_names_values_that_work(name: str) -> None:
    for diagnostic in faults(analysis_of_file(FOLDER / name)):
        for change in (change for text in diagnostic.help for change in changes(text)):
            text = changed(diagnostic, change)
            if text is not None:
                # A batch that can be reached at last may still leave the choice of the micro batch open (PLN205).
                left = [(fault.code, fault.message) for fault in faults(analysis_of(text)) if fault.code != "PLN205"]
                assert left == [], f"{change} leaves {left}"


def mended(fix: Fix) -> str:
    """The text of the case with a fix applied."""
    text = fix.edits[0].span.source.text
    for edit in sorted(fix.edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


@pytest.mark.parametrize("name", ERR)
def test_fixes_mend(name: str) -> None:
    """Each by itself: what it was offered for is gone, unless the case has the same fault in other places."""
    found = faults(analysis_of_file(FOLDER / name))
    for diagnostic in found:
        others = Counter(fault.code for fault in found)[diagnostic.code] - 1
        for fix in diagnostic.fixes:
            left = Counter(fault.code for fault in faults(analysis_of(mended(fix))))
            assert left[diagnostic.code] <= others, fix.title
            assert all(code < "PLN010" or "PLN012" < code for code in left), fix.title


def test_most_rules_propose_what_can_be_tried() -> None:
    tried = {
        diagnostic.code
        for name in ERR
        for diagnostic in faults(analysis_of_file(FOLDER / name))
        if diagnostic.fixes
        or any(changed(diagnostic, change) is not None for text in diagnostic.help for change in changes(text))
    }
    rules = [rule for rule in all_rules() if rule.severity is not Severity.INFO]  # advice need not be a value
    assert 0.9 * len(rules) <= len(tried), {rule.code for rule in rules} - tried
