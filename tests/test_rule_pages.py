"""docs/rules/: a page for each kind of diagnostic, as this version has them."""

from __future__ import annotations

import re

from tests.rules.pages import FOLDER, pages


def test_the_pages_in_docs_are_those_of_this_version() -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    written = pages()
    assert set(found) == set(written), "`python -m tests.rules.pages` writes and removes pages"
    for name, text in written.items():
        assert found[name] == text, f"docs/rules/{name} is out of date: `python -m tests.rules.pages` writes it anew"


def test_the_pages_in_docs_lead_to_pages_that_there_are() -> None:
    for path in FOLDER.iterdir():
        text = path.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)]*)\)", re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.S | re.M)):
            assert (FOLDER / link).is_file(), f"{path.name} links to {link}"
