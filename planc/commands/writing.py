"""A plan's folder on disk: which files may be replaced, and all of them replaced, or none.

Everything that can fail for want of room or rights is done first, in a folder beside the final one whose name starts
with a dot. A new folder is then renamed into place, which is one step. In a folder that is there already, and may hold
logs and other files of the user's, each file is replaced by one rename, so that a running job never misses one; if a
step fails, those before it are undone. Meanwhile the manifest lists the old and the new hash of each file, so that a
run that was killed half-way does not make the next one take planc's own files for edited ones. Two runs at once take
turns, else each would undo half of the other; whoever has the turn removes what a run that was killed left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planc import manifest
from planc.commands.placing import other_than_file
from planc.targets.target import EmittedFile

#: The name of a folder in which a run prepares what it writes, and what such a folder may hold.
_STAGING = re.compile(r"\..+\.planc-(\d{1,9})")
_STAGED = {"new", "old", "journal"}

#: What stands for the hash of what has none.
NO_HASHES = ("not a file", "not text")


class Changes(NamedTuple):
    """What a compilation does to a plan's folder, as paths in it."""

    written: tuple[EmittedFile, ...]  # new, or other than what is there
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]  # of the last compilation, not emitted any more
    kept: tuple[str, ...]  # the same, but edited since
    conflicts: tuple[str, ...]  # edited since, or not planc's at all, and about to be replaced
    old_hashes: dict[str, tuple[str, ...]]  # of what is there now, for those that are written or removed


@contextlib.contextmanager
def turn(folder: str) -> Iterator[None]:
    """A run's turn to write below a folder, which is made if it is not there; where nothing can be locked, no wait.

    Of folders that were made, those in which nothing was written are removed again if the run fails.
    """
    made = [path for path in _with_parents(folder) if not os.path.lexists(path)]
    with contextlib.suppress(OSError):  # a folder that cannot be made is reported where it is written to
        os.makedirs(folder, exist_ok=True)
    try:
        with _locked(folder, fcntl.LOCK_EX) as is_locked:
            if is_locked:
                _sweep(folder)
            yield
    except BaseException:
        with contextlib.suppress(OSError):  # one that holds something, or is gone
            for path in made:
                os.rmdir(path)
        raise


def _with_parents(folder: str) -> Iterator[str]:
    """A folder and those that it is in, the innermost first."""
    path = os.path.normpath(folder)
    while path not in ("", os.curdir, os.sep):
        yield path
        path = os.path.dirname(path)


@contextlib.contextmanager
def quiet(folder: str) -> Iterator[None]:
    """A time in which no run writes below a folder, for one that reads; where nothing can be locked, no wait."""
    with _locked(folder, fcntl.LOCK_SH):
        yield


def is_staging(path: str) -> bool:
    """Whether a path leads through a folder in which a run prepares what it writes."""
    return any(_STAGING.fullmatch(part) for part in path.split(os.sep))


def is_there(folder: str, file: EmittedFile) -> bool:
    """Whether a file is in a folder just as it would be written."""
    return hash_of(os.path.join(folder, file.path)) == manifest.digest(file.text)


def hash_of(path: str) -> str | None:
    """SHA-256 of a file; of what is no readable text file, words that are no hash; None if nothing is there."""
    if not os.path.lexists(path):
        return None
    if os.path.islink(path) or not os.path.isfile(path):
        return "not a file"
    text = text_of(path)
    return "not text" if text is None else manifest.digest(text)


