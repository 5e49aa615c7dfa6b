"""`planc compile --check`: what is on disk and is not what the plan gives, why, and that nothing is written."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from planc.commands.main import main
from planc.compiler import Analysis, analyse
from planc.resources import read_text
from planc.version import VERSION
from tests.commands.cli import BROKEN, CLEAN, command, environment, planc

SCHEMAS = [json.loads(read_text(f"schemas/{name}.schema.json")) for name in ("check", "diagnostics")]
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMAS[0], registry=Registry().with_resources([(each["$id"], Resource.from_contents(each)) for each in SCHEMAS])
)

SCRIPT = "out/run/torchrun.sh"
CONFIG = "out/run/ds_config.json"
MANIFEST = "out/run/planc.manifest.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one plan, compiled."""
    (tmp_path / "planc.toml").touch()
    (tmp_path / "a.plan").write_text(CLEAN)
    compiled(tmp_path)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The outcome of `planc compile`, in this process: there are many of them."""
    printed, complained = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        status = main(["compile", *arguments])
    assert "Traceback" not in complained.getvalue(), complained.getvalue()
    return subprocess.CompletedProcess(arguments, status, printed.getvalue(), complained.getvalue())


def compiled(folder: Path, *arguments: str) -> None:
    outcome = run(folder, "a.plan", "-o", "out", *arguments)
    assert outcome.returncode == 0, outcome.stderr


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder, with when it was changed."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def checked(folder: Path, *arguments: str, expect: int = 1) -> subprocess.CompletedProcess[str]:
    """The outcome of a check; it changed nothing, and says the same as data."""
    before = state(folder)
    outcome = run(folder, "--check", *arguments)
    assert outcome.returncode == expect, outcome.stdout + outcome.stderr
    assert state(folder) == before
    return outcome


def found(folder: Path, *arguments: str, expect: int = 1) -> list[tuple[str, str, str]]:
    """Path, kind and reason of each finding of a check, which the text names as well."""
    text = checked(folder, *arguments, expect=expect).stdout
    data = document(folder, *arguments, expect=expect)
    findings = [(each["path"], each["kind"], each["reason"]) for one in data["folders"] for each in one["findings"]]
    assert [line for line in text.splitlines() if line.startswith("out/")] == [": ".join(each) for each in findings]
    return findings


def document(folder: Path, *arguments: str, expect: int) -> Any:
    data = json.loads(checked(folder, "--output-format", "json", *arguments, expect=expect).stdout)
    VALIDATOR.validate(data)
    return data


def edit_manifest(folder: Path, change: Callable[[Any], object]) -> None:
    """Changes a manifest as by hand."""
    data = json.loads((folder / MANIFEST).read_text())
    change(data)
    (folder / MANIFEST).write_text(json.dumps(data, indent=2) + "\n")


NAMED = ("a.plan", "-o", "out")
BOTH = pytest.mark.parametrize("how", [(), NAMED], ids=["all", "named"])


@BOTH
def test_what_was_compiled_is_what_the_plan_gives(folder: Path, how: tuple[str, ...]) -> None:
    assert checked(folder, *how, expect=0).stdout == "Found no differences in 1 compiled folder.\n"
    assert checked(folder, "--diff", *how, expect=0).stdout == "Found no differences in 1 compiled folder.\n"


@BOTH
def test_an_edited_file(folder: Path, how: tuple[str, ...]) -> None:
    with (folder / SCRIPT).open("a") as file:
        file.write("# mine\n")
    assert found(folder, *how) == [(SCRIPT, "edited", "it is not as planc wrote it")]
    outcome = checked(folder, *how)
    assert outcome.stdout.splitlines()[1:] == [
        " = help: `planc compile a.plan -o out --force` writes it anew",
        "",
        "Found 1 difference in 1 of 1 compiled folder.",
    ]


@BOTH
def test_a_changed_plan(folder: Path, how: tuple[str, ...]) -> None:
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    changed = "the plan has changed since it was compiled"
    assert found(folder, *how) == [(MANIFEST, "plan-changed", changed), (SCRIPT, "outdated", changed)]
    with (folder / SCRIPT).open("a") as file:
        file.write("# mine\n")
    edited = f"it is not as planc wrote it; besides, {changed}"
    assert found(folder, *how) == [(MANIFEST, "plan-changed", changed), (SCRIPT, "edited", edited)]


def test_a_plan_that_only_reads_otherwise_has_not_changed(folder: Path) -> None:
    (folder / "a.plan").write_text("# a comment\n" + CLEAN.replace("4Ki", "4096"))
    assert found(folder, expect=0) == []


def test_a_change_that_reaches_no_file_is_one_of_the_plan(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN.replace("4Ki", "8Ki"))
    assert [kind for _, kind, _ in found(folder)] == ["plan-changed"]


@BOTH
def test_another_planc(folder: Path, how: tuple[str, ...]) -> None:
    """Its version alone changes nothing; what it writes otherwise is told from an edit."""
    edit_manifest(folder, lambda data: data.update(planc="0.0.1"))
    assert found(folder, *how, expect=0) == []
    as_it_was_then(folder)
    reason = f"planc {VERSION} writes it otherwise than planc 0.0.1, which compiled it"
    assert found(folder, *how) == [(SCRIPT, "outdated", reason)]
    edit_manifest(folder, lambda data: data.update(planc=VERSION))
    assert found(folder, *how) == [(SCRIPT, "outdated", "planc writes it otherwise now, in the same version")]
    edit_manifest(folder, lambda data: data.update(planc="0.0.1"))
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    reason = f"the plan has changed, or what planc {VERSION} makes of it; planc 0.0.1 compiled it"
    assert found(folder, *how) == [(MANIFEST, "plan-changed", reason), (SCRIPT, "outdated", reason)]


def as_it_was_then(folder: Path) -> None:
    """The script as an earlier planc may have written it, in the manifest too."""
    (folder / SCRIPT).write_text("#!/bin/sh\n")

    def change(data: Any) -> None:
        entry = next(entry for entry in data["files"] if entry["path"] == "torchrun.sh")
        entry["sha256"] = hashlib.sha256(b"#!/bin/sh\n").hexdigest()

    edit_manifest(folder, change)


@BOTH
def test_a_missing_file(folder: Path, how: tuple[str, ...]) -> None:
    (folder / CONFIG).unlink()
    assert found(folder, *how) == [(CONFIG, "missing", "it is not there")]


@BOTH
def test_a_file_that_is_not_emitted_any_more(folder: Path, how: tuple[str, ...]) -> None:
    (folder / "a.plan").write_text(CLEAN.replace("[torchrun, deepspeed]", "[torchrun]"))
    changed = (MANIFEST, "plan-changed", "the plan has changed since it was compiled")
    script = (SCRIPT, "outdated", changed[2])
    assert found(folder, *how) == [changed, script, (CONFIG, "left-over", "it is not emitted any more")]
    (folder / CONFIG).write_text("{}")
    assert found(folder, *how) == [
        changed,
        script,
        (CONFIG, "left-over", "it is not emitted any more, and it was edited"),
    ]
    (folder / CONFIG).unlink()
    assert found(folder, *how) == [changed, script]


@BOTH
def test_a_file_of_the_users_where_one_is_due(folder: Path, how: tuple[str, ...]) -> None:
    edit_manifest(folder, lambda data: data["files"].pop(0))
    (folder / CONFIG).write_text("{}")
    assert found(folder, *how) == [(CONFIG, "unlisted", "it is not as planc writes it, nor in the manifest")]
    (folder / "out" / "run" / "notes.txt").write_text("not planc's")
    compiled(folder, "--force")
    assert found(folder, *how, expect=0) == []


@BOTH
def test_what_is_no_file(folder: Path, how: tuple[str, ...]) -> None:
    (folder / SCRIPT).unlink()
    (folder / SCRIPT).mkdir()
    (folder / CONFIG).rename(folder / "mine.json")
    (folder / CONFIG).symlink_to(folder / "mine.json")
    assert found(folder, *how) == [(CONFIG, "edited", "it is not a file"), (SCRIPT, "edited", "it is not a file")]
    (folder / SCRIPT).rmdir()
    (folder / SCRIPT).write_bytes(b"\xff\xfe")
    assert found(folder, *how)[1] == (SCRIPT, "edited", "it is not text")
    assert "/dev/null" not in checked(folder, "--diff", *how).stdout


@BOTH
def test_who_may_run_it(folder: Path, how: tuple[str, ...]) -> None:
    (folder / SCRIPT).chmod(0o644)
    (folder / CONFIG).chmod(0o755)
    assert found(folder, *how) == [(CONFIG, "mode", "it is executable"), (SCRIPT, "mode", "it is not executable")]


def test_a_missing_manifest_or_folder(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    reason = "the manifest is not there, so nothing says what planc wrote"
    assert found(folder, *NAMED) == [(MANIFEST, "manifest-missing", reason)]
    shutil.rmtree(folder / "out" / "run")
    assert found(folder, *NAMED) == [("out/run", "missing", "the folder is not there")]
    shutil.rmtree(folder / "out")
    assert found(folder, *NAMED) == [("out/run", "missing", "the folder is not there")]


@BOTH
@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b'"version"', b'{"version": 1}', b'{"version": 2}',
        b'{"version": "\\u001b[2J"}', b'{"version": true}',
        b"\xff", b"[" * 100_000, b'{"version": 1, "plan": {"name": "run", "file": 3}, "files": []}',
        b'{"version": 1, "plan": {"name": "run", "file": "a.plan"}, "files": [{"path": "x", "sha256": 1}]}',
    ],
    ids=range(13),
)  # fmt: skip
def test_a_broken_manifest(folder: Path, how: tuple[str, ...], text: bytes) -> None:
    (folder / MANIFEST).write_bytes(text)
    [(path, kind, reason)] = found(folder, *how)
    assert (path, kind) == (MANIFEST, "manifest-broken")
    assert reason.startswith("it ")
    assert reason.endswith(", so nothing says what planc wrote")
    assert "\x1b" not in checked(folder, *how).stdout


def test_a_later_manifest_is_said_to_be_one(folder: Path) -> None:
    edit_manifest(folder, lambda data: data.update(version=2))
    assert "it has form 2, and this planc knows form 1" in checked(folder).stdout


@BOTH
def test_a_run_that_was_cut_short(folder: Path, how: tuple[str, ...]) -> None:
    edit_manifest(folder, lambda data: data.update(replaced={"torchrun.sh": ["0" * 64]}))
    reason = "a run of `planc compile` was cut short while it replaced files"
    assert found(folder, *how) == [(MANIFEST, "cut-short", reason)]


@BOTH
def test_a_manifest_that_says_something_else(folder: Path, how: tuple[str, ...]) -> None:
    edit_manifest(folder, lambda data: data["files"][0].update(sha256="0" * 64))
    assert found(folder, *how) == [(MANIFEST, "manifest-outdated", "it does not say what planc writes here")]


def test_a_manifest_with_a_1_for_true_says_something_else(folder: Path) -> None:
    edit_manifest(folder, lambda data: data["files"][1].update(executable=1))
    assert [kind for _, kind, _ in found(folder)] == ["manifest-outdated"]


def test_a_manifest_cannot_lead_out_of_the_folder(folder: Path) -> None:
    entry = {"path": "../../precious", "sha256": "0" * 64, "executable": False}
    (folder / "precious").write_text("x")
    edit_manifest(folder, lambda data: data["files"].append(entry))
    assert [kind for _, kind, _ in found(folder)] == ["manifest-outdated"]
    for path in ("../a.plan", "/etc/passwd", "no\0thing", "\ud800"):
        edit_manifest(folder, lambda data, path=path: data["plan"].update(file=path))
        assert [kind for _, kind, _ in found(folder)] == ["plan-missing"]


def test_settings_and_targets_are_repeated(folder: Path) -> None:
    shutil.rmtree(folder / "out")
    compiled(folder, "--set", "batch.micro=2", "--target", "torchrun")
    assert found(folder, expect=0) == []
    assert found(folder, *NAMED, "--set", "batch.micro=2", "--target", "torchrun", expect=0) == []
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    help = "planc compile a.plan -o out --set batch.micro=2 --target torchrun"
    assert f" = help: `{help}` writes it anew\n" in checked(folder).stdout
    assert subprocess.run([*command(), *shlex.split(help)[1:]], cwd=folder, env=environment(), check=True)
    assert found(folder, expect=0) == []


def test_other_options_than_the_manifest_has(folder: Path) -> None:
    findings = found(folder, *NAMED, "--set", "batch.micro=2", "--target", "deepspeed")
    assert [(path, kind) for path, kind, _ in findings] == [
        (MANIFEST, "options-changed"), (MANIFEST, "options-changed"), (CONFIG, "outdated"),
    ]  # fmt: skip
    assert findings[0][2] == "compiled with no `--set`, checked with `--set batch.micro=2`"


def test_files_of_targets_that_were_not_chosen_stay_compared(folder: Path) -> None:
    compiled(folder, "--target", "torchrun")
    assert found(folder, expect=0) == []
    (folder / CONFIG).write_text("{}")
    assert found(folder) == [(CONFIG, "edited", "it is not as planc wrote it")]


def test_one_plan_of_several(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan second from run { }\n")
    assert [path for path, _, _ in found(folder, *NAMED)] == ["out/second"]
    assert found(folder, "--plan", "run", *NAMED, expect=0) == []
    assert found(folder, expect=0) == []


def test_another_plan_of_the_same_name(folder: Path) -> None:
    (folder / "b.plan").write_text(CLEAN)
    [(path, kind, reason)] = found(folder, "b.plan", "-o", "out")
    assert (path, kind) == (MANIFEST, "other-plan")
    assert reason == "compiled from plan `run` of `a.plan`, checked with `run` of `b.plan`"


@BOTH
def test_a_plan_with_errors(folder: Path, how: tuple[str, ...]) -> None:
    (folder / "a.plan").write_text(BROKEN)
    outcome = checked(folder, *how)
    assert outcome.stderr.startswith("error[PLN010]")
    assert "plan-faulty: `a.plan` has 1 error, so no files follow from it\n" in outcome.stdout
    assert [each["code"] for each in document(folder, *how, expect=1)["diagnostics"]] == ["PLN010"]


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        (lambda text: text.replace("plan run", "plan other"), "plan-faulty", "no plan `run`"),
        (lambda text: text.partition("plan run")[0], "plan-faulty", "`a.plan` defines no plan"),
        (lambda text: text.replace(", deepspeed]", "]"), "plan-faulty", "target `deepspeed` is not in `emit`"),
        (None, "plan-missing", "its plan, `a.plan` from the root of its project, is not there"),
    ],
)
def test_a_plan_that_gives_the_folder_no_more(
    folder: Path, change: Callable[[str], str] | None, kind: str, reason: str
) -> None:
    compiled(folder, "--target", "deepspeed")
    if change is None:
        (folder / "a.plan").unlink()
    else:
        (folder / "a.plan").write_text(change(CLEAN))
    [(path, found_kind, found_reason)] = found(folder)
    assert (path, found_kind) == (MANIFEST, kind)
    assert found_reason.startswith(reason)


def test_the_rest_is_checked_where_one_folder_cannot_be(folder: Path) -> None:
    outcome = planc("compile", "-", "-o", "piped", cwd=folder, stdin=CLEAN.encode())
    assert outcome.returncode == 0
    (folder / CONFIG).unlink()
    outcome = checked(folder, expect=2)
    assert f"{CONFIG}: missing: it is not there\n" in outcome.stdout
    assert "planc: cannot compare `piped/run`: its plan was read from standard input; name it" in outcome.stderr
    assert [each["folder"] for each in document(folder, expect=2)["unread"]] == ["piped/run"]
    named = planc("compile", "--check", "-", "-o", "piped", cwd=folder, stdin=CLEAN.encode())
    assert (named.returncode, named.stdout) == (0, "Found no differences in 1 compiled folder.\n")


def test_every_manifest_below_a_folder_is_found(folder: Path) -> None:
    (folder / "plans").mkdir()
    (folder / "plans" / "b.plan").write_text(CLEAN.replace("plan run", "plan second"))
    assert run(folder, "plans/b.plan", "-o", "plans/built").returncode == 0
    assert checked(folder, expect=0).stdout == "Found no differences in 2 compiled folders.\n"
    assert checked(folder, "-o", "plans", expect=0).stdout == "Found no differences in 1 compiled folder.\n"
    (folder / "plans" / "built" / "second" / "torchrun.sh").unlink()
    outcome = checked(folder / "plans", "-o", ".")
    assert (
        "built/second/torchrun.sh: missing: it is not there\n = help: `planc compile b.plan -o built`" in outcome.stdout
    )
    assert checked(folder / "plans" / "built", "-o", "..").returncode == 1
    assert "Found 1 difference in 1 of 2 compiled folders.\n" in checked(folder).stdout


def test_a_folder_that_was_moved_is_compared_where_it_is(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "out" / "run").rename(folder / "deep" / "kept")
    assert found(folder, expect=0) == []
    (folder / "deep" / "kept" / "torchrun.sh").unlink()
    assert "help" not in checked(folder).stdout


def test_a_project_within_a_project(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "planc.toml").touch()
    (inner / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    assert run(inner, "a.plan", "-o", "out").returncode == 0
    assert checked(folder, expect=0).stdout == "Found no differences in 2 compiled folders.\n"


def test_a_plan_outside_any_project(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "a.plan").write_text(CLEAN)
    assert run(tmp_path, "plans/a.plan", "-o", "plans/out").returncode == 0
    assert checked(tmp_path, expect=0).stdout == "Found no differences in 1 compiled folder.\n"
    assert run(tmp_path, "plans/a.plan", "-o", "out").returncode == 0
    assert [(path, kind) for path, kind, _ in found(tmp_path)] == [(MANIFEST, "plan-missing")]
    assert found(tmp_path, "plans/a.plan", "-o", "out", expect=0) == []


def test_a_file_above_the_project_is_not_its_plan(folder: Path) -> None:
    inner = folder / "inner"
    (folder / "planc.toml").rename(folder / "elsewhere.toml")
    inner.mkdir()
    (inner / "planc.toml").touch()
    (folder / "a.plan").rename(inner / "a.plan")
    (folder / "out").rename(inner / "out")
    assert checked(inner, expect=0)
    (inner / "a.plan").rename(folder / "a.plan")
    assert [kind for _, kind, _ in found(inner)] == ["plan-missing"]


def test_what_git_ignores_is_passed_over_and_may_be_named(folder: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".gitignore").write_text("out/\n")
    (folder / CONFIG).unlink()
    outcome = run(folder, "--check")
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "no `planc.manifest.json` below `.` (what git ignores is passed over); name the compiled" in outcome.stderr
    assert found(folder, "-o", "out") == [(CONFIG, "missing", "it is not there")]


def test_what_a_killed_run_left_is_no_compiled_folder(folder: Path) -> None:
    left = folder / "out" / ".run.planc-1" / "new"
    shutil.copytree(folder / "out" / "run", left)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (left / "torchrun.sh").unlink()
    assert checked(folder, expect=0).stdout == "Found no differences in 1 compiled folder.\n"


def test_a_diff_shows_what_would_be_written(folder: Path) -> None:
    (folder / SCRIPT).write_text("one\ttab\n\x1b[2J\u202e two\r\nlast")
    (folder / CONFIG).unlink()
    lines = checked(folder, "--diff").stdout.splitlines()
    assert f"--- /dev/null\ton disk\n+++ {CONFIG}\tas compiled\n" in "\n".join(lines)
    start = lines.index(f"--- {SCRIPT}\ton disk")
    assert lines[start + 1] == f"+++ {SCRIPT}\tas compiled"
    no_end = "\\ No newline at end of file"
    assert lines[start + 3 : start + 7] == ["-one\ttab", "-\\x1b[2J\\u202e two\\r", "-last", no_end]
    data = document(folder, "--diff", expect=1)
    diffs = [each["diff"] for each in data["folders"][0]["findings"]]
    assert all(text.startswith("--- ") for text in diffs)


def test_a_diff_can_be_applied(folder: Path) -> None:
    with (folder / SCRIPT).open("a") as file:
        file.write("# mine\n")
    diff = document(folder, "--diff", expect=1)["folders"][0]["findings"][0]["diff"]
    subprocess.run(["patch", "-p0", "--quiet"], input=diff, text=True, cwd=folder, check=True)
    assert found(folder, expect=0) == []


def test_a_huge_file_is_not_compared_line_by_line(folder: Path) -> None:
    (folder / CONFIG).write_text("[\n" * (1 << 20))
    assert "(too large to show)\n" in checked(folder, "--diff").stdout


def test_names_are_harmless_to_a_terminal(folder: Path) -> None:
    (folder / "out").rename(folder / "o\x1b[2J")
    (folder / "o\x1b[2J" / "run" / "torchrun.sh").unlink()
    outcome = checked(folder, "--diff")
    assert "o\\x1b[2J/run/torchrun.sh: missing" in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_colours_are_for_the_errors_of_a_plan(folder: Path) -> None:
    (folder / "a.plan").write_text(BROKEN)
    assert "\033[" in checked(folder, "--color", "always").stderr
    assert "\033[" not in checked(folder, "--color", "never").stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--check", "a.plan"], "name the folder with `-o DIR`, or no file, to check all"),
        (["a.plan"], "name the folder with `-o DIR`"),
        (["-o", "out"], "name the plan file: `planc compile FILE -o DIR`"),
        (["--check", "--force", "a.plan", "-o", "out"], "`--check` writes nothing, so there is nothing to `--force`"),
        (["--diff", "a.plan", "-o", "out"], "`--diff` shows what `--check` finds; write both"),
        (["--check", "--set", "a=1"], "without a file, `--check` takes plan, targets and settings from each manifest"),
        (["--check", "--plan", "run"], "without a file, `--check` takes plan, targets and settings from each manifest"),
        (["--check", "-o", ""], "the folder to write to is empty: `-o ''`"),
        (["--check", "-o", "nowhere"], "`nowhere` is no folder"),
        (["--check", "-o", "a.plan"], "`a.plan` is no folder"),
        (["--check", "nowhere.plan", "-o", "out"], "cannot read `nowhere.plan`: no such file or directory"),
    ],
)
def test_what_cannot_be_meant(folder: Path, arguments: list[str], reason: str) -> None:
    outcome = run(folder, *arguments)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", f"planc: {reason}\n")


def test_a_plan_that_emits_nothing(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN.replace("emit = [torchrun, deepspeed]", ""))
    outcome = checked(folder, *NAMED, expect=2)
    assert outcome.stderr == "planc: nothing to compare: no plan emits a target\n"
    assert [kind for _, kind, _ in found(folder)] == ["plan-changed", "left-over", "left-over"]


def test_a_file_is_analysed_once_for_all_its_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = CLEAN[CLEAN.index("plan run") :]
    (folder / "a.plan").write_text(CLEAN + "".join(plan.replace("plan run", f"plan run_{at}") for at in range(3)))
    compiled(folder)
    assert run(folder, "a.plan", "-o", "wide", "--set", "batch.micro=2").returncode == 0
    shutil.copytree(folder / "out" / "run", folder / "copies" / "run")
    settings: list[tuple[str, ...]] = []

    def counted(*arguments: Any) -> Analysis:
        settings.append(arguments[2])
        return analyse(*arguments)

    monkeypatch.setattr("planc.commands.compiling.analyse", counted)
    outcome = run(folder, "--check")
    assert outcome.stdout == "Found no differences in 9 compiled folders.\n"
    assert settings == [(), ("batch.micro=2",)]


def test_it_waits_for_a_run_that_writes(folder: Path) -> None:
    out = os.open(folder / "out", os.O_RDONLY)
    fcntl.flock(out, fcntl.LOCK_EX)
    with subprocess.Popen(
        command("compile", "--check"), cwd=folder, env=environment(), stdout=subprocess.DEVNULL
    ) as run:
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(1.5)
        os.close(out)
        assert run.wait(60) == 0
