"""`planc compile` through its command line: what it writes, what it leaves alone, and that it is all or nothing."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, command, environment, planc

FILES = ["ds_config.json", "planc.manifest.json", "torchrun.sh"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one clean plan."""
    (tmp_path / "planc.toml").touch()
    (tmp_path / "a.plan").write_text(CLEAN)
    return tmp_path


def compiled(folder: Path, *arguments: str, expect: int = 0, file: str = "a.plan") -> Any:
    outcome = planc("compile", file, "-o", "out", *arguments, cwd=folder)
    assert outcome.returncode == expect, outcome.stderr
    assert not list(folder.glob("**/.*planc-*")), "a temporary folder was left behind"
    return outcome


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def manifest(folder: Path) -> Any:
    return json.loads((folder / "out" / "run" / "planc.manifest.json").read_text())


def test_the_names_of_what_is_written_are_harmless_to_a_terminal(folder: Path) -> None:
    for verb in ("wrote", "unchanged"):
        outcome = planc("compile", "a.plan", "-o", "o\x1b[2J\n", cwd=folder)
        names = [f"o\\x1b[2J\\n/run/{name}" for name in ("ds_config.json", "torchrun.sh")]
        assert outcome.stdout == "".join(f"{verb} {name}\n" for name in names)


def test_it_writes_every_file_and_a_manifest(folder: Path) -> None:
    outcome = compiled(folder)
    assert outcome.stdout == "wrote out/run/ds_config.json\nwrote out/run/torchrun.sh\n"
    assert sorted(content(folder / "out" / "run")) == FILES
    assert os.access(folder / "out" / "run" / "torchrun.sh", os.X_OK)
    assert not os.access(folder / "out" / "run" / "ds_config.json", os.X_OK)
    found = manifest(folder)
    jsonschema.validate(found, json.loads(read_text("schemas/manifest.schema.json")))
    assert found["plan"]["name"] == "run"
    assert found["plan"]["file"] == "a.plan"
    assert found.keys() == {"version", "planc", "plan", "files"}
    for entry in found["files"]:
        written = (folder / "out" / "run" / entry["path"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(written).hexdigest()
        assert entry["executable"] == os.access(folder / "out" / "run" / entry["path"], os.X_OK)


def test_the_manifest_tells_what_else_made_the_files(folder: Path) -> None:
    compiled(folder, "--set", "batch.micro=2", "--set", "batch.micro=4", "--target", "torchrun")
    found = manifest(folder)
    jsonschema.validate(found, json.loads(read_text("schemas/manifest.schema.json")))
    assert (found["settings"], found["targets"]) == (["batch.micro=2", "batch.micro=4"], ["torchrun"])


def test_the_same_plan_gives_the_same_bytes(folder: Path) -> None:
    compiled(folder)
    again = folder / "elsewhere" / "deep"
    again.mkdir(parents=True)
    outcome = planc("compile", "../../a.plan", "-o", "x", cwd=again, PYTHONHASHSEED="7", TZ="Asia/Tokyo", USER="other")
    assert outcome.returncode == 0
    assert content(again / "x") == content(folder / "out")


def test_a_second_run_touches_nothing(folder: Path) -> None:
    compiled(folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "out" / "run").iterdir()}
    outcome = compiled(folder)
    assert outcome.stdout == "unchanged out/run/ds_config.json\nunchanged out/run/torchrun.sh\n"
    assert {path: path.stat().st_mtime_ns for path in (folder / "out" / "run").iterdir()} == before


def test_the_plan_hash_follows_the_meaning_not_the_text(folder: Path) -> None:
    compiled(folder)
    first = manifest(folder)["plan"]["sha256"]
    (folder / "a.plan").write_text("# a comment\n" + CLEAN.replace("4Ki", "4096").replace("80 GiB", "81920 MiB"))
    compiled(folder)
    assert manifest(folder)["plan"]["sha256"] == first
    (folder / "a.plan").write_text(CLEAN.replace("4Ki", "8Ki"))
    compiled(folder)
    assert manifest(folder)["plan"]["sha256"] != first


def test_an_error_writes_nothing(folder: Path) -> None:
    (folder / "a.plan").write_text(BROKEN)
    outcome = compiled(folder, expect=1)
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error[PLN010]")
    assert outcome.stderr.endswith("\nplanc: nothing was written\n")
    assert not (folder / "out").exists()


def test_an_error_leaves_what_is_there(folder: Path) -> None:
    compiled(folder)
    before = content(folder / "out")
    (folder / "a.plan").write_text(BROKEN)
    compiled(folder, "--force", expect=1)
    assert content(folder / "out") == before


def test_a_changed_plan_replaces_files_and_leaves_the_users_own(folder: Path) -> None:
    compiled(folder)
    (folder / "out" / "run" / "logs").mkdir()
    (folder / "out" / "run" / "logs" / "1.log").write_text("step 1")
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    outcome = compiled(folder)
    assert "wrote out/run/torchrun.sh\n" in outcome.stdout
    assert "other.py" in (folder / "out" / "run" / "torchrun.sh").read_text()
    assert (folder / "out" / "run" / "logs" / "1.log").read_text() == "step 1"
    assert os.access(folder / "out" / "run" / "torchrun.sh", os.X_OK)
    assert "replaced" not in manifest(folder)


def test_an_edited_file_is_kept_without_force(folder: Path) -> None:
    compiled(folder)
    script = folder / "out" / "run" / "torchrun.sh"
    script.write_text(script.read_text() + "# my line\n")
    before = content(folder / "out")
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py").replace("stage = 1", "stage = 2"))
    outcome = compiled(folder, expect=2)
    assert "not as planc wrote it: `out/run/torchrun.sh`; nothing was written" in outcome.stderr
    assert content(folder / "out") == before
    compiled(folder, "--force")
    assert "my line" not in script.read_text()


def test_an_edit_that_the_plan_does_not_touch_is_noticed_too(folder: Path) -> None:
    compiled(folder)
    (folder / "out" / "run" / "torchrun.sh").write_text("mine")
    compiled(folder, expect=2)


def test_a_plan_of_the_same_name_in_another_file_keeps_its_folder(folder: Path) -> None:
    compiled(folder)
    before = content(folder / "out")
    (folder / "jobs").mkdir()
    (folder / "jobs" / "b.plan").write_text(CLEAN.replace("train.py", "other.py"))
    outcome = compiled(folder, expect=2, file="jobs/b.plan")
    assert outcome.stderr.endswith(
        "planc: `out/run` holds plan `run` of `a.plan`; nothing was written, name another folder, "
        "or `--force` replaces its files\n"
    )
    assert content(folder / "out") == before
    compiled(folder, "--force", file="jobs/b.plan")
    assert manifest(folder)["plan"]["file"] == "jobs/b.plan"


def test_a_plan_file_that_was_renamed_keeps_its_folder(folder: Path) -> None:
    compiled(folder)
    (folder / "a.plan").rename(folder / "b.plan")
    compiled(folder, file="b.plan")
    assert manifest(folder)["plan"]["file"] == "b.plan"


def test_plans_whose_names_differ_only_in_case_are_not_written_at_once(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan RUN from run { }\n")
    outcome = compiled(folder, expect=2)
    assert "plans `run` and `RUN` share a folder where case does not count" in outcome.stderr
    assert not (folder / "out").exists()
    compiled(folder, "--plan", "RUN")


def test_a_file_that_planc_did_not_write_is_not_overwritten(folder: Path) -> None:
    (folder / "out" / "run").mkdir(parents=True)
    (folder / "out" / "run" / "ds_config.json").write_text("{}")
    compiled(folder, expect=2)
    assert sorted(content(folder / "out" / "run")) == ["ds_config.json"]
    compiled(folder, "--force")
    assert sorted(content(folder / "out" / "run")) == FILES


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": [{"path": 1}]}', "\x00", "[" * 100_000])
def test_a_broken_manifest_protects_every_file(folder: Path, text: str) -> None:
    compiled(folder)
    (folder / "out" / "run" / "planc.manifest.json").write_text(text)
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    compiled(folder, expect=2)
    compiled(folder, "--force")
    assert manifest(folder)["plan"]["name"] == "run"


def test_a_file_that_is_not_emitted_any_more_is_removed_unless_it_was_edited(folder: Path) -> None:
    compiled(folder)
    (folder / "a.plan").write_text(CLEAN.replace("[torchrun, deepspeed]", "[torchrun]"))
    outcome = compiled(folder)
    assert "removed out/run/ds_config.json\n" in outcome.stdout
    assert "ds_config.json" not in content(folder / "out" / "run")
    (folder / "a.plan").write_text(CLEAN)
    compiled(folder)
    (folder / "out" / "run" / "ds_config.json").write_text("{}")
    (folder / "a.plan").write_text(CLEAN.replace("[torchrun, deepspeed]", "[torchrun]"))
    outcome = compiled(folder)
    assert "kept out/run/ds_config.json (not emitted any more, but edited)\n" in outcome.stdout
    assert (folder / "out" / "run" / "ds_config.json").read_text() == "{}"


def test_a_manifest_cannot_make_planc_remove_other_files(folder: Path) -> None:
    compiled(folder)
    (folder / "precious").write_text("x")
    found = manifest(folder)
    digest = hashlib.sha256(b"x").hexdigest()
    for path in ("../../precious", str(folder / "precious")):
        found["files"].append({"path": path, "sha256": digest, "executable": False})
    (folder / "out" / "run" / "planc.manifest.json").write_text(json.dumps(found))
    compiled(folder)
    assert (folder / "precious").exists()


def test_a_run_that_was_killed_half_way_is_healed_by_the_next(folder: Path) -> None:
    compiled(folder)
    old = content(folder / "out" / "run")
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py").replace("stage = 1", "stage = 2"))
    stop = (
        "import os, sys\n"
        "from planc.commands import main, writing\n"
        "steps, replace = iter(range(9)), os.replace\n"
        "def dies(source, target):\n"
        "    if next(steps) == int(sys.argv[1]): os._exit(9)\n"
        "    replace(source, target)\n"
        "writing.os.replace = dies\n"
        "sys.exit(main.main(['compile', 'a.plan', '-o', 'out']))\n"
    )
    for step in range(4):
        arguments = [*command()[:1], "-c", stop, str(step)]
        killed = subprocess.run(arguments, cwd=folder, env=environment(), capture_output=True, check=False)
        assert killed.returncode == 9, killed.stderr
        assert list((folder / "out").glob(".run.planc-*")), "the run did not die where it should"
        plan = (folder / "a.plan").read_text()
        (folder / "a.plan").write_text(plan.replace("other.py", f"other{step}.py"))
        outcome = planc("compile", "a.plan", "-o", "out", cwd=folder)  # neither old nor new: a third version
        assert outcome.returncode == 0, outcome.stderr
        assert "replaced" not in manifest(folder)
        (folder / "a.plan").write_text(CLEAN)
        assert planc("compile", "a.plan", "-o", "out", cwd=folder).returncode == 0
        assert content(folder / "out" / "run") == old
        assert [path.name for path in (folder / "out").iterdir()] == ["run"]
        (folder / "a.plan").write_text(plan)


def test_only_what_a_killed_run_left_is_swept(folder: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = folder / "out" / f".run.planc-{gone.pid}"
    alive = folder / "out" / f".run.planc-{os.getpid()}"
    mine = folder / "out" / f".mine.planc-{gone.pid}"
    linked = folder / "out" / f".linked.planc-{gone.pid}"
    for path in (left / "new", left / "old", alive / "new", mine / "notes", folder / "elsewhere" / "new"):
        path.mkdir(parents=True)
    linked.symlink_to(folder / "elsewhere")
    (left / "new" / "torchrun.sh").write_text("half of it")
    assert planc("compile", "--check", "a.plan", "-o", "out", cwd=folder).returncode == 1
    assert left.exists()
    assert planc("compile", "a.plan", "-o", "out", cwd=folder).returncode == 0
    assert {path.name for path in (folder / "out").iterdir()} == {"run", alive.name, mine.name, linked.name}
    assert (folder / "elsewhere" / "new").exists()


def test_a_failure_half_way_is_undone(folder: Path) -> None:
    compiled(folder)
    before = content(folder / "out" / "run")
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py").replace("stage = 1", "stage = 2"))
    fail = (
        "import sys\n"
        "from planc.commands import main, writing\n"
        "replace, calls = writing.os.replace, []\n"
        "def fails(source, target):\n"
        "    calls.append(target)\n"
        "    if len(calls) == int(sys.argv[1]): raise PermissionError(13, 'Permission denied')\n"
        "    replace(source, target)\n"
        "writing.os.replace = fails\n"
        "sys.exit(main.main(['compile', 'a.plan', '-o', 'out']))\n"
    )
    for step in range(1, 5):
        arguments = [*command()[:1], "-c", fail, str(step)]
        failed = subprocess.run(arguments, cwd=folder, env=environment(), capture_output=True, check=False)
        assert failed.returncode == 2
        assert failed.stderr.endswith(b"planc: cannot write to `out/run`: permission denied\n")
        assert content(folder / "out" / "run") == before
        assert [path.name for path in (folder / "out").iterdir()] == ["run"]


def test_a_disk_that_is_full(folder: Path) -> None:
    compiled(folder)
    before = content(folder)
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    arguments = [*command("compile", "a.plan", "-o")]
    for output in ("out", "new/deep"):
        outcome = subprocess.run(
            [*arguments, output], cwd=folder, env=environment(PYTHONDONTWRITEBYTECODE="1"), capture_output=True,
            preexec_fn=small_files, check=False,
        )  # fmt: skip
        assert outcome.returncode == 2
        assert outcome.stderr.endswith(b"file too large\n"), outcome.stderr
    after = content(folder)
    assert after.pop("a.plan") != before.pop("a.plan")
    assert after == before
    assert not (folder / "new").exists()


def test_an_empty_name_for_the_folder_is_refused(folder: Path) -> None:
    outcome = planc("compile", "a.plan", "-o", "", cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (2, "planc: the folder to write to is empty: `-o ''`\n")
    assert not (folder / "run").exists()


def test_folders_that_cannot_be_written_to(folder: Path) -> None:
    (folder / "out").write_text("a file")
    assert "planc: cannot write to `out/run`: " in compiled(folder, expect=2).stderr
    (folder / "out").unlink()
    (folder / "out").mkdir()
    (folder / "out" / "run").write_text("a file")
    assert "planc: cannot write to `out/run`: " in compiled(folder, expect=2).stderr
    assert (folder / "out" / "run").read_text() == "a file"
    outcome = planc("compile", "a.plan", "-o", "/proc/planc", cwd=folder)
    assert outcome.returncode == 2
    assert outcome.stderr.endswith("planc: cannot write to `/proc/planc/run`: no such file or directory\n")


def test_a_folder_in_the_way_of_a_file_is_never_overwritten(folder: Path) -> None:
    (folder / "out" / "run" / "torchrun.sh").mkdir(parents=True)
    assert "no file, and never replaced: `out/run/torchrun.sh`" in compiled(folder, "--force", expect=2).stderr
    assert "not as planc wrote it: `out/run/torchrun.sh`" in compiled(folder, expect=2).stderr


def test_a_pipe_in_the_way_of_a_file_is_never_replaced(folder: Path) -> None:
    (folder / "out" / "run").mkdir(parents=True)
    os.mkfifo(folder / "out" / "run" / "torchrun.sh")
    assert "no file, and never replaced: `out/run/torchrun.sh`" in compiled(folder, "--force", expect=2).stderr
    assert "not as planc wrote it: `out/run/torchrun.sh`" in compiled(folder, expect=2).stderr
    assert (folder / "out" / "run" / "torchrun.sh").is_fifo()


def test_a_file_that_was_read_is_never_overwritten(folder: Path) -> None:
    (folder / "out" / "run").mkdir(parents=True)
    (folder / "out" / "run" / "torchrun.sh").write_text("# words of a plan\n")
    (folder / "a.plan").write_text(f'use "out/run/torchrun.sh"\n{CLEAN}')
    outcome = compiled(folder, "--force", expect=2)
    assert "planc: `out/run/torchrun.sh` is read to make it, so it is not overwritten; name another\n" in outcome.stderr
    assert (folder / "out" / "run" / "torchrun.sh").read_text() == "# words of a plan\n"


def test_linked_folders_are_followed_and_linked_files_replaced(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "out").symlink_to("real")
    compiled(folder)
    assert sorted(content(folder / "real" / "run")) == FILES
    (folder / "real" / "run").rename(folder / "moved")
    (folder / "real" / "run").symlink_to(folder / "moved")
    (folder / "a.plan").write_text(CLEAN.replace("train.py", "other.py"))
    compiled(folder)
    assert "other.py" in (folder / "moved" / "torchrun.sh").read_text()
    assert (folder / "real" / "run").is_symlink()
    (folder / "moved" / "torchrun.sh").rename(folder / "mine.sh")
    (folder / "moved" / "torchrun.sh").symlink_to(folder / "mine.sh")
    mine = (folder / "mine.sh").read_text()
    (folder / "a.plan").write_text(CLEAN)
    compiled(folder, expect=2)
    compiled(folder, "--force")
    assert (folder / "mine.sh").read_text() == mine
    assert not (folder / "moved" / "torchrun.sh").is_symlink()


def test_one_plan_of_several(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan second from run { }\n")
    compiled(folder, "--plan", "second")
    assert [path.name for path in (folder / "out").iterdir()] == ["second"]
    outcome = compiled(folder, "--plan", "secnd", expect=2)
    assert "no plan `secnd`; did you mean `second`?; there are `run`, `second`" in outcome.stderr
    compiled(folder)
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["run", "second"]


def test_one_target_of_several(folder: Path) -> None:
    outcome = compiled(folder, "--target", "torchrun")
    assert outcome.stdout == "wrote out/run/torchrun.sh\n"
    outcome = compiled(folder, "--target", "slurm", expect=2)
    assert "target `slurm` is not in `emit`; the plan emits `deepspeed`, `torchrun`" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "`a.plan` defines no plan"),
        ("\n".join(CLEAN.splitlines()[:3]), "`a.plan` defines no plan"),
        (CLEAN.replace("emit = [torchrun, deepspeed]", ""), "nothing to write: no plan emits a target"),
    ],
)
def test_nothing_to_write_is_2(folder: Path, text: str, reason: str) -> None:
    (folder / "a.plan").write_text(text)
    assert f"planc: {reason}\n" in compiled(folder, expect=2).stderr


def test_standard_input_is_compiled_too(folder: Path) -> None:
    outcome = planc("compile", "-", "-o", "out", cwd=folder, stdin=CLEAN.encode())
    assert outcome.returncode == 0
    assert manifest(folder)["plan"]["file"] == "-"


def test_a_closed_standard_output_hinders_no_writing(folder: Path) -> None:
    outcome = subprocess.run(
        ["bash", "-c", '"$@" >&-', "bash", *command("compile", "a.plan", "-o", "out")],
        cwd=folder, env=environment(), capture_output=True, check=False,
    )  # fmt: skip
    assert outcome.returncode == 0
    assert sorted(content(folder / "out" / "run")) == FILES


def test_the_umask_decides_who_may_read(folder: Path) -> None:
    previous = os.umask(0o077)
    try:
        compiled(folder)
    finally:
        os.umask(previous)
    assert (folder / "out" / "run").stat().st_mode & 0o777 == 0o700
    assert (folder / "out" / "run" / "torchrun.sh").stat().st_mode & 0o777 == 0o700
    assert (folder / "out" / "run" / "ds_config.json").stat().st_mode & 0o777 == 0o600


def test_runs_at_once_take_turns(folder: Path) -> None:
    """Else each would replace some of the other's files, and the manifest would speak of neither."""
    compiled(folder)
    before = content(folder / "out")
    out = os.open(folder / "out", os.O_RDONLY)
    fcntl.flock(out, fcntl.LOCK_EX)
    later = command("compile", "a.plan", "-o", "out", "--set", "batch.global=8")
    with subprocess.Popen(later, cwd=folder, env=environment(), stdout=subprocess.DEVNULL) as run:
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(2)
        assert content(folder / "out") == before
        os.close(out)
        assert run.wait(60) == 0
    assert content(folder / "out") != before


def test_files_of_targets_that_were_not_chosen_stay(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(CLEAN)
    assert planc("compile", "a.plan", "-o", "out", cwd=tmp_path).returncode == 0
    outcome = planc("compile", "a.plan", "-o", "out", "--target", "torchrun", cwd=tmp_path)
    assert (outcome.returncode, "removed" in outcome.stdout) == (0, False)
    listed = [entry["path"] for entry in json.loads((tmp_path / "out/run/planc.manifest.json").read_text())["files"]]
    assert listed == ["ds_config.json", "torchrun.sh"]
    (tmp_path / "a.plan").write_text(CLEAN.replace("global = 64", "global = 32"))  # now that one is out of date
    outcome = planc("compile", "a.plan", "-o", "out", "--target", "torchrun", cwd=tmp_path)
    assert "removed out/run/ds_config.json\n" in outcome.stdout


@pytest.mark.parametrize(("text", "status", "errors"), [(CLEAN, 0, 0), (BROKEN, 1, 1)])
def test_diagnostics_as_data(tmp_path: Path, text: str, status: int, errors: int) -> None:
    (tmp_path / "a.plan").write_text(text)
    outcome = planc("compile", "a.plan", "-o", "out", "--output-format", "json", cwd=tmp_path)
    document = json.loads(outcome.stdout)
    jsonschema.validate(document, json.loads(read_text("schemas/diagnostics.schema.json")))
    assert (outcome.returncode, document["errors"]) == (status, errors)
    assert (tmp_path / "out").exists() == (status == 0)
