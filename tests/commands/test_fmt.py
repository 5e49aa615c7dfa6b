"""`planc fmt` through its command line: which files it changes, what it prints, and how it ends."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from planc.format.formatting import format_text
from tests.commands.cli import CLEAN, command, environment, planc

LAID_OUT = "gpu card { memory = 80 GiB }\n"
LOOSE = "gpu card{memory=80GiB}\r\n"
UNREAD = "gpu card { memory = }\n"


def test_files_are_changed_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(LOOSE)
    (tmp_path / "b.plan").write_text(LAID_OUT)
    outcome = planc("fmt", "b.plan", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == "formatted a.plan\n1 file formatted, 1 file unchanged.\n"
    assert (tmp_path / "a.plan").read_bytes() == LAID_OUT.encode()
    again = planc("fmt", "b.plan", "a.plan", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, "2 files unchanged.\n")


def test_a_file_that_has_the_layout_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text(LAID_OUT)
    os.utime(path, ns=(1, 1))
    before = path.stat()
    assert planc("fmt", cwd=tmp_path).returncode == 0
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_folders_are_searched_but_for_what_is_excluded(tmp_path: Path) -> None:
    for name in ("a.plan", "inner/b.plan", "kept/c.plan", ".hidden/d.plan", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LOOSE)
    (tmp_path / "planc.toml").write_text('exclude = ["kept/*"]\n')
    outcome = planc("fmt", "--check", cwd=tmp_path)
    assert outcome.stdout == "would format a.plan\nwould format inner/b.plan\n2 files would be formatted.\n"
    outcome = planc("fmt", "--check", "--no-config", "kept", "a.plan", cwd=tmp_path)
    assert outcome.stdout == "would format kept/c.plan\nwould format a.plan\n2 files would be formatted.\n"
    (tmp_path / "other.toml").write_text('exclude = ["**/b.plan"]\n')
    outcome = planc("fmt", "--check", "--config", "other.toml", ".", cwd=tmp_path)
    assert outcome.stdout == "would format a.plan\nwould format kept/c.plan\n2 files would be formatted.\n"


def test_a_broken_configuration_keeps_all_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(LOOSE)
    (tmp_path / "planc.toml").write_text("exclude = 3\n")
    outcome = planc("fmt", ".", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error[PLN05")
    assert (tmp_path / "a.plan").read_bytes() == LOOSE.encode()


def test_check_writes_nothing_and_is_1_if_a_file_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_bytes(LOOSE.encode())
    outcome = planc("fmt", "--check", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (1, "")
    assert outcome.stdout == "would format a.plan\n1 file would be formatted.\n"
    assert (tmp_path / "a.plan").read_bytes() == LOOSE.encode()
    (tmp_path / "a.plan").write_text(LAID_OUT)
    outcome = planc("fmt", "--check", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "1 file unchanged.\n")


def test_diff_shows_what_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_bytes(LOOSE.encode())
    (tmp_path / "b.plan").write_text("use 'x\x1b'\n".replace("'", '"').rstrip("\n"))
    outcome = planc("fmt", "--diff", ".", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout == (
        "--- a.plan\tas it is\n+++ a.plan\tformatted\n@@ -1 +1 @@\n"
        "-gpu card{memory=80GiB}\\r\n+gpu card { memory = 80 GiB }\n"
        "--- b.plan\tas it is\n+++ b.plan\tformatted\n@@ -1 +1 @@\n"
        '-use "x\\x1b"\n\\ No newline at end of file\n+use "x\\x1b"\n'
    )
    assert outcome.stderr == "2 files would be formatted.\n"
    assert (tmp_path / "a.plan").read_bytes() == LOOSE.encode()
    outcome = planc("fmt", "--diff", "--check", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("--- a.plan\t")
    assert outcome.stderr == "would format a.plan\n1 file would be formatted.\n"


def test_a_diff_can_be_applied(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text(CLEAN.rstrip("\n"))
    patch = planc("fmt", "--diff", "a.plan", cwd=tmp_path).stdout
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=patch, text=True, check=True)
    assert path.read_text() == format_text(CLEAN) != CLEAN


def test_standard_input_goes_to_standard_output(tmp_path: Path) -> None:
    outcome = planc("fmt", "-", cwd=tmp_path, stdin=b"\xef\xbb\xbf" + LOOSE.encode())
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, LAID_OUT, "")
    outcome = planc("fmt", "-", cwd=tmp_path, stdin=LAID_OUT.encode())
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, LAID_OUT, "")
    outcome = planc("fmt", "-", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


def test_standard_input_can_have_a_name(tmp_path: Path) -> None:
    outcome = planc("fmt", "-", "--check", "--stdin-filename", "sub/x.plan", cwd=tmp_path, stdin=LOOSE.encode())
    assert (outcome.returncode, outcome.stdout) == (1, "would format sub/x.plan\n1 file would be formatted.\n")
    outcome = planc("fmt", "-", "--diff", "--stdin-filename", "x.plan", cwd=tmp_path, stdin=LOOSE.encode())
    assert outcome.stdout.startswith("--- x.plan\tas it is\n+++ x.plan\tformatted\n")
    outcome = planc("fmt", "-", "--stdin-filename", "x.plan", cwd=tmp_path, stdin=UNREAD.encode())
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "\n --> x.plan:1:" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-", "a.plan"), "standard input is formatted to standard output, so it goes with no other file"),
        (("a.plan", "--stdin-filename", "b"), "`--stdin-filename` names standard input, which is not read; add `-`"),
    ],
)
def test_what_does_not_go_together(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    (tmp_path / "a.plan").write_text(LOOSE)
    outcome = planc("fmt", *arguments, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", f"planc: {reason}\n")
    assert (tmp_path / "a.plan").read_bytes() == LOOSE.encode()


def test_what_cannot_be_read_stays_and_the_others_are_formatted(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(LOOSE)
    (tmp_path / "b.plan").write_text(UNREAD)
    (tmp_path / "c.plan").write_bytes(b"\xff\xfe")
    outcome = planc("fmt", "a.plan", "b.plan", "c.plan", "gone.plan", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stdout == "formatted a.plan\n1 file formatted.\n"
    assert [line for line in outcome.stderr.split("\n") if line.startswith(("error", "planc"))] == [
        "error[PLN001]: found `}`, expected a value, a name or a quoted string",
        "error[PLN004]: the file is not text in UTF-8",
        "planc: cannot read `gone.plan`: no such file or directory",
    ]
    assert (tmp_path / "b.plan").read_text() == UNREAD
    assert planc("fmt", "--check", "b.plan", cwd=tmp_path).returncode == 2


def test_colours_are_those_of_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "b.plan").write_text(UNREAD)
    assert "\x1b[" in planc("fmt", "--color", "always", "b.plan", cwd=tmp_path).stderr
    assert "\x1b[" not in planc("fmt", "--color", "never", "b.plan", cwd=tmp_path, FORCE_COLOR="1").stderr


def test_a_byte_order_mark_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_bytes(b"\xef\xbb\xbf" + LAID_OUT.encode())
    outcome = planc("fmt", "--diff", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout.split("\n")[3]) == (1, "-\\ufeff" + LAID_OUT.rstrip("\n"))
    assert planc("fmt", "a.plan", cwd=tmp_path).stdout == "formatted a.plan\n1 file formatted.\n"
    assert path.read_bytes() == LAID_OUT.encode()


def test_mode_and_link_stay_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.plan"
    target.write_text(LOOSE)
    target.chmod(0o640)
    (tmp_path / "link.plan").symlink_to("real/a.plan")
    outcome = planc("fmt", "link.plan", "real/a.plan", cwd=tmp_path)
    assert outcome.stdout == "formatted link.plan\n1 file formatted.\n"
    assert (tmp_path / "link.plan").is_symlink()
    assert target.read_text() == LAID_OUT
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.plan", "link.plan", "real"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_file_that_may_not_be_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.plan"
    path.write_text(LOOSE)
    path.chmod(0o444)
    outcome = planc("fmt", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr == "planc: cannot write `a.plan`: permission denied\n"


@pytest.mark.parametrize(
    ("arguments", "status", "printed", "complaint"),
    [
        (("--check",), 1, "would format a.plan\n1 file would be formatted.\n", ""),
        ((), 2, "No files formatted.\n", "planc: cannot write `a.plan`: it is no regular file\n"),
    ],
)
def test_a_pipe_is_read_but_not_written(
    tmp_path: Path, arguments: tuple[str, ...], status: int, printed: str, complaint: str
) -> None:
    os.mkfifo(tmp_path / "a.plan")
    writer = subprocess.Popen(["sh", "-c", "cat > a.plan"], cwd=tmp_path, stdin=subprocess.PIPE)
    reader = subprocess.Popen(
        command("fmt", *arguments, "a.plan"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        writer.communicate(LOOSE.encode(), timeout=60)
        assert reader.communicate(timeout=60) == (printed, complaint)
        assert reader.returncode == status
    finally:
        writer.kill()
        reader.kill()


def test_many_files(tmp_path: Path) -> None:
    for number in range(150):
        (tmp_path / f"{number:03}.plan").write_text(UNREAD if number % 50 == 7 else LOOSE)
    outcome = planc("fmt", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stdout.endswith("\nformatted 149.plan\n147 files formatted.\n")
    assert outcome.stderr.count("error[PLN001]") == 3
    texts = [path.read_text() for path in sorted(tmp_path.iterdir())]
    assert texts == [UNREAD if number % 50 == 7 else LAID_OUT for number in range(150)]


def test_no_files(tmp_path: Path) -> None:
    outcome = planc("fmt", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "No files formatted.\n", "")


def test_the_help_says_how_it_ends(tmp_path: Path) -> None:
    text = " ".join(planc("fmt", "--help", cwd=tmp_path).stdout.split())
    assert (
        "Exit status: 0 all files have the layout now, 1 with --check or --diff a file would change, 2 a file" in text
    )
