"""The files that a command was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planc.commands.files import ENDING, Files
from planc.commands.output import CannotWork, did_you_mean, quoted
from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source

if TYPE_CHECKING:
    from planc.plan.model import Plan

#: How a field is set on the command line, in every command that reads plans.
SET = {
    "action": "append",
    "default": [],
    "metavar": "PATH=VALUE",
    "help": "set a field in every plan, such as --set parallel.tensor=4; may be repeated, the last one counts",
}


class Read(NamedTuple):
    """The texts that were read, what is wrong with the content of other files, and those that cannot be read."""

    sources: tuple[Source, ...]
    diagnostics: tuple[Diagnostic, ...]
    unread: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files that were read, those included whose content is no plan's text."""
        found = (diagnostic.primary.span.source for diagnostic in self.diagnostics)
        return tuple(source.name for source in (*self.sources, *found))


def _none(path: str) -> bool:
    return False


class Others(Protocol):
    """Files that are no plans, for a command that reads them as well: see `planc.commands.native`."""

    def endings(self) -> tuple[str, ...]:
        """Endings of the files that are looked into in a folder."""

    def takes(self, reading: Source | Diagnostic, outright: bool) -> bool | Diagnostic:
        """Whether a file is one of them; what is wrong where it should be; `outright` if it was named."""

    def may_take(self, path: str) -> bool:
        """Whether the file at a path may be one of them."""


def read_all(
    files: Files, names: Iterable[str], is_excluded: Callable[[str], bool] = _none, others: Others | None = None
) -> Read:
    """The named files, and the plan files of the named folders that are not excluded, each real file once.

    `others` are files that are read beside plans; of those that a folder holds, what is none of them is passed over.
    """
    sources: dict[Source, None] = {}
    diagnostics: dict[Diagnostic, None] = {}
    unread: dict[tuple[str, str], None] = {}
    for name in names:
        paths = [name]
        is_folder = name != "-" and os.path.isdir(name)
        if is_folder:
            from planc.commands.search import search_for

            found, closed = search_for(name, ENDING, *(others.endings() if others is not None else ()))
            paths = [path for path in found if not is_excluded(path)]
            unread.update(dict.fromkeys(closed))
        for path in paths:
            reading = files.read(path)
            if isinstance(reading, str) and is_folder and not path.endswith(ENDING):
                continue  # a link to nothing, say: it may be of no tool that planc knows
            if others is not None and not isinstance(reading, str) and others.may_take(path):
                taken = others.takes(reading, not is_folder)
                if isinstance(taken, Diagnostic):
                    reading = taken
                elif not taken and not path.endswith(ENDING) and is_folder:
                    continue
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


def chosen_plans(plans: Sequence[Plan], names: Sequence[str], file: str) -> list[Plan]:
    """The plans with these names, or all of them."""
    if not plans:
        raise CannotWork(f"{quoted(file)} defines no plan")
    known = [plan.name for plan in plans]
    for name in names:
        if name not in known:
            listing = ", ".join(map(quoted, known))
            raise CannotWork(f"no plan {quoted(name)}{did_you_mean(name, known)}; there are {listing}")
    return [plan for plan in plans if not names or plan.name in names]
