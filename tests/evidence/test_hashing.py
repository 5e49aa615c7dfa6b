"""Folders, measured: every file with the hash that the system's own tool gives, and nothing hashed in silence."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from planc.commands import hash_memory, hashing
from planc.commands.hash_memory import memory_of
from planc.commands.hashing import BUFFER, Found, Memory, measured
from planc.commands.output import CannotWork
from planc.evidence.folder import File, Folder, Link, Problem, digest_of


def problems(folder: Path) -> list[Problem]:
    return list(measured(str(folder)).problems)


def test_the_same_as_sha256sum(tmp_path: Path) -> None:
    dice = random.Random(1)
    for size in (0, 1, 63, 64, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER + 5):
        path = tmp_path / f"at{size % 3}" / str(size)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(dice.randbytes(size))
    listing = "find . -type f -print0 | xargs -0 sha256sum"
    shown = subprocess.run(["bash", "-c", listing], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    expected = {line[66:].removeprefix("./"): line[:64] for line in shown.splitlines()}
    found = measured(str(tmp_path))
    assert {file.name: file.sha256 for file in found.files} == expected
    assert [file.name for file in found.files] == sorted(expected)
    assert all(file.size == int(file.name.rpartition("/")[2]) for file in found.files)
    assert found.size == sum(file.size for file in found.files)
    assert (found.links, found.problems) == ((), ())


def test_names_of_any_bytes(tmp_path: Path) -> None:
    names = (b"new\nline", b"caf\xe9", b"100%", b" ", b"-o", b"\x1b[2J", b'"quoted"', b"\xff\xfe", b"caf%E9")
    for name in names:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    found = measured(str(tmp_path))
    assert not found.problems
    assert {file.sha256 for file in found.files} == {sha256(name).hexdigest() for name in names}
    assert {file.name for file in found.files} == {
        "new\nline", "caf%E9", "100%25", " ", "-o", "\x1b[2J", '"quoted"', "%FF%FE", "caf%25E9",
    }  # fmt: skip


def test_a_link_is_recorded_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "step_2").mkdir()
    (tmp_path / "step_2" / "model").write_bytes(b"weights")
    (tmp_path / "latest").symlink_to("step_2")
    (tmp_path / "step_2" / "alias").symlink_to("../step_2/model")
    (tmp_path / "itself").symlink_to(".")
    found = measured(str(tmp_path))
    assert found.files == (File("step_2/model", 7, sha256(b"weights").hexdigest()),)
    assert found.links == (Link("itself", "."), Link("latest", "step_2"), Link("step_2/alias", "../step_2/model"))
    assert found.problems == ()


def test_what_is_no_file_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "folder-beside").write_text("a name that begins as the folder's does")
    (folder / "kept").write_text("x")
    os.mkfifo(folder / "pipe")
    (folder / "out").symlink_to("../folder-beside")
    (folder / "absolute").symlink_to("/etc/passwd")
    (folder / "above").symlink_to("..")
    (folder / "dangling").symlink_to("nothing")
    (folder / "loop").symlink_to("loop")
    (folder / "device").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.getcwd()
        os.chdir(folder)  # a socket's path is short
        try:
            bound.bind("socket")
        finally:
            os.chdir(here)
        found = measured(str(folder))
    leaves, nowhere = "it is a link that leaves the folder", "it is a link that leads nowhere"
    assert dict(found.problems) == {
        "pipe": "it is a pipe", "socket": "it is a socket", "out": leaves, "absolute": leaves, "above": leaves,
        "device": leaves, "dangling": nowhere, "loop": nowhere,
    }  # fmt: skip
    assert [file.name for file in found.files] == ["kept"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no device can be made here")
    assert problems(tmp_path) == [Problem("zero", "it is a device")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0)
    (tmp_path / "inner").mkdir(mode=0)
    reason = "it cannot be read: permission denied"
    assert problems(tmp_path) == [Problem("file", reason), Problem("inner", reason)]


def after_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Does something when the first bytes of a file were read."""
    done: list[int] = []

    class Hash:
        def __init__(self) -> None:
            self._state = sha256()

        def update(self, content: bytes) -> None:
            self._state.update(content)
            if not done:
                done.append(1)
                act()

        def hexdigest(self) -> str:
            return self._state.hexdigest()

    monkeypatch.setattr(hashing, "sha256", Hash)
    monkeypatch.setattr(hashing, "_num_cores", lambda: 1)


def rewrite(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))


def test_a_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    for act in (
        lambda: rewrite(path),
        lambda: path.write_bytes(b"shorter"),
        lambda: path.write_bytes(b"y" * (5 * BUFFER)),
    ):
        path.write_bytes(b"x" * (3 * BUFFER))
        with monkeypatch.context() as patch:
            after_reading(patch, act)
            assert problems(tmp_path) == [Problem("model", "it changed while it was read")]


