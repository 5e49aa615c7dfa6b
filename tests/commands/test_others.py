"""`planc rule`, `planc targets`, and what belongs to no command."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest

from planc.commands.main import COMMANDS
from planc.kinds import all_kinds
from planc.resources import read_text
from planc.targets import load_target, target_names
from planc.version import VERSION
from tests.commands.cli import CLEAN, command, environment, planc
from tests.shared import ROOT


def test_the_list_of_rules(tmp_path: Path) -> None:
    lines = planc("rule", cwd=tmp_path).stdout.splitlines()
    form = r"PLN\d{3}  [a-z0-9-]+ +(error|warning|info) +([A-Z`]|(accelerate|torchtitan|gpt-neox|nanotron|srun) ).*\."
    assert all(re.fullmatch(form, line) for line in lines)
    codes = [line.split()[0] for line in lines]
    assert codes == sorted(set(codes))
    assert {"PLN001", "PLN010", "PLN101", "PLN901"} <= set(codes)


def test_codes_and_names_are_used_once() -> None:
    names = [kind.name for kind in all_kinds()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("word", ["PLN101", "pln101", "indivisible-world-size", "Indivisible-World-Size"])
def test_a_page_by_code_or_name(tmp_path: Path, word: str) -> None:
    outcome = planc("rule", word, cwd=tmp_path)
    assert outcome.returncode == 0
    lines = outcome.stdout.splitlines()
    assert lines[0] == "PLN101 indivisible-world-size (error)"
    assert [line.partition(":")[0] for line in lines if re.match("(Why|Example|Instead|Fix|Source):", line)] == [
        "Why", "Example", "Instead", "Fix", "Source"
    ]  # fmt: skip


def test_every_page_can_be_shown(tmp_path: Path) -> None:
    for kind in all_kinds():
        assert kind.page.count("\n") > 5, kind.code


@pytest.mark.parametrize(
    ("word", "guess"), [("indivisible-word-size", "indivisible-world-size"), ("PLN1O1", "PLN101"), ("\x1b[2J", None)]
)
def test_a_rule_that_there_is_not(tmp_path: Path, word: str, guess: str | None) -> None:
    outcome = planc("rule", word, cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert ("did you mean" in outcome.stderr) == (guess is not None)
    assert (guess or "`\\x1b[2J`") in outcome.stderr
    assert "\x1b" not in outcome.stderr


def test_the_list_of_targets(tmp_path: Path) -> None:
    outcome = planc("targets", cwd=tmp_path)
    assert outcome.returncode == 0
    listed = [line.split()[0] for line in outcome.stdout.splitlines() if line[:1].isalpha()]
    assert [name for name in listed if name != "known,"] == list(target_names())
    assert outcome.stdout.count("proved against") == len(target_names())


def test_the_options_of_one_target(tmp_path: Path) -> None:
    outcome = planc("targets", "slurm", "torchrun", cwd=tmp_path)
    assert outcome.returncode == 0
    first, second = outcome.stdout.split("\n\n")
    assert first.startswith("slurm: job.sbatch") and second.startswith("torchrun: torchrun.sh")
    assert "page: docs/targets/slurm.md\n" in first
    assert "  launcher  (one of `torchrun`, `accelerate` or `srun`)\n    what starts the ranks" in first
    assert second.endswith("options: none\n")
    assert max(map(len, outcome.stdout.splitlines())) <= 120


def test_a_target_that_there_is_not(tmp_path: Path) -> None:
    outcome = planc("targets", "slrm", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "no target `slrm`; did you mean `slurm`?" in outcome.stderr


def test_the_targets_as_data(tmp_path: Path) -> None:
    data = json.loads(planc("targets", "--output-format=json", cwd=tmp_path).stdout)
    jsonschema.validate(data, json.loads(read_text("schemas/targets.schema.json")))
    assert [target["name"] for target in data["targets"]] == list(target_names())
    for target in data["targets"]:
        assert (ROOT / target["page"]).is_file()
        assert [option["name"] for option in target["options"]] == [
            option.name for option in load_target(target["name"]).options
        ]
    one = json.loads(planc("targets", "--output-format=json", "env", cwd=tmp_path).stdout)
    assert one["targets"] == [target for target in data["targets"] if target["name"] == "env"]


def test_the_version(tmp_path: Path) -> None:
    outcome = planc("--version", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, f"planc {VERSION}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(tmp_path: Path, name: str) -> None:
    outcome = planc(name, "--help", cwd=tmp_path)
    assert outcome.returncode == 0
    assert outcome.stdout.startswith(f"usage: planc {name} ")
    assert re.search(rf"^  {name} {{2,}}{re.escape(COMMANDS[name])}$", planc("--help", cwd=tmp_path).stdout, re.M)


def test_no_command_is_2_and_shows_the_help(tmp_path: Path) -> None:
    outcome = planc(cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stdout.startswith("usage: planc COMMAND")


def test_a_command_that_there_is_not(tmp_path: Path) -> None:
    outcome = planc("lnt", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (
        2,
        "planc: no command `lnt`; did you mean `lint`?; see `planc --help`\n",
    )


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = 'rmdir "$PWD"; "$@"'
    outcome = subprocess.run(
        ["bash", "-c", line, "bash", *command("lint", "a.plan")],
        cwd=gone, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (outcome.returncode, outcome.stderr) == (2, "planc: No such file or directory\n")


def test_a_fault_of_planc_is_told_from_one_of_a_plan(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom planc import compiler\nfrom planc.commands import main\n"
        "def broken(*arguments): raise RuntimeError('oops')\n"
        "compiler.analyse = broken\nsys.exit(main.main(['lint']))\n"
    )
    (tmp_path / "a.plan").write_text(CLEAN)
    outcome = subprocess.run(
        [*command()[:1], "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 2
    assert "RuntimeError: oops" in outcome.stderr
    assert outcome.stderr.endswith("planc: this is a fault of planc, not of your plan; the lines above say where\n")
