"""Every target has a page that says how it was proved, and the README leads to it."""

from __future__ import annotations

import re

import pytest

from planc.targets import load_target, target_names
from tests.compiling import ROOT, analysed, errors

PARTS = ("## How it was proved", "## Limits")
PAGES = sorted((ROOT / "docs" / "targets").glob("*.md"))


@pytest.mark.parametrize("name", target_names())
def test_the_page_of_a_target(name: str) -> None:
    page = (ROOT / "docs" / "targets" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n")
    assert page.isascii()
    assert [part for part in PARTS if f"\n{part}\n" not in page] == []
    versions = re.findall(r"\d+\.\d+(?:\.\d+)?", load_target(name).proved)
    assert not versions or any(version in page for version in versions), "the page names what was proved"
    assert f"docs/targets/{name}.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_page_is_of_a_target() -> None:
    assert sorted(page.stem for page in PAGES) == list(target_names())


def test_plans_on_the_pages_are_clean_and_emit_the_target() -> None:
    for page in PAGES:
        texts = re.findall(r"```planc\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        assert texts, f"{page.name} has no plan to copy"
        for text in texts:
            analysis = analysed(text)
            assert [found.message for found in errors(analysis)] == []
            assert any(plan.emits(page.stem) for plan in analysis.plans)
