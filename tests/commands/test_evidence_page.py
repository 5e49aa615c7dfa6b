"""docs/evidence.md is true: what it says to type works, and its tables name what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planc.commands import attest
from planc.resources import read_text
from tests.commands.cli import ROOT, environment
from tests.commands.evidence import fill

PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")


def rows(head: str) -> list[str]:
    """The first cells of the table below a head, with all that stands in backticks in them."""
    table = PAGE[PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    cells = re.findall(r"^\| (.*?) \|", table, re.M)[1:]
    return [name for cell in cells for name in re.findall(r"`([^` ]+)[^`]*`", cell)]


def test_what_it_says_to_type_works(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "ckpt").rename(tmp_path / "out" / "step_1000")
    for name in ("key.pem", "key.pub"):
        (tmp_path / name).unlink()
    planc = tmp_path / "bin" / "planc"
    planc.parent.mkdir()
    planc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planc "$@"\n')
    planc.chmod(0o755)
    block = PAGE[PAGE.index("## Make a record") :].split("```")[1]
    assert block.count("\nplanc ") == 2
    script = f'set -e; PATH="{planc.parent}:$PATH"\n{block}'
    shown = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (shown.returncode, shown.stdout.splitlines()[-1]) == (0, "Verified: what was checked is as recorded."), shown


def test_every_option_of_attest_is_in_the_table() -> None:
    options = {max(action.option_strings, key=len) for action in attest.parser()._actions if action.option_strings}
    assert set(rows("option of `attest`")) == options - {"--help", "--output", "--color"}


def test_every_key_of_the_predicate_is_in_the_table() -> None:
    schema = json.loads(read_text("schemas/evidence.schema.json"))
    assert set(rows("key")) == set(schema["properties"]["predicate"]["properties"])


def test_every_link_leads_somewhere() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", PAGE, re.M)}
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        if target.startswith("#"):
            assert target[1:] in headings, target
        elif not target.startswith("https://"):
            assert (ROOT / "docs" / target).exists(), target


@pytest.mark.parametrize("name", re.findall(r"`(schemas/[\w.]+)`", PAGE))
def test_every_schema_is_there(name: str) -> None:
    assert read_text(name)


def test_the_page_is_plain_text() -> None:
    assert PAGE.isascii()
    assert [line for line in PAGE.splitlines() if 120 < len(line) and not line.startswith("|")] == []
