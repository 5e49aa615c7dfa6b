"""`planc attest FOLDER`: the record of a run whose plan is there as its compiled folder alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from planc.commands.main import main
from planc.manifest import digest
from tests.commands.evidence import attest, fill, statement, verify


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a run in it, and what its plan compiles to; the plan's own file is elsewhere."""
    fill(tmp_path)
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["compile", "run.plan", "-o", "out"]) == 0
    return tmp_path


def attest_folder(*arguments: str, folder: str = "out/run") -> int:
    """Exit status of the command that records the run by its compiled folder."""
    return main(["attest", folder, "--checkpoint", "ckpt", "-o", "of_folder.json", *arguments])


def test_it_is_the_record_that_the_plan_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert attest("--dataset", "data", "--log", "train.log") == 0
    (folder / "run.plan").rename(folder / "home" / "run.plan")
    capsys.readouterr()
    assert attest_folder("--dataset", "data", "--log", "train.log") == 0
    assert capsys.readouterr().err == ""
    assert (folder / "of_folder.json").read_bytes() == (folder / "record.json").read_bytes()
    shutil.move("of_folder.json", "record.json")
    assert verify("--plan", "home/run.plan", "--checkpoint", "ckpt", "--metrics", "metrics.jsonl") == 0


def test_fields_that_were_set_are_recorded(folder: Path) -> None:
    setting = ["--set", "optimizer.learning_rate=1e-5"]
    assert main(["compile", "run.plan", "-o", "other", *setting]) == 0
    assert attest_folder(folder="other/run") == 0
    plan = statement(folder / "of_folder.json")["predicate"]["plan"]
    assert (plan["file"], plan["settings"]) == ("run.plan", ["optimizer.learning_rate=1e-5"])
    shutil.move("of_folder.json", "record.json")
    assert verify("--plan", "run.plan") == 1
    assert verify("--plan", "run.plan", *setting) == 0


def test_files_that_were_edited_are_recorded_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = folder / "out" / "run" / "torchrun.sh"
    script.write_text(script.read_text() + "echo edited\n")
    capsys.readouterr()
    assert attest_folder() == 0
    assert capsys.readouterr().err == "planc: `out/run/torchrun.sh` was edited, and is recorded as it is\n"
    emitted = {each["path"]: each for each in statement(folder / "of_folder.json")["predicate"]["emitted"]}
    assert emitted["torchrun.sh"]["sha256"] == digest(script.read_text())
    shutil.move("of_folder.json", "record.json")
    assert verify("--plan", "run.plan") == 1
    assert "differs: emitted files: `torchrun.sh` would be written with other content" in capsys.readouterr().out


def test_the_planc_of_another_version_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "out" / "run" / "planc.manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"planc": "0.0.9"}))
    (folder / "out" / "run" / "torchrun.sh").write_text("#!/bin/bash\n")
    capsys.readouterr()
    assert attest_folder() == 0
    told = "planc: `out/run/torchrun.sh` was compiled by planc 0.0.9, which is not this one, and is recorded as it is\n"
    assert capsys.readouterr().err == told


def test_without_manifest_and_other_files_they_are_those_of_this_planc(folder: Path) -> None:
    assert attest() == 0
    shutil.copytree("out/run", "pod", ignore=lambda _, names: {*names} - {"planc.plan.json"})
    assert attest_folder(folder="pod") == 0
    one, other = (statement(folder / name)["predicate"] for name in ("record.json", "of_folder.json"))
    assert other["emitted"] == one["emitted"]
    assert other["plan"] == one["plan"] | {"file": "planc.plan.json"}


def test_the_same_demands_are_made_of_the_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "metrics.jsonl").write_text('{"step": 1, "accuracy": 0.5}\n')
    assert attest_folder() == 1
    assert "asks for loss, which is not reported; reported are accuracy" in capsys.readouterr().err
    assert not (folder / "of_folder.json").exists()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("none", "`out/run` has no `planc.plan.json`, which `compile` writes for "),
        ("edited", "`out/run/planc.plan.json` cannot be used: it was edited; compile the plan again"),
        ("bytes", "`out/run/planc.plan.json` cannot be used: it is no text"),
        ("large", "`out/run/planc.plan.json` cannot be used: it is too large to be one"),
        ("folder", "cannot read `out/run/planc.plan.json`: is a directory"),
        ("pipe", "cannot read `out/run/planc.plan.json`: it is no file"),
        ("other plan", "`out/run` holds a manifest and a `planc.plan.json` of different plans"),
        ("no manifest", "`out/run/planc.manifest.json` cannot be used: it is not in the form that planc writes"),
        ("binary", "cannot read `out/run/torchrun.sh`: it is no text"),
    ],
)
def test_a_folder_that_cannot_be_used(folder: Path, damage: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "out" / "run" / "planc.plan.json"
    text = path.read_text()
    if damage == "edited":
        path.write_text(text.replace('"seed": 7', '"seed": 8'))
    elif damage == "bytes":
        path.write_bytes(b"\xff")
    elif damage == "large":
        path.write_text(" " * (1 << 20) + "\n")
    elif damage == "other plan":
        assert main(["compile", "run.plan", "-o", "other", "--set", "train.seed=8"]) == 0
        shutil.copy("other/run/planc.plan.json", path)
    elif damage == "no manifest":
        path.with_name("planc.manifest.json").write_text("[]")
    elif damage == "binary":
        path.with_name("torchrun.sh").write_bytes(b"\x7fELF\xff")
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
        elif damage == "pipe":
            os.mkfifo(path)
    capsys.readouterr()
    assert attest_folder() == 2
    assert told in capsys.readouterr().err
    assert not (folder / "of_folder.json").exists()


@pytest.mark.parametrize("option", [("--plan", "run"), ("--set", "train.seed=8")])
def test_a_folder_holds_one_plan_as_it_was_set(
    folder: Path, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert attest_folder(*option) == 2
    assert "a compiled folder holds one plan, as it was set" in capsys.readouterr().err


def test_nothing_of_the_folder_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("planc.plan.json", "planc.manifest.json", "torchrun.sh"):
        before = (folder / "out" / "run" / name).read_bytes()
        arguments = ["--checkpoint", "ckpt", "-o", f"out/run/{name}", "--force"]
        assert main(["attest", "out/run", *arguments]) == 2
        assert "is read to make it, so it is not overwritten" in capsys.readouterr().err
        assert (folder / "out" / "run" / name).read_bytes() == before
