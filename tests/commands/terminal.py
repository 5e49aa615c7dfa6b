"""An interactive shell in a terminal of its own, into which a test types."""

from __future__ import annotations

import fcntl
import os
import re
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

#: Typed behind a line: the shell's script has bound it to show the line as it stands, between << and >>.
_SHOW = b"\x18\x10"
_DROP_LINE = b"\x15"
_READY = re.compile(rb"it is READY")
_SHOWN = re.compile(rb"<<(.*?)>>", re.S)


class Terminal:
    """A shell that was started interactively, in a folder; `setup` is its first line."""

    def __init__(self, command: Sequence[str], setup: str, folder: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x32\x00\xc8\x00\x00\x00\x00\x00")  # 50 lines of 200 columns
        self._shell = subprocess.Popen(
            command, cwd=folder, env=environment | {"TERM": "dumb", "PS1": "$ "}, stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True, preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(theirs)
        os.write(self._ours, f'{setup}; echo it is "READY"\n'.encode())
        self._read(_READY)

    def completed(self, line: str) -> str:
        """The line after the tab key was struck at its end."""
        os.write(self._ours, line.encode() + b"\t" + _SHOW)
        shown = _SHOWN.search(self._read(_SHOWN))
        assert shown is not None
        os.write(self._ours, _DROP_LINE)
        return shown[1].decode()

    def close(self) -> None:
        """Ends the shell."""
        self._shell.kill()
        self._shell.wait()
        os.close(self._ours)

    def _read(self, wanted: re.Pattern[bytes]) -> bytes:
        found, end = b"", time.monotonic() + 60
        while not wanted.search(found):
            left = end - time.monotonic()
            assert 0 < left, f"the shell only said {found!r}"
            if select.select([self._ours], [], [], left)[0]:
                found += os.read(self._ours, 65536)
        return found


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
