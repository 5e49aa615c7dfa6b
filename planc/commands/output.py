"""What the commands print, and how a run ends when it cannot be printed.

Imports of planc stand inside the functions, so that `planc --version` and `planc --help` pay for none of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than Python to start
if TYPE_CHECKING:
    from typing import TextIO

    from planc.diagnostics.diagnostic import Diagnostic


class CannotWork(Exception):
    """The reason why planc could not do what it was asked; exit status 2."""


def never_fail_to_encode() -> None:
    """Shows characters that the terminal's encoding lacks as escapes."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Prints to standard output; a reader that has left or was never there is no fault, a full disk is."""
    if sys.stdout is not None:
        try:
            sys.stdout.write(text)
        except OSError as error:
            _lost(error)


def flush() -> None:
    """Hands on what was printed."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError as error:
            _lost(error)


def complain(text: str) -> None:
    """Prints to standard error, if there is one."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            return


def in_color(choice: str, stream: TextIO | None) -> bool:
    """Whether to print in colour: as chosen, else as NO_COLOR and FORCE_COLOR say, else on a terminal only."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def as_text(diagnostics: Iterable[Diagnostic], color: bool) -> str:
    """The diagnostics as text, with a blank line between two."""
    from planc.diagnostics.text import render

    return "\n".join(render(diagnostic, color) for diagnostic in diagnostics)


def is_error(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic makes `lint` fail and keeps `compile` from writing."""
    return diagnostic.severity.value == "error"


def quoted(text: str) -> str:
    """A word of the user's in backticks, harmless to a terminal."""
    from planc.diagnostics.text import visible

    return f"`{visible(text)}`"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` with the nearest known word, or nothing."""
    from planc.diagnostics.names import nearest

    near = nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""


def _lost(error: OSError) -> None:
    # What is still buffered would fail again when the interpreter ends, so it goes nowhere from here on.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    if not isinstance(error, BrokenPipeError):
        raise CannotWork(f"cannot write to standard output: {error.strerror}") from error
