"""Configurations through the command line: which file holds, what it does to `lint`, `compile`, `explain`, `config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.cli import BROKEN, CLEAN, planc

_BARE = CLEAN.replace("  sequence_length = 4Ki", "").replace("[torchrun, deepspeed]", "[torchrun]")

#: A plan with one error, PLN101, and one with one warning, PLN203: a pipeline that is a third idle.
FAULTY = _BARE.replace("shard { stage = 1 }", "parallel { context = 3 }")
WARNED = _BARE.replace("shard { stage = 1 }", "parallel { pipeline = 2 }").replace("global = 64", "global = 8")


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".toml" if path.name in ("planc", "pyproject") else ".plan")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def codes(folder: Path, *arguments: str) -> list[str]:
    outcome = planc("lint", "--output-format=concise", *arguments, cwd=folder)
    assert outcome.stderr == "", outcome.stderr
    return [line.split("[")[1].split("]")[0] for line in outcome.stdout.splitlines()]


def test_the_cases_are_what_they_should_be(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, b=WARNED)
    assert codes(tmp_path, "a.plan") == ["PLN101"]
    assert codes(tmp_path, "b.plan") == ["PLN203"]


def test_the_nearest_file_holds_and_it_alone(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, x__a=FAULTY, x__y__a=FAULTY, x__y__z__a=FAULTY)
    write(tmp_path, planc='ignore = ["PLN101"]', x__pyproject='[project]\nname = "x"\n', x__y__planc="")
    write(tmp_path, x__y__z__pyproject='[tool.planc]\nignore = ["indivisible-world-size"]\n')
    assert codes(tmp_path, "a.plan") == []
    assert codes(tmp_path, "x/a.plan") == []  # a pyproject.toml of others is passed over
    assert codes(tmp_path, "x/y/a.plan") == ["PLN101"]
    assert codes(tmp_path, "x/y/z/a.plan") == []
    assert codes(tmp_path / "x" / "y", "z/a.plan", "a.plan", "../a.plan") == ["PLN101"]
    (tmp_path / "x" / "y" / "z" / "planc.toml").write_text('select = ["PLN1"]')
    assert codes(tmp_path, "x/y/z/a.plan") == ["PLN101"]  # planc.toml comes first


def test_the_command_line_wins(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, b=WARNED, planc='ignore = ["PLN1", "PLN2"]\nmin-severity = "error"')
    assert codes(tmp_path, ".") == []
    assert codes(tmp_path, "--select=PLN101", ".") == ["PLN101"]
    assert codes(tmp_path, "--select=all", "--min-severity=warning", ".") == ["PLN101", "PLN203"]
    assert (
        codes(tmp_path, "--select=all", "--ignore=indivisible-world-size", "--min-severity", "info", ".")[0] != "PLN101"
    )
    assert codes(tmp_path, "--no-config", ".") == ["PLN101", "PLN203"]
    (tmp_path / "other.toml").write_text('ignore = ["PLN1"]')
    assert codes(tmp_path, "--config", "other.toml", ".") == ["PLN203"]
    outcome = planc("lint", "--warn-as-error", "--select=PLN203", "--min-severity=error", ".", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout.startswith("error[PLN203]")) == (1, True)


def test_warnings_as_errors(tmp_path: Path) -> None:
    write(tmp_path, b=WARNED, planc='warn-as-error = ["idle-pipeline"]')
    assert planc("lint", "b.plan", cwd=tmp_path).returncode == 1
    assert planc("lint", "--no-config", "b.plan", cwd=tmp_path).returncode == 0
    compiled = planc("compile", "b.plan", "-o", "out", cwd=tmp_path)
    assert compiled.returncode == 1 and not (tmp_path / "out").exists()


def test_settings_for_a_path(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, old__a=FAULTY, planc='[per-path."old/*"]\nignore = ["PLN101"]\n')
    assert codes(tmp_path, ".") == ["PLN101"]
    assert codes(tmp_path / "old", "a.plan") == []


def test_excluded_files_are_read_when_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, old__a=FAULTY, planc='exclude = ["old"]\n')
    assert codes(tmp_path, ".") == ["PLN101"]
    assert codes(tmp_path, "old") == []
    assert codes(tmp_path, "old/a.plan") == ["PLN101"]
    assert codes(tmp_path, "--force-exclude", "old/a.plan") == []
    assert codes(tmp_path, "--force-exclude", "old/a.plan", "a.plan") == ["PLN101"]
    before = (tmp_path / "old" / "a.plan").read_text()
    planc("fmt", "--force-exclude", "old/a.plan", cwd=tmp_path)
    assert (tmp_path / "old" / "a.plan").read_text() == before
    planc("fmt", "old/a.plan", cwd=tmp_path)
    assert (tmp_path / "old" / "a.plan").read_text() != before


HOUSE = 'policy house { one = forbid precision == bf16  because "{precision} is out" }\n'


def test_policies_of_the_house_judge_every_plan(tmp_path: Path) -> None:
    write(tmp_path, plans__a=CLEAN, house=HOUSE, planc='policies = ["house.plan"]\n')
    outcome = planc("lint", "plans/a.plan", cwd=tmp_path)
    assert outcome.stdout.startswith(
        "error[PLN090]: policy `house.one` forbids `precision == bf16`\n --> plans/a.plan:5:3"
    )
    assert " --> house.plan:1:22" in outcome.stdout
    assert planc("compile", "plans/a.plan", "-o", "out", cwd=tmp_path).returncode == 1
    again = planc("lint", "plans/a.plan", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    kept = planc("lint", "plans/a.plan", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert outcome.stdout == again.stdout == kept.stdout
    write(tmp_path, house=HOUSE.replace("bf16", "fp16"))
    assert planc("lint", "plans/a.plan", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache")).returncode == 0
    write(tmp_path, planc="", house=HOUSE)
    assert planc("lint", "plans/a.plan", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache")).returncode == 0


def test_a_policy_that_a_plan_names_too_is_one(tmp_path: Path) -> None:
    plan = 'use "house.plan"\n' + CLEAN.replace("precision = bf16", "precision = bf16  policies = [house]")
    write(tmp_path, a=plan, house=HOUSE, planc='policies = ["house.plan"]\n')
    assert codes(tmp_path, "a.plan") == ["PLN090"]


def test_policies_that_cannot_be_had(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN, planc='\npolicies = ["hose.plan"]\n')
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert outcome.stdout.startswith("error[PLN022]: cannot use `hose.plan`\n --> planc.toml:2:13\n")


def test_a_file_of_policies_without_one(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN, b=CLEAN, planc='policies = ["b.plan"]\n')
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert outcome.stdout.startswith("error[PLN010]: `b.plan` defines no policy\n --> planc.toml:1:13\n")


def test_a_link_to_no_configuration_is_no_missing_one(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    for name in ("planc.toml", "pyproject.toml"):
        (tmp_path / name).symlink_to("gone.toml")
        outcome = planc("lint", "a.plan", cwd=tmp_path)
        assert (outcome.returncode, outcome.stdout) == (2, "")
        assert f"cannot read `{name}`: it leads to no file" in outcome.stderr
        (tmp_path / name).unlink()


def test_versions_of_the_house(tmp_path: Path) -> None:
    policy = (
        'policy house { torch = require versions.torch >= "2.14"  deepspeed = require versions.deepspeed == "0.18" }\n'
    )
    said = CLEAN.replace("precision = bf16", 'precision = bf16  versions { deepspeed = "0.18" }')
    text = 'policies = ["house.plan"]\n[versions]\ntorch = "2.13"\ndeepspeed = "0.19"\n'
    write(tmp_path, a=said, house=policy, planc=text)
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert outcome.stdout.count("error[") == 1
    assert "error[PLN090]: policy `house.torch` requires" in outcome.stdout
    assert " --> planc.toml:3:9" in outcome.stdout
    write(tmp_path, planc=text.replace("2.13", "2.13 beta"))
    assert "error[PLN014]" in planc("lint", "a.plan", cwd=tmp_path).stdout


def test_a_faulty_configuration_is_reported_with_the_rest(tmp_path: Path) -> None:
    write(tmp_path, a=FAULTY, planc='selct = []\nignore = ["PLN203"]\n')
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert "error[PLN051]: no setting `selct`\n --> planc.toml:1:1" in outcome.stdout
    assert "did you mean `select`?" in outcome.stdout
    assert "error[PLN101]" in outcome.stdout
    (tmp_path / "planc.toml").write_bytes(b"\xff\xfe")
    assert "error[PLN004]" in planc("lint", "a.plan", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--select=PLN777", "."), "--select `PLN777`: no rule `PLN777`"),
        (("--ignore", "idle-pipelin", "."), "did you mean `idle-pipeline`?"),
        (("--ignore", "PLN001", "."), "is an error in the language"),
        (("--config", "gone.toml", "."), "cannot read `gone.toml`: no such file or directory"),
        (("--config", ".", "."), "`.` is a folder"),
        (("--config", "pyproject.toml", "."), "has no table `[tool.planc]`"),
    ],
)
def test_what_cannot_be_done_is_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    write(tmp_path, a=CLEAN, pyproject="[tool.ruff]\n")
    outcome = planc("lint", *arguments, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr


def test_config_says_what_holds_and_from_where(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN, old__a=CLEAN, planc='ignore = ["PLN101"]\n\n[per-path."old/*"]\nmin-severity = "error"\n')
    outcome = planc("config", "old/a.plan", cwd=tmp_path)
    assert outcome.returncode == 0
    lines = [line.split() for line in outcome.stdout.splitlines()]
    assert lines[0] == ["old/a.plan:", "planc.toml"]
    assert ["ignore", "=", '["PLN101"]', "planc.toml:1"] in lines
    assert ["min-severity", "=", '"warning"', "default"] in lines
    assert ["min-severity", "=", '"error"', "planc.toml:3,", "for", "`old/*`"] in lines
    assert "old/*" not in planc("config", "a.plan", cwd=tmp_path).stdout
    assert "old/*" in planc("config", cwd=tmp_path).stdout
    data = json.loads(planc("config", "--output-format", "json", "old/a.plan", cwd=tmp_path).stdout)
    assert data["file"] == "planc.toml"
    assert {"key": "ignore", "value": ["PLN101"], "place": "planc.toml:1", "pattern": ""} in data["settings"]


def test_config_of_a_faulty_file(tmp_path: Path) -> None:
    write(tmp_path, planc='min-severity = "low"\n')
    outcome = planc("config", "--color=always", cwd=tmp_path)
    assert outcome.returncode == 1
    assert 'min-severity = "warning"' in outcome.stdout
    assert "\033[1;31merror[PLN052]" in outcome.stderr
    assert "\033" not in planc("config", "--color=never", cwd=tmp_path, FORCE_COLOR="1").stderr
    assert "\033" in planc("config", "--color=auto", "--output-format=text", cwd=tmp_path, FORCE_COLOR="1").stderr
    assert planc("config", "gone", cwd=tmp_path).returncode == 2
    (tmp_path / "other.toml").write_text('ignore = ["PLN101"]')
    assert "other.toml:1" in planc("config", "--config", "other.toml", cwd=tmp_path).stdout


def test_suppressions_hold_everywhere(tmp_path: Path) -> None:
    crossing = _BARE.replace("shard { stage = 1 }", "parallel { tensor = 16 }").replace("heads = 8", "heads = 16")
    crossing = crossing.replace("nodes = 1", "nodes = 2")
    write(tmp_path, a=crossing)
    assert codes(tmp_path, "a.plan") == ["PLN501"]
    allowed = crossing.replace("plan run", "# planc: allow PLN501 -- one tray of 16\nplan run")
    write(tmp_path, a=allowed, b=BROKEN)
    assert codes(tmp_path, "a.plan") == []
    compiled = planc("compile", "a.plan", "-o", "out", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    explained = planc("explain", "a.plan", cwd=tmp_path)
    assert (explained.returncode, explained.stderr) == (0, "")
    assert codes(tmp_path, "--set", "parallel.tensor=8", "a.plan") == []  # of no use in this run alone
    write(tmp_path, a=allowed.replace("model = small", "model = smal"))
    planc("lint", "--fix", "a.plan", cwd=tmp_path)
    assert "# planc: allow PLN501" in (tmp_path / "a.plan").read_text()
    write(tmp_path, a=allowed.replace(" -- one tray of 16", ""))
    assert codes(tmp_path, "a.plan") == ["PLN056"]
    assert planc("compile", "a.plan", "-o", "other", cwd=tmp_path).returncode == 1
