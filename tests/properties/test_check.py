"""Whatever was done to a plan or what was compiled from it: a check finds something just where compiling changes it."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planc.commands.main import main
from planc.version import VERSION
from tests.commands.cli import CLEAN

PLANS = (
    CLEAN,
    f"# a comment\n{CLEAN}",
    CLEAN.replace("train.py", "other.py"),
    CLEAN.replace("4Ki", "8Ki"),
    CLEAN.replace("[torchrun, deepspeed]", "[torchrun]"),
    CLEAN.replace("[torchrun, deepspeed]", "[deepspeed]"),
)
NAMES = ("torchrun.sh", "ds_config.json", "planc.manifest.json", "notes.txt")
VALUES = st.sampled_from((None, True, 0, 1, "", "x", "run", "../x", "a\0b", [], {}, ["a=1"], {"path": "x"}, "0" * 64))


def planc(*arguments: str) -> int:
    """The exit status of a run in this process, which may fail, but not by a fault of its own."""
    printed, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        status = main(list(arguments))
    assert "Traceback" not in complained.getvalue(), complained.getvalue()
    assert status in (0, 1, 2)
    return status


def state(folder: Path) -> dict[str, tuple[bool, bytes]]:
    return {
        str(path): (bool(path.stat().st_mode & 0o100), path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key of plain data."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, dict | list):
            yield from places(value)


@st.composite
def deeds(draw: st.DrawFn) -> tuple[str, ...]:
    """What somebody does in the project, as names of functions and their arguments."""
    kind = draw(st.sampled_from(("plan", "append", "cut", "remove", "mode", "folder", "manifest")))
    if kind == "plan":
        return kind, str(draw(st.integers(0, len(PLANS) - 1)))
    if kind == "manifest":
        return kind, str(draw(st.integers(0, 40))), json.dumps(draw(VALUES))
    return kind, draw(st.sampled_from(NAMES)), str(draw(st.integers(0, 200)))


def do(project: Path, deed: tuple[str, ...]) -> None:
    """Does it, where there is something to do it to."""
    kind, first = deed[:2]
    path = project / "out" / "run" / first
    if kind == "plan":
        (project / "a.plan").write_text(PLANS[int(first)])
    elif kind == "manifest":
        path = project / "out" / "run" / "planc.manifest.json"
        with contextlib.suppress(OSError, ValueError, AttributeError):
            data = json.loads(path.read_text())
            found = list(places(data))
            container, key = found[int(first) % len(found)]
            container[key] = json.loads(deed[2])
            path.write_text(json.dumps(data, indent=2) + "\n")
    elif kind == "folder" and not path.exists():
        path.mkdir(parents=True)
    elif path.is_file():
        if kind == "append":
            path.write_text(f"{path.read_text()}more\n")
        elif kind == "cut":
            path.write_bytes(path.read_bytes()[: int(deed[2])])
        elif kind == "remove":
            path.unlink()
        elif kind == "mode":
            path.chmod(path.stat().st_mode ^ 0o111)


def says_another_version(project: Path) -> bool:
    """Whether the manifest names another planc: that alone is no difference, and compiling anew changes it."""
    try:
        data = json.loads((project / "out" / "run" / "planc.manifest.json").read_text())
        return bool(data["planc"] != VERSION)
    except (OSError, ValueError, TypeError, KeyError):
        return False


@settings(max_examples=100, deadline=None)
@given(st.lists(deeds(), max_size=4))
def test_a_check_finds_something_where_compiling_changes_something(done: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        project = Path(name)
        (project / "planc.toml").touch()
        (project / "a.plan").write_text(CLEAN)
        assert planc("compile", "a.plan", "-o", "out") == 0
        for deed in done:
            do(project, deed)
        before = state(project)
        named, all_of_them = planc("compile", "--check", "--diff", "a.plan", "-o", "out"), planc("compile", "--check")
        assert state(project) == before
        if says_another_version(project):
            return
        status = planc("compile", "--force", "a.plan", "-o", "out")
        assert named == (1 if status else int(state(project) != before))
        if named == 0:
            assert all_of_them == 0
        if status == 0:
            assert planc("compile", "--check", "a.plan", "-o", "out") == 0
            assert planc("compile", "--check") == 0
