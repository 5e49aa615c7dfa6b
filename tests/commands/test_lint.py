"""`planc lint` through its command line: which files it reads, what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

from planc.commands.files import Files
from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, command, environment, planc

WARNED = CLEAN.replace("[torchrun, deepspeed]", "[torchrun]").replace("script =", "timeout = 30 min  script =")


#: What is said last of BROKEN alone.
HINT = "1 fault can be mended with `--unsafe-fixes`.\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.plan").write_text(text)


def test_a_clean_file_is_0(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "Found no faults in 1 file.\n", "")


def test_an_error_is_1_and_stands_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN, b=BROKEN)
    outcome = planc("lint", "a.plan", "b.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("error[PLN010]: no model is called `smal`\n --> b.plan:4:20\n4 | plan run {")
    assert outcome.stdout.endswith(f"\n\nFound 1 error in 2 files.\n{HINT}")


def test_a_warning_is_0(tmp_path: Path) -> None:
    write(tmp_path, a=WARNED)
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 0
    assert outcome.stdout.startswith("warning[PLN905]")
    assert outcome.stdout.endswith("Found 1 warning in 1 file.\n")


def test_what_cannot_be_read_is_2_and_the_others_are_still_linted(tmp_path: Path) -> None:
    write(tmp_path, b=BROKEN)
    outcome = planc("lint", "gone\x1b.plan", "b.plan", cwd=tmp_path)
    assert outcome.returncode == 2
    assert "error[PLN010]" in outcome.stdout
    assert outcome.stderr == "planc: cannot read `gone\\x1b.plan`: no such file or directory\n"


def test_standard_input(tmp_path: Path) -> None:
    outcome = planc("lint", "-", cwd=tmp_path, stdin=BROKEN.encode())
    assert outcome.returncode == 1
    assert " --> <stdin>:4:20\n" in outcome.stdout


def test_nothing_named_is_the_current_folder(tmp_path: Path) -> None:
    assert planc("lint", cwd=tmp_path).stdout == "No plan files or configurations of other tools were read.\n"
    (tmp_path / "deep" / "er").mkdir(parents=True)
    write(tmp_path, z=BROKEN)
    write(tmp_path / "deep" / "er", b=BROKEN)
    write(tmp_path / "deep", c=BROKEN)
    outcome = planc("lint", cwd=tmp_path)
    places = [line.strip() for line in outcome.stdout.splitlines() if "-->" in line]
    assert places == ["--> deep/c.plan:4:20", "--> deep/er/b.plan:4:20", "--> z.plan:4:20"]


def test_a_file_named_twice_is_linted_once(tmp_path: Path) -> None:
    write(tmp_path, a=BROKEN)
    (tmp_path / "link.plan").symlink_to("a.plan")
    outcome = planc("lint", "a.plan", "./a.plan", str(tmp_path / "a.plan"), ".", "link.plan", cwd=tmp_path)
    assert outcome.stdout.count("error[PLN010]") == 1
    assert outcome.stdout.endswith(f"in 1 file.\n{HINT}")


def test_what_git_ignores_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("ignored*\n")
    (tmp_path / "ignored").mkdir()
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / "ignored", a=CLEAN)
    write(tmp_path / ".hidden", h=CLEAN)
    write(tmp_path, ignored_too=BROKEN, seen=CLEAN)
    assert planc("lint", cwd=tmp_path).stdout == "Found no faults in 2 files.\n"
    assert planc("lint", cwd=tmp_path, GIT_DIR="/nowhere").stdout == "Found no faults in 2 files.\n"
    assert planc("lint", "ignored_too.plan", cwd=tmp_path).returncode == 1
    assert planc("lint", "ignored", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    (tmp_path / "seen.plan").unlink()
    (tmp_path / ".hidden" / "h.plan").unlink()
    assert planc("lint", cwd=tmp_path).stdout == "No plan files or configurations of other tools were read.\n"


def test_without_git_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    write(tmp_path / ".hidden", a=BROKEN)
    write(tmp_path, a=CLEAN)
    assert planc("lint", cwd=tmp_path, PATH="/nowhere").stdout == "Found no faults in 1 file.\n"


def test_a_folder_named_like_a_plan_and_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "x.plan").mkdir()
    write(tmp_path / "x.plan", inside=CLEAN)
    (tmp_path / "x.plan" / "up").symlink_to("..")
    (tmp_path / "loop.plan").symlink_to("loop.plan")
    assert planc("lint", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    assert planc("lint", "x.plan", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    outcome = planc("lint", "loop.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (
        2,
        "planc: cannot read `loop.plan`: too many levels of symbolic links\n",
    )


def test_a_used_file_that_is_also_linted_is_read_once(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "lib").mkdir()
    parts = BROKEN.splitlines(keepends=True)
    (tmp_path / "lib" / "parts.plan").write_text("".join(parts[:3]).replace("nodes = 1", "nodes = 1 GB"))
    (tmp_path / "lib" / "x.plan").write_text('use "parts.plan"\n' + "".join(parts[3:]))
    outcome = planc("lint", "lib/x.plan", "lib", cwd=tmp_path)
    assert outcome.stdout.count("error[PLN014]") == 1
    assert " --> lib/parts.plan:2:35" in outcome.stdout
    alone = planc("lint", "x.plan", cwd=tmp_path / "lib")
    assert " --> parts.plan:2:35" in alone.stdout
    assert alone.stdout.endswith(f"Found 2 errors in 1 file.\n{HINT}")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../elsewhere.plan", "it lies outside the project"),
        ("out.plan", "it lies outside the project"),
        ("/etc/passwd", "the path is absolute"),
        ("gone.plan", "no such file or directory"),
        ("folder", "it is not a file"),
        ("latin.plan", "the file is not text in UTF-8"),
        ("planc/gpu", "the catalogue has `planc/gpus`, `planc/models`"),
        ("planc/../../setup", "the catalogue has"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, reason: str) -> None:
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    write(tmp_path, elsewhere=CLEAN)
    (project / "out.plan").symlink_to(tmp_path / "elsewhere.plan")
    (project / "latin.plan").write_bytes(b"# \xe4\n")
    write(project, a=f'use "{name}"\n{CLEAN}')
    outcome = planc("lint", "project/a.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("error[PLN022]")
    assert reason in outcome.stdout
    assert str(tmp_path) not in outcome.stdout


def test_a_name_with_a_zero_byte_is_no_file() -> None:
    assert Files().load("a\0.plan", None) == "a path holds no zero byte"


def test_a_used_file_may_lie_anywhere_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "planc.toml").touch()
    (tmp_path / "plans").mkdir()
    (tmp_path / "hardware").mkdir()
    parts = CLEAN.splitlines(keepends=True)
    write(tmp_path / "hardware", parts="".join(parts[:3]))
    write(tmp_path / "plans", run='use "../hardware/parts.plan"\n' + "".join(parts[3:]))
    for arguments, cwd in ((["run.plan"], tmp_path / "plans"), (["plans/run.plan"], tmp_path)):
        assert planc("lint", *arguments, cwd=cwd).stdout == "Found no faults in 1 file.\n"


def test_json_is_what_the_schema_describes(tmp_path: Path) -> None:
    write(tmp_path, a=BROKEN)
    outcome = planc("lint", "--output-format", "json", "a.plan", "gone.plan", cwd=tmp_path)
    document = json.loads(outcome.stdout)
    jsonschema.validate(document, json.loads(read_text("schemas/diagnostics.schema.json")))
    assert outcome.returncode == 2
    assert [found["code"] for found in document["diagnostics"]] == ["PLN010"]
    assert document["unread"] == [{"file": "gone.plan", "reason": "no such file or directory"}]


@pytest.mark.parametrize(
    ("arguments", "changes", "colored"),
    [
        ([], {}, False),
        (["--color=always"], {}, True),
        (["--color=always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color=never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color(tmp_path: Path, arguments: list[str], changes: dict[str, str], colored: bool) -> None:
    write(tmp_path, a=BROKEN)
    assert ("\033[" in planc("lint", *arguments, "a.plan", cwd=tmp_path, **changes).stdout) == colored


def test_color_on_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, a=BROKEN)
    for term, colored in (("xterm", True), ("dumb", False)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command("lint", "a.plan"), cwd=tmp_path, env=environment(TERM=term), stdout=theirs)
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while part := os.read(ours, 4096):
                printed += part
        os.close(ours)
        assert process.wait(timeout=60) == 1
        assert (b"\033[1;31merror" in printed) == colored
        assert printed.endswith(b"`planc rule PLN010` says why, and what would work.\r\n")


def test_advice_is_shown_to_those_who_ask(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    assert "info[" not in planc("lint", "a.plan", cwd=tmp_path).stdout
    outcome = planc("lint", "--min-severity=info", "a.plan", cwd=tmp_path)
    assert outcome.stdout.startswith("info[")
    assert outcome.stdout.endswith("Found no faults in 1 file.\n")
    assert outcome.returncode == 0


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    write(tmp_path, a=BROKEN, b=WARNED)
    runs = {planc("lint", "--color=always", ".", cwd=tmp_path, PYTHONHASHSEED=str(seed)).stdout for seed in range(4)}
    assert len(runs) == 1


def test_bad_arguments_are_2(tmp_path: Path) -> None:
    outcome = planc("lint", "--colour", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "--colour" in outcome.stderr


def test_a_reader_that_leaves_early_is_no_fault(tmp_path: Path) -> None:
    write(tmp_path, **{f"a{number:03}": BROKEN for number in range(200)})
    reading, writing = os.pipe()
    process = subprocess.Popen(command("lint"), cwd=tmp_path, env=environment(), stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    os.read(reading, 10)
    os.close(reading)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 1


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams(tmp_path: Path, closed: str) -> None:
    write(tmp_path, a=BROKEN)
    line = f'"$@" lint a.plan {closed}'
    outcome = subprocess.run(
        ["bash", "-c", line, "bash", *command()], cwd=tmp_path, env=environment(), capture_output=True, timeout=60
    )
    assert outcome.returncode == 1
    assert outcome.stderr == b""


def test_closed_standard_input_cannot_be_read(tmp_path: Path) -> None:
    outcome = subprocess.run(
        ["bash", "-c", '"$@" lint - <&-', "bash", *command()], cwd=tmp_path, env=environment(), capture_output=True
    )
    assert outcome.returncode == 2
    assert outcome.stderr == b"planc: cannot read `-`: standard input is closed\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_2(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    with Path("/dev/full").open("w") as full:
        outcome = planc("lint", "a.plan", cwd=tmp_path, stdout=full)
    assert outcome.returncode == 2
    assert outcome.stderr == "planc: cannot write to standard output: No space left on device\n"


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("lint", "-"), cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )  # fmt: skip
    time.sleep(3)  # it has started by then, and waits for its input
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == 130


def test_a_terminal_that_lacks_a_character_gets_an_escape(tmp_path: Path) -> None:
    write(tmp_path, a=BROKEN.replace("plan run", "# \u8a08\nplan run").replace("model = smal", 'model = "\u8a08"'))
    outcome = planc("lint", "a.plan", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert outcome.returncode == 1
    assert "\\u8a08" in outcome.stdout


def test_a_link_to_nothing_is_said_and_the_lock_of_an_editor_is_not(tmp_path: Path) -> None:
    write(tmp_path, a=CLEAN)
    (tmp_path / ".#a.plan").symlink_to("somebody@host.1234")
    assert planc("lint", ".", cwd=tmp_path).returncode == 0
    (tmp_path / "b.plan").symlink_to("gone.plan")
    for _ in range(2):
        outcome = planc("lint", ".", cwd=tmp_path)
        assert outcome.returncode == 2
        assert "cannot read `b.plan`: no such file or directory" in outcome.stderr
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
