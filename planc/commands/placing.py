"""Where a file may be written: neither onto what is no file, nor onto what was read to make it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from planc.commands.files import reason_of
from planc.commands.output import CannotWork, quoted

_KINDS = (
    (stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"), (stat.S_ISCHR, "a device"),
)  # fmt: skip


def other_than_file(path: str) -> str:
    """What lies at a path and is no regular file, such as `a device`; empty if nothing or a file does."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):  # whoever writes there says what is wrong
        return ""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "")


def refuse_place(path: str, example: str, is_forced: bool) -> None:
    """Refuses a place for a file: a rename would replace a device, and a link leads to what nobody named."""
    if path == "-":
        raise CannotWork(f"`-` is no file; write `-o {example}`")
    kind = other_than_file(path)
    if not os.path.basename(path) or kind == "a folder":
        raise CannotWork(f"{quoted(path)} names no file; write `-o {example}`")
    if kind:
        raise CannotWork(f"{quoted(path)} is {kind} and no file, which is not replaced; name another")
    if os.path.lexists(path) and not is_forced:
        raise CannotWork(f"{quoted(path)} is there already; `--force` overwrites it")


def put(path: str, content: bytes, example: str, is_forced: bool) -> None:
    """Puts a file in its place in one step, when all of it is on the disk."""
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.planc-{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            refuse_place(path, example, is_forced)  # another run may have been faster
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise CannotWork(f"cannot write {quoted(path)}: {reason_of(error)}") from error


def refuse_inputs(path: str, inputs: Iterable[str]) -> None:
    """Refuses a place that is one of the files which are read, also by another name."""
    for name in inputs:
        if _is_same(path, name):
            raise CannotWork(f"{quoted(path)} is read to make it, so it is not overwritten; name another")


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False
