"""Vim's files, in Vim, against planc's own lexer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.cli import BROKEN, environment
from tests.editors.agreement import CLASSES, differences, texts
from tests.editors.grammars import VIM, with_words
from tests.shared import ROOT

FOLDER = ROOT / "editors" / "vim"

_CLASSES = {
    "plancComment": "comment", "plancAllow": "comment", "plancAllowed": "comment", "plancAllowComma": "comment",
    "plancTodo": "comment", "plancKind": "kind", "plancBlock": "name", "plancBase": "name", "plancNarrowed": "name",
    "plancKey": "key", "plancLanguage": "language", "plancSection": "name", "plancName": "name",
    "plancFunction": "name", "plancKnownFunction": "name", "plancKeyword": "keyword", "plancVerb": "verb",
    "plancLiteral": "literal", "plancGlued": "number", "plancBadGlued": "number", "plancNumber": "number",
    "plancSuffix": "number", "plancUnit": "number", "plancBadUnit": "number", "plancString": "string",
    "plancReason": "string", "plancQuote": "string", "plancEscape": "string", "plancBadEscape": "string",
    "plancOperator": "operator", "plancAssignment": "operator", "plancDelimiter": "bracket", "plancError": "illegal",
}  # fmt: skip

#: Writes, for each line of each file, the group of each byte, names separated by blanks.
_SCRIPT = """\
let names = {}
for file in argv()
  execute 'edit' fnameescape(file)
  let found = []
  for line in range(1, line('$'))
    let row = []
    for column in range(1, col([line, '$']) - 1)
      let id = synID(line, column, 1)
      if !has_key(names, id)
        let names[id] = synIDattr(id, 'name')
      endif
      call add(row, names[id] == '' ? '-' : names[id])
    endfor
    call add(found, join(row))
  endfor
  call writefile(found, file . '.groups')
endfor
qall!
"""


def run(folder: Path, script: str, *files: Path) -> None:
    """Runs a script in a Vim that knows these files of ours and nothing of the user's."""
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    path = folder / "script.vim"
    path.write_text(script)
    setup = [f"set runtimepath^={FOLDER}", "set nomore synmaxcol=0", "filetype plugin on", "syntax on"]
    command = ["vim", "-N", "-u", "NONE", "-i", "NONE", "-n", "-es"]
    for line in setup:
        command += ["--cmd", line]
    outcome = subprocess.run(
        [*command, "-c", f"source {path}", *files], cwd=folder, input=b"", capture_output=True,
        timeout=300, check=False, env=environment(HOME=str(folder)),
    )  # fmt: skip
    assert outcome.returncode == 0, outcome.stdout.decode() + outcome.stderr.decode()


def groups(folder: Path, *texts: str) -> list[list[list[str]]]:
    """For each text and line, the group of each character."""
    files = [folder / f"{number}.plan" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    run(folder, _SCRIPT, *files)
    found = []
    for file, text in zip(files, texts, strict=True):
        rows = file.with_suffix(".plan.groups").read_text().split("\n")
        lines = []
        for line, row in zip(text.split("\n"), rows, strict=False):
            names, at = row.split(), 0
            lines.append([])
            for character in line:
                lines[-1].append(names[at])
                at += len(character.encode())
        found.append(lines)
    return found


def test_the_lists_of_words_are_as_they_are_made() -> None:
    text = VIM.read_text(encoding="utf-8")
    assert text == with_words(text), "run `python -m tests.editors.grammars`"
    assert "GiB" in text


def test_every_token_is_shown_as_the_lexer_reads_it(tmp_path: Path) -> None:
    given = texts()
    met: set[str] = set()
    for text, lines in zip(given, groups(tmp_path, *given), strict=True):
        classes = [_CLASSES.get(name, "") for line in lines for name in (*line, "")]
        assert list(differences(text, classes)) == []
        met.update(classes)
    assert set(CLASSES) <= met


TEXT = """\
use "planc/gpus"
plan small from base {  # planc: allow PLN101, slow-links -- until the new switch
  model = small { layers = 16 }
  shard { stage = 3 }
  batch { global = 4Mi tokens  time = 24 hours }
  emit = [deepspeed { trainer = hf }]
  env { A = "b\\n\\q" }
}
model m from hf("config.json")
policy house { fast = require min(a.b, 2) <= 8  because
  "uses {a.b} of {1}" }
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The groups of the characters of TEXT."""
    return groups(tmp_path_factory.mktemp("vim"), TEXT)[0]


@pytest.mark.parametrize(
    ("line", "piece", "group"),
    [
        (1, "small", "plancBlock"),
        (1, "base", "plancBase"),
        (1, "# planc: allow", "plancAllow"),
        (1, "PLN101", "plancAllowed"),
        (1, "slow-links", "plancAllowed"),
        (1, " -- until", "plancComment"),
        (2, "model", "plancKey"),
        (2, "small", "plancNarrowed"),
        (3, "shard", "plancSection"),
        (4, "Mi", "plancSuffix"),
        (4, "tokens", "plancUnit"),
        (4, "hours", "plancBadUnit"),
        (5, "deepspeed", "plancNarrowed"),
        (5, "trainer", "plancKey"),
        (6, "\\n", "plancEscape"),
        (6, "\\q", "plancBadEscape"),
        (8, "hf", "plancKnownFunction"),
        (9, "min", "plancKnownFunction"),
        (10, "uses ", "plancReason"),
        (10, "{a.b}", "plancQuote"),
        (10, "{1}", "plancReason"),
    ],
)
def test_what_a_piece_is(rows: list[list[str]], line: int, piece: str, group: str) -> None:
    at = TEXT.split("\n")[line].index(piece)
    assert set(rows[line][at : at + len(piece)]) == {group}


def test_a_plan_file_has_its_settings(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text("plan llama-3 { }\n")
    run(
        tmp_path,
        "normal! 6|yiw\ncall writefile([&filetype, &commentstring, &shiftwidth, getreg('\"')], 'found')\n"
        "execute b:undo_ftplugin\ncall writefile([&commentstring], 'undone')\nqall!\n",
        tmp_path / "a.plan",
    )
    assert (tmp_path / "found").read_text().splitlines() == ["planc", "# %s", "2", "llama-3"]
    assert (tmp_path / "undone").read_text().splitlines() != ["# %s"]


def test_make_fills_the_quickfix_list(tmp_path: Path) -> None:
    program = tmp_path / "planc"
    program.write_text(f'#!/bin/sh\ncd "{tmp_path}" && exec "{sys.executable}" -m planc "$@"\n')
    program.chmod(0o755)
    (tmp_path / "a.plan").write_text(BROKEN)
    run(
        tmp_path,
        "compiler planc\nlet &makeprg = './' . &makeprg\nsilent make a.plan\n"
        "let found = map(getqflist(), {_, one -> [bufname(one.bufnr), one.lnum, one.col, one.type, one.text]})\n"
        "call writefile([json_encode(found)], 'found')\nqall!\n",
    )
    places = json.loads((tmp_path / "found").read_text())
    assert ["a.plan", 4, 20, "e", "[PLN010] no model is called `smal`"] in places
