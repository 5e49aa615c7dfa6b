"""What nobody means to give to planc: a diagnostic or a clean exit, never a traceback, never a hang."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.commands.cli import CLEAN, command, environment, planc

MEBIBYTE = 1 << 20

#: Content of the file, and how the first diagnostic starts.
FAULTY = {
    "binary": (b"\x7fELF\x02\x01\x00\x00\x00", "error[PLN004]: the file is binary, not text\n --> bad.plan:1:7\n"),
    "not-utf-8": (b"# caf\xe9\n", "error[PLN004]: the file is not text in UTF-8\n --> bad.plan:1:6\n"),
    "utf-16": ("gpu".encode("utf-16"), "error[PLN004]: the file is not text in UTF-8\n --> bad.plan:1:1\n"),
    "surrogate": (b"# \xed\xa0\x80\n", "error[PLN004]: the file is not text in UTF-8\n --> bad.plan:1:3\n"),
    "too-large": (
        b"# plan\n" * (MEBIBYTE // 7 + 1),
        "error[PLN002]: the file is larger than 1 MiB\n --> bad.plan:1:1\n",
    ),
    "nested-braces": (b"plan a " + b"{" * 100_000, "error[PLN003]"),
    "nested-parentheses": (b"model m { layers = " + b"(" * 100_000 + b"1", "error[PLN003]"),
    "nested-lists": (b"plan a { emit = " + b"[" * 100_000, "error[PLN003]"),
    "negations": (b"model m { layers = " + b"-" * 100_000 + b"1 }", "error[PLN"),
    "negative": (CLEAN.replace("nodes = 1 ", "nodes = -1 ").encode(), "error[PLN015]"),
    "fraction": (CLEAN.replace("nodes = 1 ", "nodes = 2.5 ").encode(), "error[PLN015]"),
    "huge-exponent": (CLEAN.replace("nodes = 1 ", "nodes = 1e400 ").encode(), "error[PLN019]"),
    "5000-digits": (CLEAN.replace("nodes = 1 ", f"nodes = {'9' * 5000} ").encode(), "error[PLN"),
    "largest-numbers": (CLEAN.replace("nodes = 1 ", "nodes = 9e99 ").encode(), "error[PLN201]"),
    "division-by-zero": (CLEAN.replace("nodes = 1 ", "nodes = 1 / 0 ").encode(), "error[PLN025]"),
    "control-characters": (b"\x1b[2J\x07 \x9b", "error[PLN004]"),
    "one-long-line": (b"plan a { " + b"oops " * 100_000 + b"}", "error[PLN"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_content_is_a_diagnostic(tmp_path: Path, name: str) -> None:
    content, start = FAULTY[name]
    (tmp_path / "bad.plan").write_bytes(content)
    outcome = planc("lint", "bad.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith(start)
    assert outcome.stderr == ""
    assert all(character.isprintable() or character == "\n" for character in outcome.stdout)
    as_json = planc("lint", "--output-format=json", "bad.plan", cwd=tmp_path)
    assert as_json.returncode == 1


@pytest.mark.parametrize("name", FAULTY)
def test_nothing_is_written_from_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.plan").write_bytes(FAULTY[name][0])
    outcome = planc("compile", "bad.plan", "-o", "out", cwd=tmp_path)
    assert outcome.returncode == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_known_of_it_is_explained(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.plan").write_bytes(FAULTY[name][0])
    for options in ([], ["--all", "--why", "memory.total"]):
        assert planc("explain", "bad.plan", *options, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("name", FAULTY)
def test_it_is_compared_as_far_as_it_is_known(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.plan").write_bytes(FAULTY[name][0])
    (tmp_path / "good.plan").write_text(CLEAN)
    outcome = planc("diff", "good.plan", "bad.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert all(character.isprintable() or character == "\n" for character in outcome.stdout)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\n\n\n",
        b"# nothing\r\n",
        CLEAN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + CLEAN.encode(),
    ],
    ids=["empty", "only-a-mark", "blank", "comment", "windows", "byte-order-mark"],
)
def test_content_without_a_fault(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "good.plan").write_bytes(content)
    assert planc("lint", "good.plan", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    assert planc("lint", "-", cwd=tmp_path, stdin=content).stdout == "Found no faults in 1 file.\n"


def test_exactly_a_mebibyte_is_read(tmp_path: Path) -> None:
    text = CLEAN + "#" * (MEBIBYTE - len(CLEAN))
    (tmp_path / "full.plan").write_text(text)
    assert planc("lint", "full.plan", cwd=tmp_path).returncode == 0


def test_places_are_counted_after_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_bytes(b"\xef\xbb\xbfoops\r\n")
    assert " --> a.plan:1:1\n" in planc("lint", "a.plan", cwd=tmp_path).stdout


@pytest.mark.parametrize("arguments", [["explain"], ["compile", "-o", "out"]], ids=["explain", "compile"])
@pytest.mark.parametrize("file", ["gone.plan", "folder.plan", ""])
def test_other_commands_name_what_they_cannot_read(tmp_path: Path, arguments: list[str], file: str) -> None:
    (tmp_path / "folder.plan").mkdir()
    outcome = planc(*arguments, file, cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("planc: ")
    assert outcome.stdout == ""


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_an_endless_file_is_refused(tmp_path: Path) -> None:
    outcome = planc("lint", "/dev/zero", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("error[PLN002]: the file is larger than 1 MiB\n --> /dev/zero:1:1\n")


def test_a_pipe_is_read(tmp_path: Path) -> None:
    line = '"$@" lint <(printf "gpu")'
    outcome = subprocess.run(
        ["bash", "-c", line, "bash", *command()], cwd=tmp_path, env=environment(), capture_output=True, timeout=60
    )
    assert outcome.returncode == 1
    assert b"error[PLN001]" in outcome.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "a.plan").touch(mode=0)
    assert planc("lint", cwd=tmp_path).returncode == 2


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.plan")).write_text("oops")
    for arguments in ([], ["--output-format=json"]):
        outcome = planc("lint", *arguments, cwd=tmp_path)
        assert outcome.returncode == 1
        assert "udcff.plan" in outcome.stdout
