"""Files that `attest` and `verify` read beside those of the plan and the run: keys and records; and what both need."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TypeVar

from planc.commands.files import reason_of
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.text import visible
from planc.evidence.keys import Unusable

Key = TypeVar("Key")

#: Bytes of a file with a key; all that there are are far smaller.
_MOST_KEY = 1 << 16

#: The packages of planc's extra `evidence`.
_PACKAGES = ("cryptography", "rfc8785")


def require_packages() -> None:
    """Raises what to install where records cannot be made or read."""
    lacking = [name for name in _PACKAGES if find_spec(name) is None]
    if lacking:
        listing = " and ".join(map(quoted, lacking))
        raise CannotWork(f"records need {listing}: `python3 -m pip install {' '.join(lacking)}`")


def require_file(path: str) -> None:
    """Refuses a plan that is a pipe or a device, of which a record could not be made a second time."""
    if path != "-" and os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise CannotWork(f"cannot read {quoted(path)}: it is no file")


def content_of(path: str, limit: int) -> bytes:
    """The content of a regular file, and not more than one byte more than the limit."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CannotWork(f"cannot read {quoted(path)}: it is no file")
            return file.read(limit + 1)
    except OSError as error:
        raise CannotWork(f"cannot read {quoted(path)}: {reason_of(error)}") from error
    except ValueError:  # a path with a zero byte
        raise CannotWork(f"cannot read {quoted(path)}: no such file or directory") from None


def exposure_of(path: str) -> str:
    """A line that tells who else may read a private key; empty if nobody may, or if the file is gone."""
    with suppress(OSError):
        rights = stat.S_IMODE(os.stat(path).st_mode)
        if rights & 0o077:
            told = f"by its rights {rights:04o}; `chmod 600` closes it"
            return f"planc: the key {quoted(path)} is open to others, {told}\n"
    return ""


def key_in(path: str, load: Callable[[bytes], Key]) -> Key:
    """The key in a file."""
    content = content_of(path, _MOST_KEY)
    try:
        if _MOST_KEY < len(content):
            raise Unusable("it is too large to be one")
        return load(content)
    except Unusable as reason:
        raise CannotWork(f"cannot use the key {quoted(path)}: {visible(str(reason))}") from None
