"""The files of which a script is made up: those that it sources, and the scripts that it starts."""

from __future__ import annotations

from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.model import Script

#: How files are called of which it is certain that they are sourced from the folder of the script.
_ENDINGS = (".sh", ".env")


def refer(script: Script, sayer: Sayer) -> None:
    """The files that were read as parts of a script, and those that it sources and nobody has found."""
    for each in script.every():
        for taken in each.taken:
            sayer.refer(taken.path, outermost(taken.span), "shell", taken=taken.source)
        found = {taken.span for taken in each.taken}
        for sourced in each.sourced:
            path = sourced.path.known
            if path is None or path.startswith("/") or not path.endswith(_ENDINGS) or sourced.context:
                continue
            if sourced.span not in found:
                sayer.refer(path, outermost(sourced.path.span), "shell")
