"""docs/native.md is true: its files are what its commands read, and the commands print what stands below them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from planc.native.kinds import kind_names
from tests.commands.cli import ROOT
from tests.test_readme import matches, printed, sessions_of

PAGE = (ROOT / "docs" / "native.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE, re.S | re.M)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, in which `planc` is this checkout's."""
    (tmp_path / "bin").mkdir()
    planc = tmp_path / "bin" / "planc"
    planc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planc "$@"\n')
    planc.chmod(0o755)
    for name, text in FILES:
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_commands_print_what_stands_below_them(folder: Path) -> None:
    assert [name for name, _ in FILES] == ["ds_config.json", "args.yaml"]
    for command, expected in sessions_of(PAGE):
        outcome = printed(folder, command)
        assert matches(expected, outcome.stdout), f"{command}\n{outcome.stdout}{outcome.stderr}"


def test_every_kind_is_listed() -> None:
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \| ", PAGE, re.M)
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} >= set(kind_names())
