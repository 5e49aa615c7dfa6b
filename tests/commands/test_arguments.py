"""What is wrong with the arguments of a command: one line and exit status 2, whichever command it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands.main import COMMANDS, main
from tests.commands.cli import CLEAN, planc

#: What a command does not do without.
NEEDED = {
    "explain": ["a.plan"], "completion": ["bash"], "calibrate": ["a.plan", "a.log"],
    "attest": ["a.plan", "--checkpoint", "a", "-o", "a.json"], "verify": ["a.json"],
    "record": ["diff", "a.json", "b.json"], "import": ["a.json"],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_there_is_not(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, *NEEDED.get(name, []), "--nonsense\x1b[2J\n"]) == 2
    complaint = f"planc: unrecognized arguments: --nonsense\\x1b[2J\\n; see `planc {name} --help`\n"
    assert capsys.readouterr() == ("", complaint)


@pytest.mark.parametrize("arguments", [["explain"], ["lint", "--color", "red"], ["lint", "--config"], ["lint", "--s"]])
def test_a_value_that_is_missing_or_is_none_of_the_choices(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed, complained = capsys.readouterr()
    assert printed == ""
    assert complained.startswith("planc: ")
    assert complained.endswith(f"; see `planc {arguments[0]} --help`\n")
    assert complained.count("\n") == 1


@pytest.mark.parametrize("name", ["lint", "fmt", "explain"])
def test_a_file_whose_name_starts_with_a_dash(tmp_path: Path, name: str) -> None:
    (tmp_path / "-dash.plan").write_text(CLEAN)
    outcome = planc(name, "-dash.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.endswith(
        f"; see `planc {name} --help`; the file `-dash.plan` goes behind `--`, or is written `./-dash.plan`\n"
    )
    assert outcome.stderr.count("\n") == 1
    for arguments in (["--", "-dash.plan"], ["./-dash.plan"]):
        assert planc(name, *arguments, cwd=tmp_path).returncode == 0


def test_no_file_no_hint_at_one(tmp_path: Path) -> None:
    (tmp_path / "-dash.plan").write_text(CLEAN)
    complaint = "planc: unrecognized arguments: -dish.plan; see `planc lint --help`\n"
    assert planc("lint", "-dish.plan", "--", "-dash.plan", cwd=tmp_path).stderr == complaint


def test_files_may_stand_on_both_sides_of_an_option(tmp_path: Path) -> None:
    for name in ("a.plan", "b.plan"):
        (tmp_path / name).write_text(CLEAN)
    for arguments in (("a.plan", "--color", "never", "b.plan"), ("--color", "never", "--", "a.plan", "b.plan")):
        outcome = planc("lint", *arguments, cwd=tmp_path)
        assert (outcome.returncode, outcome.stdout) == (0, "Found no faults in 2 files.\n")
