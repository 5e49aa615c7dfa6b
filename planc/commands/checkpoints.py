"""What folders on this disk say of themselves: checkpoints, without their tensors, and data."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, NamedTuple

from planc.commands.files import reason_of
from planc.evidence.checkpoints.finding import found_in, newest
from planc.evidence.checkpoints.found import Found, Opener, Unread
from planc.evidence.dataset_info import Info, described_in, faults_in
from planc.evidence.names import text_of

#: Files of a folder that are looked at; a checkpoint of more is not read.
_MOST_FILES = 2_000_000


class Looked(NamedTuple):
    """Checkpoints of a folder, the one that a trainer goes on from, and why there is none."""

    found: tuple[Found, ...]
    newest: Found | None
    fault: str


def looked_at(folder: str) -> Looked:
    """The checkpoints in a folder; none if it cannot be read, or is none."""
    sizes, opened = _contents(folder)
    found = found_in(sizes, opened)
    chosen, fault = newest(found, sizes, opened)
    return Looked(found, chosen, fault)


def described(folder: str) -> tuple[Info, ...]:
    """What a folder of data says of it."""
    return described_in(*_contents(folder))


def undescribed(folder: str) -> tuple[str, ...]:
    """What of the descriptions in a folder of data says nothing, and why."""
    return faults_in(*_contents(folder))


def _contents(folder: str) -> tuple[dict[str, int], Opener]:
    """The size of each file, none where the folder cannot be read, and what opens them."""
    try:
        paths = _files(os.fsencode(folder))
    except (OSError, ValueError):
        paths = {}
    sizes = {name: size for name, (_, size) in paths.items()}
    return sizes, _opener({name: path for name, (path, _) in paths.items()})


def _files(root: bytes) -> dict[str, tuple[bytes, int]]:
    """Path and size of each file by its name; links to files count, those to folders do not."""
    found: dict[str, tuple[bytes, int]] = {}
    waiting = [b""]
    while waiting and len(found) < _MOST_FILES:
        at = waiting.pop()
        with os.scandir(os.path.join(root, at)) as entries:
            for entry in entries:
                name = os.path.join(at, entry.name)
                with suppress(OSError):  # a link that leads nowhere, or a file that vanished
                    state = entry.stat()
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name)
                    elif stat.S_ISREG(state.st_mode):
                        found[text_of(name)] = (os.path.join(root, name), state.st_size)
    return found


def _opener(paths: Mapping[str, bytes]) -> Opener:
    def opened(name: str) -> IO[bytes]:
        try:
            file = os.fdopen(os.open(paths[name], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
        except OSError as error:
            raise Unread(f"it cannot be opened: {reason_of(error)}") from None
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise Unread("it is no file any more")
        return file

    return opened