def text_of(path: str) -> str | None:
    """The text of a file, None if it has none that can be read."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def is_below(name: str) -> bool:
    """Whether a path from a manifest, which anybody may have edited, stays in the folder."""
    return not os.path.isabs(name) and ".." not in name.split("/") and name != manifest.NAME


def changes(folder: str, files: Iterable[EmittedFile], force: bool) -> Changes:
    """What writing these files into a folder comes to; with `force` only what is no file is a conflict."""
    files = tuple(sorted(files, key=lambda file: file.path))
    known = manifest.read(text_of(os.path.join(folder, manifest.NAME)) or "").hashes
    written: list[EmittedFile] = []
    unchanged, removed, kept, conflicts = [], [], [], []
    old_hashes: dict[str, tuple[str, ...]] = {}
    for file in files:
        path = os.path.join(folder, file.path)
        present = hash_of(path)
        if present == manifest.digest(file.text) and file.executable == os.access(path, os.X_OK):
            unchanged.append(file.path)
            continue
        written.append(file)
        if present is None:
            continue
        old_hashes[file.path] = (present,)
        own = present in known.get(file.path, ()) or present == manifest.digest(file.text)
        if os.path.isdir(path) or other_than_file(path) not in ("", "a link") or not (own or force):
            conflicts.append(file.path)
    for name in sorted(set(known) - {file.path for file in files}):
        present = hash_of(os.path.join(folder, name))
        if present is None or not is_below(name):
            continue
        if present in known[name]:
            removed.append(name)
            old_hashes[name] = (present,)
        else:
            kept.append(name)
    return Changes(tuple(written), tuple(unchanged), tuple(removed), tuple(kept), tuple(conflicts), old_hashes)


def write(folder: str, changed: Changes, manifest_text: Callable[[dict[str, tuple[str, ...]]], str]) -> None:
    """Writes and removes what `changes` found, the manifest last; `manifest_text` makes it from the replaced hashes."""
    final = EmittedFile(manifest.NAME, manifest_text({}))
    if not (changed.written or changed.removed) and text_of(os.path.join(folder, manifest.NAME)) == final.text:
        return
    folder = os.path.realpath(folder)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    staging = _new_folder_beside(folder)
    try:
        _fill(os.path.join(staging, "new"), (*changed.written, final))
        if os.path.isdir(folder):
            journal = EmittedFile(manifest.NAME, manifest_text(changed.old_hashes))
            _fill(os.path.join(staging, "journal"), (journal,))
            _replace(folder, staging, changed)
        else:
            os.rename(os.path.join(staging, "new"), folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: str, kind: int) -> Iterator[bool]:
    """Locks a folder, and says whether that was possible."""
    with contextlib.ExitStack() as stack:
        is_locked = False
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, kind)
            is_locked = True
        yield is_locked


def _sweep(folder: str) -> None:
    """Removes what runs that were killed left in a folder whose lock is held.

    The lock alone says that nobody writes here; the number of a process that still runs is one more reason to wait, as
    a folder of another machine may be locked in its own way. Nothing goes that is not just what a run leaves.
    """
    for name in os.listdir(folder):
        match, path = _STAGING.fullmatch(name), os.path.join(folder, name)
        if match is None or os.path.islink(path) or not os.path.isdir(path):
            continue
        with contextlib.suppress(OSError):
            if not _is_alive(int(match[1])) and set(os.listdir(path)) <= _STAGED:
                shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    """Whether another process has this number."""
    if process in (0, os.getpid()):
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _replace(folder: str, staging: str, changed: Changes) -> None:
    """Puts the new files into place and removes the stale ones, the manifest last; undoes it all if a step fails."""
    new, old = os.path.join(staging, "new"), os.path.join(staging, "old")
    names = (manifest.NAME, *(file.path for file in changed.written), *changed.removed)
    there = [name for name in names if os.path.lexists(os.path.join(folder, name))]
    for name in there:
        os.makedirs(os.path.dirname(os.path.join(old, name)), exist_ok=True)
        shutil.copy2(os.path.join(folder, name), os.path.join(old, name), follow_symlinks=False)
    try:
        os.replace(os.path.join(staging, "journal", manifest.NAME), os.path.join(folder, manifest.NAME))
        for file in changed.written:
            os.makedirs(os.path.dirname(os.path.join(folder, file.path)), exist_ok=True)
            os.replace(os.path.join(new, file.path), os.path.join(folder, file.path))
        for name in changed.removed:
            os.unlink(os.path.join(folder, name))
        os.replace(os.path.join(new, manifest.NAME), os.path.join(folder, manifest.NAME))
    except BaseException:
        for name in names:
            if name in there:
                os.replace(os.path.join(old, name), os.path.join(folder, name))
            elif os.path.lexists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        raise


def _new_folder_beside(folder: str) -> str:
    """A new folder on the same file system, so that a rename is enough to move a file out of it."""
    number = os.getpid()
    while True:
        path = os.path.join(os.path.dirname(folder), f".{os.path.basename(folder)}.planc-{number}")
        try:
            os.mkdir(path)
        except FileExistsError:  # left behind by a run that was killed
            number += 1
        else:
            return path


def _fill(folder: str, files: Iterable[EmittedFile]) -> None:
    for file in files:
        path = os.path.join(folder, file.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777 if file.executable else 0o666)
        with open(descriptor, "wb") as opened:
            opened.write(file.text.encode())
            opened.flush()
            os.fsync(descriptor)  # else a rename may outlive a power cut that the content does not
