"""What is found block by block is what is found in one piece, whatever was found before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planc.commands.buffers import Buffers
from planc.commands.configuring import Configurations
from planc.compiler import analyse
from planc.editing.checking import Checker
from tests.editing.edits import edited
from tests.editing.shown import PARTS, PLAN
from tests.shared import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.plan"))
BODY = """\
  parallel { tensor = 3 }
  batch { global = 64  micro = 1  sequence_length = 8Ki }
  precision = bf16
  shard { stage = 3 }
  policies = [house]
}
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_same_is_found_while_an_example_is_edited(path: Path) -> None:
    files = Buffers()
    checker = Checker(files.load)
    for text in edited(path.read_text(encoding="utf-8"), random.Random(path.stem), 25):
        source = files.open(str(path), text)
        assert checker.all_diagnostics(source) == analyse((source,), files.load).diagnostics, text


def test_the_same_is_found_while_used_files_are_edited(tmp_path: Path) -> None:
    (tmp_path / "planc.toml").write_text('policies = ["house.plan"]\n')
    files = Buffers()
    checker = Checker(files.load)
    texts = {
        "parts.plan": PARTS,
        "house.plan": "policy ours { warn parallel.tensor == 3  forbid precision == fp16 }\n",
        "run.plan": 'use "parts.plan"\n'
        + PLAN.removeprefix(PARTS)
        + BODY
        + "plan small from run { batch { micro = 2 } }\n",
    }
    sources = {name: files.open(str(tmp_path / name), text) for name, text in texts.items()}
    chance = random.Random(1)
    for _ in range(40):
        name = chance.choice(sorted(texts))
        *_, texts[name] = edited(texts[name], chance, 2)
        sources[name] = files.open(str(tmp_path / name), texts[name])
        for source in sources.values():
            house = Configurations(files).of(source).house
            found = checker.all_diagnostics(source, house)
            assert found == analyse((source,), files.load, house=house).diagnostics, texts


def test_only_what_an_edit_concerns_is_judged_anew(tmp_path: Path) -> None:
    files = Buffers()
    checker = Checker(files.load)
    text = PLAN + BODY + "plan other from base {\n" + BODY + "plan last from other { }\n"

    def judged(text: str) -> list[tuple[str, str]]:
        check = checker.check(files.open(str(tmp_path / "case.plan"), text))
        pending = checker.pending(check)
        for unit in pending:
            checker.judge(check, unit)
        return [unit.key for unit in pending]

    assert len(judged(text)) == 9
    assert judged(text) == judged("# a comment\n" + text) == []
    assert judged(text.replace("plan run from base {", "plan run from base { recompute = full ")) == [("plan", "run")]
    assert judged(text.replace("other from base {", "other from base { recompute = full ")) == [
        ("plan", "other"), ("plan", "last")
    ]  # fmt: skip
    dependent = [("cluster", "pair"), ("template", "base"), ("plan", "run"), ("plan", "other"), ("plan", "last")]
    assert sorted(judged(text.replace("nodes = 2", "nodes = 4"))) == sorted(dependent)


def test_what_was_found_moves_with_its_block_until_it_is_judged(tmp_path: Path) -> None:
    files = Buffers()
    checker = Checker(files.load)
    text = PLAN + BODY
    before = checker.all_diagnostics(files.open(str(tmp_path / "case.plan"), text))
    assert [found.code for found in before if found.code == "PLN101"]
    moved = checker.check(files.open(str(tmp_path / "case.plan"), "\n\n" + text.replace("nodes = 2", "nodes = 4")))
    stale = checker.diagnostics(moved)
    places = [found.primary.span.line for found in before]
    assert checker.pending(moved) and [found.primary.span.line for found in stale] == [line + 2 for line in places]


def test_a_fault_of_a_use_stands_where_its_path_does(tmp_path: Path) -> None:
    files = Buffers()
    checker = Checker(files.load)
    for text in (
        'use "nope.plan"\n',
        'use  "nope.plan"\n',
        '\nuse "nope.plan"\n',
        'use "planc/gpus"\nuse "nope.plan"\n',
    ):
        (found,) = checker.all_diagnostics(files.open(str(tmp_path / "case.plan"), text))
        assert found.primary.span.text == '"nope.plan"'


def test_a_file_that_cannot_be_cut_is_judged_whole(tmp_path: Path) -> None:
    files = Buffers()
    checker = Checker(files.load)
    for text in ("[" * 40 + PARTS, "#" * (1 << 20) + "\n" + PARTS, "plan { ]\n" * 150):
        source = files.open(str(tmp_path / "case.plan"), text)
        found = checker.all_diagnostics(source)
        assert found and found == analyse((source,), files.load).diagnostics
