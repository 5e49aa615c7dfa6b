"""A text file replaced by another, as a whole or not at all."""

from __future__ import annotations

import os
import stat

_MARK = b"\xef\xbb\xbf"  # of byte order; planc's texts are without, and a file that has one keeps it


def replace(path: str, before: str, after: str) -> str | None:
    """Puts a text in place of the one that was read; the reason why not, if the file has changed or cannot be written.

    What a link leads to is replaced, not the link; the file keeps its mode, and its owner where that is possible.
    """
    return _replace(path, before, after, _MARK if has_mark(path) else b"")


def replace_without_mark(path: str, before: str, after: str) -> str | None:
    """The same, but that a byte-order mark goes."""
    return _replace(path, before, after, b"")


def has_mark(path: str) -> bool:
    """Whether a file begins with a byte-order mark; not so if it cannot be read, or only once, as a pipe."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MARK)) == _MARK
    except OSError:
        return False


def _replace(path: str, before: str, after: str, mark: bytes) -> str | None:
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        return "it is no regular file"
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.planc-{os.getpid()}")
    try:
        with open(target, "rb") as file:
            content = file.read()
        if content.removeprefix(_MARK) != before.encode("utf-8"):
            return "it has changed since it was read"
        found = os.stat(target)
        if not os.access(target, os.W_OK):
            return "permission denied"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(mark + after.encode("utf-8"))
            os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode))
            _keep_owner(file.fileno(), found)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if os.path.lexists(temporary) and not isinstance(error, FileExistsError):
            os.unlink(temporary)
        return (error.strerror or str(error)).lower()
    return None


def _keep_owner(descriptor: int, found: os.stat_result) -> None:
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, found.st_uid, found.st_gid)
        except OSError:  # only root may give a file away
            return