def test_what_comes_and_goes_and_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-large").write_bytes(b"x" * 1000)
    for name in ("gone", "b", "c"):
        (tmp_path / name).write_bytes(b"y")
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("a-large")

    def act() -> None:
        (tmp_path / "gone").unlink()
        (tmp_path / "new").write_bytes(b"z")
        (tmp_path / "b").unlink()
        (tmp_path / "b").symlink_to("/etc/passwd")
        (tmp_path / "c").unlink()
        os.mkfifo(tmp_path / "c")
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("secret")
        rewrite(tmp_path / "a-large")

    after_reading(monkeypatch, act)
    found = measured(str(tmp_path))
    assert found.files == ()
    assert dict(found.problems) == {
        "a-large": "it changed while it was read",
        "gone": "it vanished while the folder was read",
        "new": "it was made while the folder was read",
        "b": "it cannot be read: too many levels of symbolic links",
        "c": "it changed while it was read",
        "link": "it changed while the folder was read",
    }


def test_a_file_that_was_read_before_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1000)
    (tmp_path / "small").write_bytes(b"y")
    calls: list[int] = []

    class Hash:
        def __init__(self) -> None:
            calls.append(1)
            if len(calls) == 2:  # that of the small one: the large one has its hash already
                rewrite(tmp_path / "large")
            self._state = sha256()

        def update(self, content: bytes) -> None:
            self._state.update(content)

        def hexdigest(self) -> str:
            return self._state.hexdigest()

    monkeypatch.setattr(hashing, "sha256", Hash)
    monkeypatch.setattr(hashing, "_num_cores", lambda: 1)
    assert problems(tmp_path) == [Problem("large", "it changed while the folder was read")]


def test_progress_goes_up_to_all(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / str(number)).write_bytes(b"x" * (number * 10_000))
    seen: list[tuple[int, int]] = []
    found = measured(str(tmp_path), lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (found.size, found.size)


def test_what_is_known_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").write_bytes(b"x")
    os.mkfifo(tmp_path / "c")
    kept: list[dict[Found, str]] = []

    def known(found: Found) -> str | None:
        return "0" * 64 if found.path.endswith(b"/a") else None

    found = measured(str(tmp_path), memory=Memory(known, kept.append))
    hashes = ["0" * 64, sha256(b"x").hexdigest()]
    assert [file.sha256 for file in found.files] == hashes
    assert sorted((os.path.basename(each.path), digest) for each, digest in kept[0].items()) == [
        (b"a", hashes[0]),
        (b"b", hashes[1]),
    ]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "planc"


def remembering(folder: Path) -> tuple[str, int]:
    """The hash of the one file in a folder, and how many files were read for it."""
    read: list[int] = []

    class Hash:
        def __init__(self) -> None:
            read.append(1)
            self._state = sha256()

        def update(self, content: bytes) -> None:
            self._state.update(content)

        def hexdigest(self) -> str:
            return self._state.hexdigest()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "sha256", Hash)
        (file,) = measured(str(folder), memory=memory_of(str(folder))).files
    return file.sha256, len(read)


def test_the_hash_of_a_file_that_lay_there_for_a_while_is_kept(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / os.fsdecode(b"caf\xe9")
    path.write_bytes(b"x")
    one, other = (sha256(content).hexdigest() for content in (b"x", b"y"))
    assert remembering(folder) == remembering(folder) == (one, 1)  # it may still be changed in the same tick
    monkeypatch.setattr(hash_memory, "_SETTLED", -1)
    assert remembering(folder) == (one, 1)
    assert remembering(folder) == (one, 0)
    before = path.stat()
    path.write_bytes(b"y")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remembering(folder) == (other, 1)  # the time of the change itself cannot be put back
    assert remembering(folder) == (other, 0)
    (entry,) = cache.iterdir()
    for text in ("", "[]", "{}", '{"x": 1}', entry.read_text().replace(other, "z" * 64)):
        entry.write_text(text)
        assert remembering(folder) == (other, 1)
    assert remembering(folder) == (other, 0)


def test_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "none")
    assert memory_of(str(tmp_path)) is None


def test_threads_end_when_the_user_interrupts(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(8 << 30)  # of zeros that take no room

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        measured(str(tmp_path), interrupt)
    assert threading.active_count() == before


def test_what_a_thread_raises_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")

    def no_memory() -> None:
        raise MemoryError

    monkeypatch.setattr(hashing, "sha256", no_memory)
    with pytest.raises(MemoryError):
        measured(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("file", "`file` is no folder"), ("none", "no such file or directory"), ("a\0b", "no such file or directory")],
)
def test_what_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWork, match=reason):
        measured(name)


def test_the_digest_of_a_folder_is_that_of_its_list() -> None:
    one = Folder((File("a", 1, "0" * 64),), (Link("b", "a"),))
    listing = b'{"files":[{"name":"a","sha256":"%b","size":1}],"links":[{"name":"b","target":"a"}]}' % (b"0" * 64)
    assert digest_of(one) == sha256(listing).hexdigest()
    assert digest_of(one._replace(links=())) != digest_of(one)
