"""What a folder holds, measured: every file read once and hashed, by as many threads as there are cores.

Nothing is passed over and nothing is hashed that may be something else: a link is recorded and not followed, a device,
a pipe or a link that leaves the folder is a problem, and so is a file that is not the same before and after. Names are
bytes, as the system has them. Memory is one buffer a thread and a line a file.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from planc.commands.files import reason_of
from planc.commands.output import CannotWork, quoted
from planc.evidence.folder import UNREAD, File, Folder, Link, Problem
from planc.evidence.names import text_of

#: Bytes of a thread's buffer: hashing one takes long enough that threads hardly wait for each other.
BUFFER = 1 << 20

#: Seconds between two looks at how far the threads are.
_TICK = 0.1

#: How far it is: bytes that were read, and bytes that there are.
Progress = Callable[[int, int], None]

_KINDS = (
    (stat.S_ISFIFO, "it is a pipe"), (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISBLK, "it is a device"), (stat.S_ISCHR, "it is a device"),
)  # fmt: skip


class Found(NamedTuple):
    """A regular file as it was found: where it is, and all by which it could be told from a changed one."""

    path: bytes
    device: int
    inode: int
    size: int
    modified: int
    changed: int


class Memory(NamedTuple):
    """What was measured before.

    known: the hash of a file that is as it was then, else None.
    keep: takes what was measured now, all files of a folder with their hashes.
    """

    known: Callable[[Found], str | None]
    keep: Callable[[dict[Found, str]], None]


class _Tree(NamedTuple):
    """The entries of a folder by name, unread."""

    files: dict[bytes, Found]
    links: dict[bytes, bytes]
    problems: dict[bytes, str]


def measured(folder: str, progress: Progress | None = None, memory: Memory | None = None) -> Folder:
    """The content of a folder; with a memory, files that it knows are not read."""
    try:
        root = os.fsencode(os.path.realpath(folder))
        if not stat.S_ISDIR(os.stat(root).st_mode):
            raise CannotWork(f"{quoted(folder)} is no folder")
    except OSError as error:
        raise CannotWork(f"cannot read {quoted(folder)}: {reason_of(error)}") from error
    except ValueError:  # a path with a zero byte
        raise CannotWork(f"cannot read {quoted(folder)}: no such file or directory") from None
    tree = _walked(root)
    hashes, problems = _Hashing(tree.files, memory).run(progress)
    problems |= _differences(tree, _walked(root), problems)
    if memory is not None:
        memory.keep({tree.files[name]: digest for name, digest in hashes.items() if name not in problems})
    return Folder(
        tuple(sorted(File(text_of(name), tree.files[name].size, digest) for name, digest in hashes.items())),
        tuple(sorted(Link(text_of(name), text_of(target)) for name, target in tree.links.items())),
        tuple(sorted(Problem(text_of(name), reason) for name, reason in (tree.problems | problems).items())),
    )


def _walked(root: bytes) -> _Tree:
    tree = _Tree({}, {}, {})
    waiting = [b""]
    while waiting:
        at = waiting.pop()
        try:
            with os.scandir(os.path.join(root, at)) as entries:
                for entry in entries:
                    name = os.path.join(at, entry.name)
                    reason = _sorted_in(tree, root, name, waiting)
                    if reason:
                        tree.problems[name] = reason
        except OSError as error:
            tree.problems[at or b"."] = f"{UNREAD}{reason_of(error)}"
    return tree


def _sorted_in(tree: _Tree, root: bytes, name: bytes, waiting: list[bytes]) -> str:
    """Puts an entry where it belongs; the reason if it belongs nowhere."""
    path = os.path.join(root, name)
    try:
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            waiting.append(name)
        elif stat.S_ISREG(found.st_mode):
            tree.files[name] = _found(path, found)
        elif stat.S_ISLNK(found.st_mode):
            tree.links[name] = os.readlink(path)
            return _fault_of_link(root, path, tree.links[name])
        else:
            return next((reason for is_kind, reason in _KINDS if is_kind(found.st_mode)), "it is no file")
    except OSError as error:
        return f"{UNREAD}{reason_of(error)}"
    return ""


def _fault_of_link(root: bytes, path: bytes, target: bytes) -> str:
    leads = os.path.realpath(path)
    if not _is_in(root, leads):
        return "it is a link that leaves the folder"
    if os.path.isabs(target):
        return "it is a link to an absolute path, which leads elsewhere in a copy of the folder"
    at = os.path.dirname(path)
    for part in target.split(b"/"):
        at = os.path.realpath(os.path.join(at, part))
        if not _is_in(root, at):
            return "it is a link whose way leaves the folder, and leads elsewhere in a copy of it"
    return "" if os.path.exists(leads) else "it is a link that leads nowhere"


def _is_in(root: bytes, path: bytes) -> bool:
    return path == root or path.startswith(root.rstrip(b"/") + b"/")


def _found(path: bytes, found: os.stat_result) -> Found:
    return Found(path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _differences(before: _Tree, after: _Tree, told: dict[bytes, str]) -> dict[bytes, str]:
    """What came, went or changed while the files were read."""
    found: dict[bytes, str] = {}
    for old, new in ((before.files, after.files), (before.links, after.links)):
        for name in {*old, *new} - {*told, *before.problems}:
            if name not in new:
                found[name] = "it vanished while the folder was read"
            elif name not in old:
                found[name] = "it was made while the folder was read"
            elif old[name] != new[name]:
                found[name] = "it changed while the folder was read"
    return found


def _num_cores() -> int:
    """Cores that this process may use, which a job's may be fewer than there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class _Hashing:
    """The work of the threads: each takes the largest file that is left; what one of them raises, all end with."""

    def __init__(self, files: dict[bytes, Found], memory: Memory | None) -> None:
        self._files = files
        self._memory = memory
        self._waiting: Iterator[bytes] = iter(sorted(files, key=lambda name: (-files[name].size, name)))
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._done: list[int] = []
        self._hashes: dict[bytes, str] = {}
        self._problems: dict[bytes, str] = {}
        self._failed: list[BaseException] = []

    def run(self, progress: Progress | None) -> tuple[dict[bytes, str], dict[bytes, str]]:
        """Hashes and problems by name."""
        total = sum(found.size for found in self._files.values())
        number = max(1, min(_num_cores(), len(self._files)))
        self._done = [0] * number
        threads = [threading.Thread(target=self._work, args=(index,), daemon=True) for index in range(number)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(_TICK)
                    if progress is not None:
                        progress(sum(self._done), total)
            if progress is not None:
                progress(sum(self._done), total)
        finally:  # also where the user interrupts
            self._stopped.set()
            for thread in threads:
                with suppress(RuntimeError):  # one that could not be started
                    thread.join()
        if self._failed:
            raise self._failed[0]
        return self._hashes, self._problems

    def _work(self, index: int) -> None:
        buffer = memoryview(bytearray(BUFFER))
        try:
            while not self._stopped.is_set():
                with self._lock:
                    name = next(self._waiting, None)
                if name is None:
                    return
                self._hash(name, buffer, index)
        except BaseException as error:  # such as no memory; a thread would lose it
            self._failed.append(error)
            self._stopped.set()

    def _hash(self, name: bytes, buffer: memoryview, index: int) -> None:
        found = self._files[name]
        kept = None if self._memory is None else self._memory.known(found)
        if kept is not None:
            self._hashes[name] = kept
            self._done[index] += found.size
            return
        try:
            digest = self._read(found, buffer, index)
        except FileNotFoundError:
            digest, reason = None, "it vanished while the folder was read"
        except OSError as error:
            digest, reason = None, f"{UNREAD}{reason_of(error)}"
        else:
            reason = "it changed while it was read"
        if digest is not None:
            self._hashes[name] = digest
        elif not self._stopped.is_set():
            self._problems[name] = reason

    def _read(self, found: Found, buffer: memoryview, index: int) -> str | None:
        """The hash of a file; None if it is not, or not any more, the one that was found."""
        # What took the place of a file may be a link, or a pipe that nobody writes to.
        descriptor = os.open(found.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            if _found(found.path, os.fstat(descriptor)) != found:
                return None
            state, left = sha256(), found.size
            while not self._stopped.is_set():
                count = file.readinto(buffer)
                if not count:
                    break
                state.update(buffer[:count])
                left -= count
                self._done[index] += count
                if left < 0:  # it grows, perhaps for ever
                    return None
            if left or _found(found.path, os.fstat(descriptor)) != found:
                return None
        return state.hexdigest()
