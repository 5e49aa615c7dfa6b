"""Every rule against its cases: a new case is a new file in `tests/rules/<code>/`.

`ok_*.plan` is clean under all rules. `err_*.plan` reports this code and no other, on every line that ends in
`# <- PLN101` and on no other line. The first line of each, a comment, says what it shows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.rules import all_rules
from tests.analysis import analysis_of_file, codes, faults

FOLDER = Path(__file__).parent
OK = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/ok_*.plan"))
ERR = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/err_*.plan"))
CODES = [rule.code for rule in all_rules()]


@pytest.mark.parametrize("name", OK)
def test_ok(name: str) -> None:
    analysis = analysis_of_file(FOLDER / name)
    assert analysis.plans or "model" in (FOLDER / name).read_text(encoding="utf-8"), "the case has nothing to judge"
    assert [(diagnostic.code, diagnostic.message) for diagnostic in faults(analysis)] == []


@pytest.mark.parametrize("name", ERR)
def test_err(name: str) -> None:
    code = Path(name).parent.name.upper()
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(f"# <- {code}")}
    assert marked, f"{name} marks no line with `# <- {code}`"
    analysis = analysis_of_file(FOLDER / name)
    assert set(codes(analysis)) == {code}
    found = faults(analysis)
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
    for diagnostic in faults(analysis_of_file(FOLDER / name)):
        assert_house_form(diagnostic)


def assert_house_form(diagnostic) -> None:
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
