"""The files that a command was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from planc.commands.files import Files
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source


class Read(NamedTuple):
    """The texts that were read, what is wrong with the content of other files, and those that cannot be read."""

    sources: tuple[Source, ...]
    diagnostics: tuple[Diagnostic, ...]
    unread: tuple[tuple[str, str], ...]


def read_all(files: Files, names: Iterable[str]) -> Read:
    """The named files, and the plan files of the named folders, each real file once."""
    sources: dict[Source, None] = {}
    diagnostics: dict[Diagnostic, None] = {}
    unread: dict[tuple[str, str], None] = {}
    for name in names:
        paths = [name]
        if name != "-" and os.path.isdir(name):
            from planc.commands.search import search

            paths, closed = search(name)
            unread.update(dict.fromkeys(closed))
        for path in paths:
            reading = files.read(path)
            if isinstance(reading, Source):
                sources[reading] = None
            elif isinstance(reading, Diagnostic):
                diagnostics[reading] = None
            else:
                unread[path, reading] = None
    return Read(tuple(sources), tuple(diagnostics), tuple(unread))


def read_one(files: Files, name: str) -> Read:
    """The one named file."""
    if os.path.isdir(name):
        raise CannotWork(f"{quoted(name)} is a folder; name the plan file")
    read = read_all(files, (name,))
    for _, reason in read.unread:
        raise CannotWork(f"cannot read {quoted(name)}: {reason}")
    return read
