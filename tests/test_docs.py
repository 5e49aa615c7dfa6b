"""Every page that `planc rule` shows: its parts are there, its example reports the fault, its remedy is clean."""

from __future__ import annotations

import re

import pytest

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.kinds import all_kinds
from planc.native import faults as native_faults
from planc.rules import all_rules
from tests.analysis import reported_of
from tests.rules.test_rules import assert_house_form

PARTS = ("Why", "Example", "Instead", "Fix", "Source", "Versions")
PAGES = {kind.code: kind for kind in all_kinds()}
RULES = {rule.code for rule in all_rules()}

#: Pages whose fault no single text shows, with the reason; their example is prose.
TOLD = {
    "PLN002": "a file over the size limit",
    "PLN004": "a file that is no text",
    "PLN023": "it takes two files",
    "PLN030": "reported by `compile` only",
    **dict.fromkeys(("PLN050", "PLN051", "PLN052"), "it takes a configuration"),
    **dict.fromkeys(("PLN854", "PLN855", "PLN856", "PLN857"), "it takes a checkpoint"),
    **{fault.code: "it takes a file of another tool" for fault in native_faults.FAULTS},
    **dict.fromkeys(("PLN040", "PLN041", "PLN042", "PLN043", "PLN044"), "it takes a model's file beside the plan"),
}


def parts(page: str) -> dict[str, str]:
    """The parts of a page by label; what stands before the first is the summary, under the empty label."""
    found, label = {"": ""}, ""
    for line in page.splitlines():
        match = re.match(rf"({'|'.join(PARTS)}):(.*)", line)
        if match:
            label, line = match[1], match[2]
        found[label] = f"{found.get(label, '')}{line}\n"
    return found


def plan_text(part: str) -> str | None:
    """The plan file in an example or remedy: its indented lines; None if the part is prose."""
    lines = part.strip("\n").splitlines()
    if not all(line.startswith("    ") or not line.strip() for line in lines):
        return None
    return "\n".join(line[4:] for line in lines) + "\n"


def told(diagnostic: Diagnostic, code: str) -> bool:
    """Whether an example has to account for a diagnostic: information is beside the point, unless it is the point."""
    return diagnostic.code == code or diagnostic.severity is not Severity.INFO


@pytest.mark.parametrize("code", PAGES)
def test_parts(code: str) -> None:
    page = PAGES[code].page
    found = parts(page)
    assert list(found) == ["", *PARTS]
    summary = found[""].strip()
    assert "\n" not in summary
    assert summary.endswith(".")
    for label in PARTS:
        assert found[label].strip(), f"{label}: is empty"
    assert page.isascii()
    assert max(len(line) for line in page.splitlines() if not line.startswith("    ")) <= 120


@pytest.mark.parametrize("code", PAGES)
def test_example_reports_the_code_and_no_other(code: str) -> None:
    text = plan_text(parts(PAGES[code].page)["Example"])
    if code in TOLD:
        assert text is None, f"{code} can be shown after all"
        return
    assert text is not None
    found = [diagnostic for diagnostic in reported_of(text) if told(diagnostic, code)]
    assert {diagnostic.code for diagnostic in found} == {code}
    assert {diagnostic.name for diagnostic in found} == {PAGES[code].name}
    if code in RULES:
        for diagnostic in found:
            assert_house_form(diagnostic)


@pytest.mark.parametrize("code", PAGES)
def test_instead_is_clean(code: str) -> None:
    text = plan_text(parts(PAGES[code].page)["Instead"])
    if text is None:
        assert code in TOLD
        return
    assert [found.code for found in reported_of(text) if told(found, code)] == []


@pytest.mark.parametrize("code", PAGES)
def test_names_state_the_fault(code: str) -> None:
    name = PAGES[code].name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
    assert not name.startswith(("check-", "no-", "validate-"))


def test_codes_and_names_are_unique() -> None:
    assert len({entry.name for entry in PAGES.values()}) == len(PAGES)
    assert all(re.fullmatch(r"PLN\d{3}", code) for code in PAGES)
