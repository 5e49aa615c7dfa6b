"""The baseline: what is written, what it leaves out, and that it knows a finding whose line has moved."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.commands.cli import BROKEN, CLEAN, planc


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.plan").write_text(BROKEN)
    (tmp_path / "b.plan").write_text(BROKEN.replace("heads = 8", "heads = 8  kv_heads = 3"))
    outcome = planc("lint", "--write-baseline", ".", cwd=tmp_path)
    assert outcome.returncode == 0
    assert outcome.stdout.startswith("Wrote 3 findings to `planc-baseline.json`; `baseline = ")
    (tmp_path / "planc.toml").write_text('baseline = "planc-baseline.json"\n')
    return tmp_path


def test_known_findings_are_left_out(tree: Path) -> None:
    outcome = planc("lint", ".", cwd=tree)
    assert outcome.returncode == 0
    assert outcome.stdout == "Found no faults besides 3 in the baseline in 2 files.\n"
    assert planc("lint", "a.plan", cwd=tree / "old").stdout == "Found no faults besides 1 in the baseline in 1 file.\n"
    assert planc("lint", "--no-config", ".", cwd=tree).returncode == 1
    given = planc("lint", "--no-config", "--baseline", "../planc-baseline.json", ".", cwd=tree / "old")
    assert given.returncode == 0


def test_new_findings_are_reported(tree: Path) -> None:
    with (tree / "old" / "a.plan").open("a") as file:
        file.write("\ncluster two { gpu = card  nodes = 1  gpus_per_node = many }\n")
    outcome = planc("lint", ".", cwd=tree)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("error[PLN")
    assert outcome.stdout.endswith("Found 1 error besides 3 in the baseline in 2 files.\n")


def test_a_finding_is_known_when_lines_move(tree: Path) -> None:
    text = (tree / "b.plan").read_text()
    (tree / "b.plan").write_text("# a comment\n\n" + text.replace("  precision", "    precision"))
    assert planc("lint", ".", cwd=tree).returncode == 0
    (tree / "b.plan").write_text(text.replace("kv_heads = 3", "kv_heads = 5"))
    assert planc("lint", ".", cwd=tree).returncode == 1


def test_what_is_gone_is_said_and_dropped(tree: Path) -> None:
    (tree / "b.plan").write_text(CLEAN)
    outcome = planc("lint", ".", cwd=tree)
    assert outcome.stdout.endswith(
        "Found no faults besides 1 in the baseline in 2 files.\n"
        "2 findings of the baseline are gone; `--write-baseline` drops them.\n"
    )
    assert "are gone" not in planc("lint", "old", cwd=tree).stdout  # the other file was not read
    assert planc("lint", "--write-baseline", ".", cwd=tree).stdout == "Wrote 1 finding to `planc-baseline.json`\n"
    assert "are gone" not in planc("lint", ".", cwd=tree).stdout


def test_the_same_findings_give_the_same_bytes_wherever_planc_starts(tree: Path) -> None:
    first = (tree / "planc-baseline.json").read_bytes()
    planc("lint", "--write-baseline", "..", cwd=tree / "old")
    assert (tree / "planc-baseline.json").read_bytes() == first
    data = json.loads(first)
    assert [finding["file"] for finding in data["findings"]] == ["b.plan", "b.plan", "old/a.plan"]
    assert str(tree) not in first.decode()


def test_what_is_known_of_files_that_are_not_read_is_kept(tree: Path) -> None:
    first = (tree / "planc-baseline.json").read_bytes()
    outcome = planc("lint", "--write-baseline", "b.plan", cwd=tree)
    assert outcome.stdout == "Wrote 2 findings to `planc-baseline.json`, and kept 1 of files that were not read\n"
    assert (tree / "planc-baseline.json").read_bytes() == first
    (tree / "old" / "a.plan").rename(tree / "old" / "moved.plan")
    moved = planc("lint", ".", cwd=tree)
    assert moved.returncode == 1
    assert "1 finding of the baseline is gone; `--write-baseline` drops it." in moved.stdout
    planc("lint", "--write-baseline", "b.plan", cwd=tree)
    assert "old/a.plan" not in (tree / "planc-baseline.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--select=PLN010", "."), "does not go with `--select` or `--ignore`"),
        (("--ignore=PLN203", "."), "does not go with `--select` or `--ignore`"),
        (("-",), "standard input has no place in a baseline"),
    ],
)
def test_a_baseline_of_a_part_is_refused(tree: Path, arguments: tuple[str, ...], said: str) -> None:
    first = (tree / "planc-baseline.json").read_bytes()
    outcome = planc("lint", "--write-baseline", *arguments, cwd=tree)
    assert outcome.returncode == 2 and said in outcome.stderr
    assert (tree / "planc-baseline.json").read_bytes() == first


def test_compile_knows_no_baseline(tree: Path) -> None:
    assert planc("compile", "old/a.plan", "-o", "out", cwd=tree).returncode == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no baseline `planc-baseline.json`; `planc lint --write-baseline` writes it"),
        ("[]", "it is no baseline"),
        ("{", "it is no baseline"),
        ('{"version": 2, "findings": []}', "it has version 2; this planc reads version 1"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_2(tree: Path, text: str | None, said: str) -> None:
    (tree / "planc-baseline.json").unlink()
    if text is not None:
        (tree / "planc-baseline.json").write_text(text)
    outcome = planc("lint", ".", cwd=tree)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr


def test_a_baseline_is_not_written_onto_a_pipe(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    outcome = planc("lint", ".", "--baseline", "pipe", "--write-baseline", cwd=tree)
    assert (outcome.returncode, outcome.stderr) == (2, "planc: cannot write `pipe`: it is a pipe and no file\n")
    assert (tree / "pipe").is_fifo()


def test_a_baseline_that_is_a_pipe_is_not_waited_for(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    outcome = planc("lint", ".", "--baseline", "pipe", cwd=tree)
    said = "planc: cannot read the baseline `pipe`: it is a pipe and no file\n"
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", said)


def test_several_baselines(tree: Path) -> None:
    shutil.copy(tree / "planc.toml", tree / "old" / "planc.toml")
    outcome = planc("lint", "--write-baseline", ".", cwd=tree)
    assert outcome.returncode == 2
    assert "the files have several baselines: `old/planc-baseline.json`, `planc-baseline.json`" in outcome.stderr
    assert planc("lint", "--write-baseline", "--baseline", "all.json", ".", cwd=tree).returncode == 0
    assert planc("lint", "--baseline", "all.json", ".", cwd=tree).returncode == 0
    planc("lint", "--write-baseline", "old", cwd=tree)
    assert planc("lint", ".", cwd=tree).returncode == 0
