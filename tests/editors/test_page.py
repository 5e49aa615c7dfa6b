"""What docs/editors.md has users write into their settings: it can be read, and starts the server that there is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from planc.commands.files import ENDING
from tests.commands.cli import planc
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.S | re.M))


def test_helix() -> None:
    read = tomllib.loads(BLOCKS["toml"])
    [language] = read["language"]
    server = read["language-server"][language["language-servers"][0]]
    assert [server["command"], *server["args"]] == ["planc", "lsp"]
    assert language["file-types"] == [ENDING.removeprefix(".")]


def test_sublime_text() -> None:
    syntax = yaml.safe_load(BLOCKS["yaml"])
    [client] = json.loads(BLOCKS["json"])["clients"].values()
    assert client["command"] == ["planc", "lsp"]
    assert client["selector"] == syntax["scope"]
    assert syntax["file_extensions"] == [ENDING.removeprefix(".")]
    comment, string = (re.compile(rule["match"]) for rule in syntax["contexts"]["main"])
    assert comment.search('a = "b" # c')[0] == "# c"  # type: ignore[index]
    assert string.search(r'a = "b \" c" # d"')[0] == r'"b \" c"'  # type: ignore[index]


def test_neovim_and_emacs_start_the_server() -> None:
    assert "cmd = { 'planc', 'lsp' }" in BLOCKS["lua"]
    assert '(planc-mode . ("planc" "lsp"))' in BLOCKS["elisp"]


def test_emacs_reads_it(tmp_path: Path) -> None:
    if not shutil.which("emacs"):
        pytest.skip("emacs is not installed")
    (tmp_path / "init.el").write_text(BLOCKS["elisp"].replace("(add-hook 'planc-mode-hook #'eglot-ensure)", ""))
    (tmp_path / "a.plan").write_text("plan a { } # b\n")
    shown = "(progn (goto-char 13) (list major-mode (nth 4 (syntax-ppss)) (progn (comment-line 1) (buffer-string))))"
    outcome = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", "init.el", "a.plan", "--eval", f"(princ (format \"%S\" {shown}))"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == '(planc-mode t "# plan a { } # b\n")'


def test_the_shells_are_those_that_there_are(tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert f"planc completion {shell}" in BLOCKS[shell]
        assert planc("completion", shell, cwd=tmp_path).returncode == 0


def test_the_folders_and_links_are_there() -> None:
    named = [*re.findall(r"`(editors/[\w./-]+)`", PAGE), *re.findall(r"\]\(\.\./([\w./-]+)\)", PAGE)]
    assert len(named) == 4
    assert [name for name in named if not (ROOT / name).exists()] == []
    headings = {re.sub(r"[^\w-]", "", line.lower().replace(" ", "-")) for line in re.findall(r"^## (.*)$", PAGE, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= headings
