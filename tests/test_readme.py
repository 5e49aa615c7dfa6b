"""README.md is true: its plan is the example, and its commands print what stands below them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from tests.analysis import reported_of
from tests.commands.cli import ROOT, environment

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks_of(text: str) -> list[tuple[str, str]]:
    """The blocks of code of a page, each with its language."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.S | re.M)


def sessions_of(text: str) -> list[tuple[str, str]]:
    """Each command of a page with the output below it."""
    consoles = (code for kind, code in blocks_of(text) if kind == "console")
    found = (match for code in consoles for match in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code, re.M))
    return [(match[1], match[2]) for match in found]


BLOCKS = blocks_of(README)
SESSIONS = sessions_of(README)
INSTALL = "python3 -m pip install ."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the examples, in which `planc` is this checkout's."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "bin").mkdir()
    planc = tmp_path / "bin" / "planc"
    planc.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planc "$@"\n')
    planc.chmod(0o755)
    return tmp_path


def matches(expected: str, printed: str) -> bool:
    """Whether the text was printed; `...` stands for anything, as at the end of a line or for several lines."""
    pattern = ".*?".join(re.escape(part) for part in re.split(r"\.\.\.", expected))
    return re.fullmatch(pattern, printed, re.S) is not None


def test_the_plan_is_the_example() -> None:
    first, *others = [text for kind, text in BLOCKS if kind == "planc"]
    assert first == (ROOT / "examples" / "finetune-8b.plan").read_text()
    assert others
    for text in others:
        assert [found.code for found in reported_of(text) if found.severity is not Severity.INFO] == [], text


def printed(checkout: Path, command: str) -> subprocess.CompletedProcess[str]:
    """The outcome of a command of a page."""
    path = f"{checkout / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command], cwd=checkout, env=environment(PATH=path), capture_output=True, text=True, check=False
    )


def test_the_commands_print_what_stands_below_them(checkout: Path) -> None:
    commands = [command for command, _ in SESSIONS]
    assert commands[0] == INSTALL  # `test_wheel.py` installs
    assert {command.split()[1] for command in commands[1:]} >= {"lint", "compile", "explain", "rule", "targets"}
    for command, expected in SESSIONS[1:]:
        outcome = printed(checkout, command)
        assert matches(expected, outcome.stdout), f"{command}\n{outcome.stdout}{outcome.stderr}"


@pytest.mark.parametrize("name", ["diff.md", "explain.md"])
def test_the_pages_of_commands_do_so_too(checkout: Path, name: str) -> None:
    found = sessions_of((ROOT / "docs" / name).read_text(encoding="utf-8"))
    assert found
    for command, expected in found:
        outcome = printed(checkout, command)
        assert matches(expected, outcome.stdout), f"{command}\n{outcome.stdout}{outcome.stderr}"


def test_the_match_is_strict() -> None:
    assert matches("a\n...\nz\n", "a\nb\nc\nz\n")
    assert not matches("a\nz\n", "a\nb\nz\n")
    assert not matches("a\n...\ny\n", "a\nb\nz\n")


def test_what_it_names_is_there() -> None:
    for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+|[A-Z]+\.md|\.ci/run)`", README):
        assert name.startswith("build/") or (ROOT / name).exists(), name
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([\w-]+)`", README):
        assert f"\n{target}: " in makefile
