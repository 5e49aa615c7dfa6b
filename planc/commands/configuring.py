"""The configuration of each file: the nearest `planc.toml`, or `pyproject.toml` with `[tool.planc]`, upward from it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planc.commands.files import Files
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.source import Source

if TYPE_CHECKING:
    from planc.plan.house import House
    from planc.reporting.configuration import Chosen, Configuration
    from planc.reporting.selection import Selection

#: The names of configuration files, the first one found in a folder counts, and the table that holds the settings.
NAMES: dict[str, tuple[str, ...]] = {"planc.toml": (), "pyproject.toml": ("tool", "planc")}

#: How a command takes a configuration on the command line.
CONFIG = {"metavar": "FILE", "help": "the configuration, in place of the nearest one upward from each file"}
NO_CONFIG = {"action": "store_true", "help": "read no configuration"}

#: How a command is told that a hook names the files, which is no reason to read those that are excluded.
FORCE_EXCLUDE = {"action": "store_true", "help": "pass over excluded files even if they are named, as for a hook"}


class Configurations:
    """The configurations of one run: each file is read once, and what is wrong with it is kept for the report."""

    __slots__ = ("_by_folder", "_files", "_given", "_none", "_read", "_real_folders", "diagnostics")

    def __init__(self, files: Files, given: str | None = None, use: bool = True) -> None:
        self._files = files
        self._by_folder: dict[str, Configuration] = {}
        self._read: dict[str, Configuration] = {}
        self._real_folders: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self._none: Configuration | None = None
        self._given: Configuration | None = None
        if not use:
            self._given = self._nothing()
        elif given is not None:
            self._given = self._named(given)

    def of(self, source: Source) -> Configuration:
        """The configuration of a file."""
        if self._given is not None:
            return self._given
        return self.of_folder(os.path.dirname(self._files.place(source)))

    def of_folder(self, folder: str) -> Configuration:
        """The configuration that holds in a folder, which is given by its real path."""
        if self._given is not None:
            return self._given
        passed = []
        while folder not in self._by_folder:
            passed.append(folder)
            found = self._in_folder(folder)
            above = os.path.dirname(folder)
            if found is not None or above == folder:
                self._by_folder[folder] = found if found is not None else self._nothing()
            else:
                folder = above
        for inner in passed:
            self._by_folder[inner] = self._by_folder[folder]
        return self._by_folder[folder]

    def houses(self, sources: Iterable[Source]) -> dict[Source, House | None]:
        """What holds for the plans of each source without being written in them."""
        return {source: self.of(source).house for source in sources}

    def selection(self, source: Source, command_line: Chosen) -> Selection:
        """What is reported of a file."""
        from planc.reporting.configuration import selection

        configuration = self.of(source)
        if not configuration.per_path:  # then it is the same for all of its files
            return selection(configuration, "", command_line)
        return selection(configuration, self.path(source, configuration), command_line)

    def path(self, source: Source, configuration: Configuration) -> str:
        """Path of a source from the folder of a configuration, with `/`; from the current one if there is none."""
        return relative(self._files.place(source), self.folder(configuration))

    def folder(self, configuration: Configuration) -> str:
        """The folder of a configuration; the current one if there is none."""
        if configuration.source is None:
            return os.path.realpath(".")
        return os.path.dirname(self._files.place(configuration.source))

    def is_excluded(self, path: str) -> bool:
        """Whether the configuration passes over a file that a search found."""
        folder = os.path.dirname(path)
        if folder not in self._real_folders:  # a thousand files lie in few folders
            self._real_folders[folder] = os.path.realpath(folder or ".")
        configuration = self.of_folder(self._real_folders[folder])
        if not configuration.exclude:
            return False
        from planc.reporting.configuration import matches

        inside = relative(os.path.realpath(path), self.folder(configuration))
        return any(matches(inside, pattern) for pattern in configuration.exclude)

    def included(self, names: Iterable[str]) -> tuple[str, ...]:
        """The named files that are not excluded; folders, and standard input, are left for the search."""
        return tuple(name for name in names if name == "-" or os.path.isdir(name) or not self.is_excluded(name))

    def have_baseline(self, sources: Iterable[Source]) -> bool:
        """Whether the configuration of a source names a baseline."""
        return any(self.of(source).baseline is not None for source in sources)

    def _nothing(self) -> Configuration:
        if self._none is None:
            from planc.reporting.configuration import NONE

            self._none = NONE
        return self._none

    def _in_folder(self, folder: str) -> Configuration | None:
        for name, table in NAMES.items():
            path = os.path.join(folder, name)
            if os.path.lexists(path):
                if not os.path.isfile(path):
                    raise CannotWork(f"cannot read {quoted(os.path.relpath(path))}: it leads to no file")
                found = self._load(path, table)
                if found is not None:
                    return found
        return None

    def _named(self, name: str) -> Configuration:
        table = NAMES.get(os.path.basename(name), ())
        if os.path.isdir(name):
            raise CannotWork(f"{quoted(name)} is a folder; name the configuration")
        found = self._load(os.path.realpath(name), table)
        if found is None:
            raise CannotWork(f"{quoted(name)} has no table `[tool.planc]`")
        return found

    def _load(self, path: str, table: tuple[str, ...]) -> Configuration | None:
        """The configuration in a file; None if it is one of another tool's, with nothing for planc in it."""
        if path in self._read:
            return self._read[path]
        reading = self._files.read_as(path, os.path.relpath(path))
        if isinstance(reading, str):
            raise CannotWork(f"cannot read {quoted(os.path.relpath(path))}: {reading}")
        if isinstance(reading, Diagnostic):
            self.diagnostics.append(reading)
            return self._nothing()
        if table and not _has_table(reading.text, table):
            return None
        from planc.reporting.configuration_text import read

        self._read[path], found = read(reading, table, known_rules)
        self.diagnostics.extend(found)
        return self._read[path]


def known_rules() -> dict[str, tuple[str, Severity]]:
    """Name and severity of every kind of diagnostic, by code; kept, as asking imports every rule and target."""
    from planc.commands.cache import remembered

    def make() -> list[tuple[str, str, str]]:
        from planc.kinds import known_rules as known

        return [(code, name, severity.value) for code, (name, severity) in known().items()]

    return {code: (name, Severity(severity)) for code, name, severity in remembered("rules", make)}


def relative(path: str, folder: str) -> str:
    """A path from a folder, with `/`."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _has_table(text: str, table: tuple[str, ...]) -> bool:
    """Whether a text of TOML has the table; one that cannot be read has it if its last name is in it."""
    if table[-1] not in text:
        return False
    import tomllib

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return any(line.strip().startswith(f"[{'.'.join(table)}") for line in text.splitlines())
    for name in table:
        document = document.get(name, {}) if isinstance(document, dict) else {}
    return document != {}
