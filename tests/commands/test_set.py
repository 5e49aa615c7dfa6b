"""`--set PATH=VALUE`: a field of every plan, set on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.cli import CLEAN, planc


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.plan").write_text(CLEAN)
    return tmp_path


@pytest.mark.parametrize(
    ("settings", "path", "text"),
    [
        (["parallel.tensor=2"], "parallel.tensor", "2"),
        (["parallel.tensor=2", "parallel.tensor=4"], "parallel.tensor", "4"),
        (["cluster.nodes=2"], "parallel.data", "16"),
        (["precision=fp16"], "precision", "fp16"),
        (["batch.micro = cluster.nodes * 2"], "batch.micro", "2"),
    ],
)
def test_a_field_is_set(folder: Path, settings: list[str], path: str, text: str) -> None:
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    outcome = planc("explain", "a.plan", "--output-format", "json", *arguments, cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    fields = {field["path"]: field for field in json.loads(outcome.stdout)["plans"][0]["fields"]}
    assert str(fields[path]["value"]) == text


@pytest.mark.parametrize("command", [["lint"], ["explain"], ["compile", "-o", "out"]])
@pytest.mark.parametrize(
    ("setting", "code", "place"),
    [
        ("parallel.tensr=2", "PLN011", "--set:1:10"),
        ("parallel.tensor=many", "PLN011", "--set:1:17"),
        ("parallel.tensor=2.5", "PLN015", "--set:1:17"),
        ("parallel.tensor=", "PLN001", "--set:1:17"),
        ("parallel.tensor", "PLN024", "--set:1:1"),
        ("=2", "PLN024", "--set:1:1"),
        ("world.size=64", "PLN026", "--set:1:1"),
    ],
)
def test_what_is_wrong_is_shown_in_the_command_line(
    folder: Path, command: list[str], setting: str, code: str, place: str
) -> None:
    outcome = planc(command[0], "a.plan", *command[1:], "--set", setting, cwd=folder)
    said = outcome.stdout if command[0] == "lint" else outcome.stderr
    assert outcome.returncode == 1
    assert f"[{code}]" in said
    assert f" --> {place}\n" in said
    assert not (folder / "out").exists()


def test_a_rule_points_at_what_was_set(folder: Path) -> None:
    outcome = planc("lint", "a.plan", "--set", "parallel.tensor=3", cwd=folder)
    assert outcome.returncode == 1
    assert "--> --set:1:1\n" in outcome.stdout


def test_compile_names_what_is_open(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan other from run { batch { micro in [1, 2] } }\n")
    assert planc("lint", "a.plan", cwd=folder).returncode == 0
    outcome = planc("compile", "a.plan", "-o", "out", cwd=folder)
    assert outcome.returncode == 1
    assert "error[PLN030]: `batch.micro` is left open\n" in outcome.stderr
    assert not (folder / "out").exists()
    assert planc("compile", "a.plan", "-o", "out", "--set", "batch.micro=2", cwd=folder).returncode == 0
    assert planc("compile", "a.plan", "-o", "other", "--plan", "run", cwd=folder).returncode == 0
