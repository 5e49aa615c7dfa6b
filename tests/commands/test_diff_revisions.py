"""`planc diff` with revisions of a git repository: what is read from them, and what git cannot say."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.commands.cli import CLEAN, planc

#: Nobody's settings, nor those of a hook that runs the tests.
NOBODY = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "init.defaultBranch=main", *arguments]
    subprocess.run(command, cwd=folder, env=kept | NOBODY, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository whose plan had one node, and then two; on disk it has three."""
    root = tmp_path / "work"
    (root / "plans").mkdir(parents=True)
    git(root, "init", "-q")
    for nodes in (1, 2):
        (root / "plans" / "a.plan").write_text(CLEAN.replace("nodes = 1", f"nodes = {nodes}"))
        commit(root, f"{nodes} nodes")
    (root / "plans" / "a.plan").write_text(CLEAN.replace("nodes = 1", "nodes = 3"))
    return root


def compared(folder: Path, *arguments: str) -> Any:
    outcome = planc("diff", *arguments, "--output-format", "json", cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return json.loads(outcome.stdout)["comparisons"]


def nodes(comparison: Any) -> list[Any]:
    (plan,) = comparison["plans"]
    (change,) = (each for each in plan["fields"] if each["path"] == "cluster.nodes")
    return [change["old"]["value"], change["new"]["value"]]


def test_a_file_of_a_revision(folder: Path) -> None:
    (found,) = compared(folder, "plans/a.plan@HEAD~1", "plans/a.plan")
    assert (found["old"], found["new"]) == ("plans/a.plan@HEAD~1", "plans/a.plan")
    assert nodes(found) == [1, 3]
    change = found["plans"][0]["fields"][0]
    assert change["old"]["file"] == "plans/a.plan@HEAD~1"
    (found,) = compared(folder, "plans/a.plan@HEAD~1", "plans/a.plan@HEAD")
    assert nodes(found) == [1, 2]
    (found,) = compared(folder / "plans", "a.plan", "./a.plan@HEAD@{0}")
    assert nodes(found) == [3, 2]


def test_a_file_against_a_revision(folder: Path) -> None:
    (found,) = compared(folder, "--against", "HEAD", "plans/a.plan")
    assert nodes(found) == [2, 3]
    (found,) = compared(folder / "plans", "--against", "main~1", "a.plan")
    assert nodes(found) == [1, 3]
    (found,) = compared(folder, "--against", "HEAD", "plans/a.plan", "--set", "cluster.nodes=8")
    assert nodes(found) == [2, 8]


def test_folders_against_a_revision_show_the_files_that_differ(folder: Path) -> None:
    (folder / "plans" / "same.plan").write_text(CLEAN)
    (folder / "plans" / "gone.plan").write_text(CLEAN)
    (folder / "other").mkdir()
    (folder / "other" / "b.plan").write_text(CLEAN)
    commit(folder, "three nodes, and more files")
    (folder / "plans" / "gone.plan").unlink()
    (folder / "plans" / "new.plan").write_text(CLEAN)
    (folder / "other" / "b.plan").write_text(CLEAN.replace("nodes = 1", "nodes = 9"))
    (folder / ".gitignore").write_text("ignored.plan\n")
    (folder / "plans" / "ignored.plan").write_text(CLEAN)
    found = compared(folder, "--against", "HEAD")
    assert [each["new"] for each in found] == ["other/b.plan", "plans/gone.plan", "plans/new.plan"]
    assert [len(each["gone"]) for each in found] == [0, 1, 0]
    assert [len(each["added"]) for each in found] == [0, 0, 1]
    assert [each["new"] for each in compared(folder, "--against", "HEAD", "plans")] == [
        "plans/gone.plan",
        "plans/new.plan",
    ]
    assert [each["new"] for each in compared(folder / "plans", "--against", "HEAD")] == ["gone.plan", "new.plan"]
    assert [each["new"] for each in compared(folder / "plans", "--against", "HEAD", "../other")] == ["../other/b.plan"]
    (found,) = compared(folder, "--against", "HEAD", "plans/gone.plan")
    assert found["gone"]


def test_what_cannot_be_read_in_a_folder(folder: Path) -> None:
    (folder / "plans" / "new.plan").write_bytes(b"\x00")
    found = compared(folder, "--against", "HEAD", "plans")
    assert [each["new"] for each in found] == ["plans/a.plan", "plans/new.plan"]
    assert [each["code"] for each in found[1]["diagnostics"]["came"]] == ["PLN004"]
    (folder / "plans" / "dangling.plan").symlink_to("nowhere.plan")
    said = "planc: cannot read `plans/dangling.plan`: no such file or directory\n"
    assert refused(folder, "--against", "HEAD", "plans") == said


def test_nothing_differs(folder: Path) -> None:
    commit(folder, "three nodes")
    for style in ([], ["--markdown"]):
        outcome = planc("diff", "--against", "HEAD", "--exit-code", *style, cwd=folder)
        assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "No plan differs.\n", "")
    assert compared(folder, "--against", "HEAD") == []
    (folder / "plans" / "a.plan").write_text(CLEAN)
    assert planc("diff", "--against", "HEAD", "--exit-code", cwd=folder).returncode == 1


