"""The extension for VS Code: it is built and packed, and its client starts, restarts and stops the real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

import pytest

from planc.version import VERSION
from tests.commands.cli import BROKEN, environment
from tests.shared import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(node: Path) -> Path:
    """The extension's folder, after its types were checked and it was built."""
    for script in ("check", "build"):
        outcome = subprocess.run(["npm", "run", script], cwd=node, capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return node


class Window:
    """A stand-in for VS Code with one plan open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def does(self, line: str) -> None:
        """What the user does: `restart`, `trust`, or a new value of `planc.command`."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def shows(self, kind: str) -> list[Any]:
        """What comes next of one kind; the rest of the line that the stand-in writes."""
        passed = []
        while True:
            try:
                words = json.loads(self._lines.get(timeout=60))
            except Empty:
                raise AssertionError(f"no {kind}, only {passed}") from None
            if words[0] == kind and (words[1:] or kind != "diagnostics"):
                return list(words[1:])
            passed.append(words)

    def closes(self) -> None:
        """The window is closed; everything that it started ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.shows("stopped")
        assert self._process.wait(timeout=60) == 0

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)


@contextmanager
def window(built: Path, folder: Path, trust: str, *command: str) -> Iterator[Window]:
    """A window on a folder with a plan that has one fault."""
    pytest.importorskip("pygls", reason="pygls, which the server needs, is not installed")
    plan = folder / "a.plan"
    plan.write_text(BROKEN)
    program = folder / "programs" / "planc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho started >> starts\nexec "{sys.executable}" -m planc "$@"\n')
    program.chmod(0o755)
    process = subprocess.Popen(
        ["node", built / "test" / "client.cjs", built / "dist" / "extension.js", plan, trust, *command],
        cwd=folder, env=environment(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}"), text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Window(process)
    finally:
        process.kill()
        process.wait()


def test_the_server_is_started_anew_and_stopped(built: Path, tmp_path: Path) -> None:
    with window(built, tmp_path, "trusted", "planc", "lsp") as opened:
        assert "PLN010" in opened.shows("diagnostics")
        opened.does("restart")
        assert "PLN010" in opened.shows("diagnostics")
        opened.closes()
    assert (tmp_path / "starts").read_text() == "started\n" * 2


def test_nothing_is_started_in_a_folder_without_trust(built: Path, tmp_path: Path) -> None:
    with window(built, tmp_path, "untrusted", "planc", "lsp") as opened:
        opened.shows("active")
        opened.does("restart")
        opened.shows("done")
        assert not (tmp_path / "starts").exists()
        opened.does("trust")
        assert "PLN010" in opened.shows("diagnostics")
        opened.closes()


def test_a_command_that_cannot_be_started_is_said_and_can_be_set(built: Path, tmp_path: Path) -> None:
    with window(built, tmp_path, "trusted", "no-such-program") as opened:
        assert "no-such-program" in opened.shows("error")[0]
        assert "pip install" in opened.shows("error")[0]
        opened.does('["programs/planc", "lsp"]')
        assert "PLN010" in opened.shows("diagnostics")
        opened.does("[]")
        assert "is empty" in opened.shows("error")[0]
        opened.closes()


def test_it_is_packed_with_what_it_needs_and_nothing_else(built: Path, tmp_path: Path) -> None:
    outcome = subprocess.run(
        ["npm", "run", "package", "--", "--out", tmp_path / "planc.vsix"],
        cwd=built, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    names = {name.removeprefix("extension/") for name in zipfile.ZipFile(tmp_path / "planc.vsix").namelist()}
    description = json.loads((built / "package.json").read_text(encoding="utf-8"))
    [language], [grammar] = (description["contributes"][key] for key in ("languages", "grammars"))
    needed = {path.removeprefix("./") for path in (description["main"], language["configuration"], grammar["path"])}
    others = {"package.json", "readme.md", "LICENSE.txt", "extension.vsixmanifest", "[Content_Types].xml"}
    assert names == needed | others


def test_it_is_of_the_version_and_licence_of_planc(node: Path) -> None:
    description = json.loads((node / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((node / "package-lock.json").read_text(encoding="utf-8"))
    assert description["version"] == locked["version"] == locked["packages"][""]["version"] == VERSION
    assert (node / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    ("line", "deeper"),
    [
        ("plan a {", True),
        ("  env {   # more {", True),
        ("  emit = [", True),
        ("model b { }  plan c {", True),
        ('  args = ["{", "a"]', False),
        ("  shard { stage = 3 }", False),
        ("  emit = [slurm, torchrun]", False),
        ('  script = "{"', False),
        ("  # plan a {", False),
        ("  nodes = 3", False),
    ],
)
def test_the_next_line_is_indented_behind_an_open_bracket(line: str, deeper: bool) -> None:
    configuration = json.loads((ROOT / "editors" / "vscode" / "language-configuration.json").read_text())
    rules = configuration["indentationRules"]
    assert bool(re.search(rules["increaseIndentPattern"], line)) == deeper
    assert not re.search(rules["decreaseIndentPattern"], line)
    assert re.search(rules["decreaseIndentPattern"], "  }")
    assert re.search(configuration["wordPattern"], "= llama-3.1-8b }")[0] == "llama-3.1-8b"  # type: ignore[index]
