"""`planc lint --fix`, `--unsafe-fixes` and `--diff`: what is written, and what is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planc.commands.finding import ENOUGH
from tests.commands.cli import CLEAN, planc

#: A safe fix (a flag as `True`), a comment beside it, and a fault that several values mend.
SLIPS = """\
# keep this
gpu card { memory = 80 GiB  bf16 = True }   # and this
cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
model small { layers = 8  hidden = 1024  heads = 8  kv_heads = 5  ffn = 4096  vocab = 32_000 }
"""


def test_safe_fixes_change_their_span_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_bytes(b"\xef\xbb\xbf" + SLIPS.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    outcome = planc("lint", "--fix", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("error[PLN111]")
    assert outcome.stdout.endswith("Mended 1 fault; found 1 error in 1 file.\n")
    assert path.read_bytes() == b"\xef\xbb\xbf" + SLIPS.replace("True", "true").replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.plan"]


def test_what_can_be_mended_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(SLIPS)
    assert planc("lint", "a.plan", cwd=tmp_path).stdout.endswith(
        "Found 2 errors in 1 file.\n1 fault can be mended with `--fix`.\n"
    )
    unsafe = CLEAN.replace("4Ki", "4k")
    (tmp_path / "a.plan").write_text(unsafe)
    outcome = planc("lint", "--min-severity=info", "a.plan", cwd=tmp_path)
    assert "1 fault can be mended with `--unsafe-fixes`." in outcome.stdout
    assert planc("lint", "--fix", "a.plan", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.plan").read_text() == unsafe
    assert planc("lint", "--unsafe-fixes", "--min-severity=info", "a.plan", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.plan").read_text() == CLEAN


def test_diff_shows_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(SLIPS)
    outcome = planc("lint", "--diff", ".", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.splitlines()[3:6] == [
        " # keep this",
        "-gpu card { memory = 80 GiB  bf16 = True }   # and this",
        "+gpu card { memory = 80 GiB  bf16 = true }   # and this",
    ]
    assert outcome.stderr == "planc: 1 fault would be mended\n"
    assert (tmp_path / "a.plan").read_text() == SLIPS
    piped = planc("lint", "--diff", "-", cwd=tmp_path, stdin=SLIPS.encode())
    assert piped.stdout == outcome.stdout.replace("a.plan", "<stdin>")
    (tmp_path / "a.plan").write_text(CLEAN)
    clean = planc("lint", "--diff", ".", cwd=tmp_path)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "planc: nothing mended\n")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.plan").write_text(SLIPS)
    (tmp_path / "link.plan").symlink_to("real.plan")
    planc("lint", "--fix", "link.plan", cwd=tmp_path)
    assert (tmp_path / "link.plan").is_symlink()
    assert "bf16 = true" in (tmp_path / "real.plan").read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_cannot_be_written_is_2(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(SLIPS)
    (tmp_path / "a.plan").chmod(0o444)
    outcome = planc("lint", "--fix", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 2
    assert "cannot write `a.plan`: permission denied" in outcome.stderr


def test_a_used_file_is_mended_when_it_is_linted(tmp_path: Path) -> None:
    (tmp_path / "cards.plan").write_text(SLIPS)
    (tmp_path / "a.plan").write_text('use "cards.plan"\n')
    planc("lint", "--fix", "a.plan", cwd=tmp_path)
    assert "True" in (tmp_path / "cards.plan").read_text()
    planc("lint", "--fix", ".", cwd=tmp_path)
    assert "True" not in (tmp_path / "cards.plan").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fix", "-"), "standard input cannot be mended"),
        (("--fix", "--set", "batch.micro=2", "."), "`--set` does not go with"),
        (("--fix", "--show-skipped", "."), "`--show-skipped` does not go with"),
        (("--write-baseline", "--fix", "."), "`--write-baseline` does not go with"),
    ],
)
def test_what_does_not_go_together_is_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "a.plan").write_text(SLIPS)
    outcome = planc("lint", *arguments, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr
    assert (tmp_path / "a.plan").read_text() == SLIPS


def test_files_that_several_processes_analyse_are_mended_too(tmp_path: Path) -> None:
    for number in range(ENOUGH):
        (tmp_path / f"p{number:02}.plan").write_text("gpu card { memory = 80 GiB  bf16 = True }\n")
    outcome = planc("lint", "--fix", cwd=tmp_path)
    assert outcome.stdout.endswith(f"Mended {ENOUGH} faults; found no faults in {ENOUGH} files.\n")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"gpu card { memory = 80 GiB  bf16 = true }\n"}


def test_of_several_values_that_work_none_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text("model m { layers = 8  hidden = 1024  heads = 16  kv_heads = 5  ffn = 4096  vocab = 32_000 }\n")
    before = path.read_text()
    outcome = planc("lint", "--fix", "--unsafe-fixes", "--output-format=json", "a.plan", cwd=tmp_path)
    assert path.read_text() == before
    (found,) = json.loads(outcome.stdout)["diagnostics"]
    assert [fix["title"] for fix in found["fixes"]] == ["write `kv_heads = 4`", "write `kv_heads = 8`"]