def test_one_plan_against_a_revision(folder: Path) -> None:
    (folder / "plans" / "b.plan").write_text(CLEAN.replace("plan run", "plan walk"))
    found = compared(folder, "--against", "HEAD", "--plan", "walk")
    assert [each["new"] for each in found] == ["plans/b.plan"]


def test_what_a_file_uses_is_of_its_revision(folder: Path) -> None:
    used, plan = CLEAN[: CLEAN.index("plan run")], CLEAN[CLEAN.index("plan run") :]
    (folder / "used.plan").write_text(used)
    (folder / "plans" / "a.plan").write_text(f'use "../used.plan"\n{plan}')
    commit(folder, "a file that is used")
    (folder / "used.plan").write_text(used.replace("nodes = 1", "nodes = 7"))
    (found,) = compared(folder, "--against", "HEAD", "plans")
    assert nodes(found) == [1, 7]
    change = found["plans"][0]["fields"][0]
    assert change["old"]["file"] == "used.plan@HEAD"
    (folder / "used.plan").unlink()
    (found,) = compared(folder, "--against", "HEAD", "plans/a.plan")
    assert "PLN022" in [each["code"] for each in found["diagnostics"]["came"]]
    assert {each["kind"] for each in found["plans"][0]["numbers"]} == {"gone"}


def test_the_configuration_of_today_judges_both_sides(folder: Path) -> None:
    commit(folder, "three nodes")
    (folder / "planc.toml").write_text('ignore = ["PLN302"]\n')
    (found,) = compared(folder, "--against", "HEAD~1", "plans/a.plan")
    for plan in found["plans"]:
        assert "PLN302" not in [each["code"] for side in ("came", "went") for each in plan["diagnostics"][side]]


def test_a_file_whose_name_has_an_at_is_a_file(folder: Path) -> None:
    (folder / "a.plan@HEAD").write_text(CLEAN.replace("nodes = 1", "nodes = 5"))
    (found,) = compared(folder, "a.plan@HEAD", "plans/a.plan")
    assert nodes(found) == [5, 3]


def test_a_hook_in_another_repository_is_no_hindrance(folder: Path) -> None:
    outcome = planc("diff", "--against", "HEAD", "plans/a.plan", cwd=folder, GIT_DIR="/nonexistent", GIT_INDEX_FILE="x")
    assert (outcome.returncode, outcome.stderr) == (0, "")


def refused(folder: Path, *arguments: str, **changes: str) -> str:
    outcome = planc("diff", *arguments, cwd=folder, **changes)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


def test_what_git_cannot_say_is_one_line(folder: Path, tmp_path: Path) -> None:
    for name in ("HEAD~99", "no-such-branch", "--output=x", "HEAD:plans/a.plan"):
        said = f"planc: `{name}` is no revision of the repository in `.`\n"
        assert refused(folder, f"--against={name}", "plans/a.plan") == said
    assert refused(folder, "plans/a.plan@HEAD~99", "plans/a.plan").startswith("planc: `HEAD~99` is no revision")
    absent = "planc: cannot read `no.plan@HEAD`: no such file in that revision\n"
    assert refused(folder, "no.plan@HEAD", "plans/a.plan") == absent
    assert refused(folder, "--against", "HEAD", "no.plan") == (
        "planc: there is no `no.plan`, neither here nor in `HEAD`: no such file in that revision\n"
    )
    (tmp_path / "b.plan").write_text(CLEAN)
    assert refused(tmp_path, "--against", "HEAD", "b.plan") == "planc: `.` lies in no git repository\n"
    assert refused(tmp_path, "b.plan@HEAD", "b.plan") == "planc: `.` lies in no git repository\n"
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    without = refused(folder, "--against", "HEAD", "plans/a.plan", PATH=str(nowhere))
    assert without == "planc: there is no `git`, which reads the files of a revision\n"


def test_a_shallow_clone_says_so(folder: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", "shallow")
    said = refused(tmp_path / "shallow", "--against", "HEAD~1", "plans/a.plan")
    assert said.endswith("; the clone is shallow, and `git fetch --unshallow` gets the others\n")


def test_what_lies_in_a_revision_need_be_no_plan(folder: Path) -> None:
    (folder / "plans" / "a.plan").write_bytes(b"\xff\xfe")
    (folder / "dir.plan").mkdir()
    (folder / "dir.plan" / "x").write_text("x")
    commit(folder, "no text, and a folder")
    (folder / "plans" / "a.plan").write_text(CLEAN)
    (found,) = compared(folder, "--against", "HEAD", "plans/a.plan")
    assert [each["code"] for each in found["diagnostics"]["went"]] == ["PLN004"]
    said = refused(folder, "dir.plan@HEAD", "plans/a.plan")
    assert said == "planc: cannot read `dir.plan@HEAD`: it is not a file in that revision\n"
    (folder / "big.plan").write_text("#" * (1 << 20) + "\n")
    commit(folder, "too large")
    (found,) = compared(folder, "big.plan@HEAD", "plans/a.plan")
    assert [each["code"] for each in found["diagnostics"]["went"]] == ["PLN002"]
