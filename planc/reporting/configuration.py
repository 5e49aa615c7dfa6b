"""A configuration as values, and what it and the command line come to for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from planc.diagnostics.diagnostic import Severity
from planc.reporting.selection import Selection
from planc.source import Source, Span

if TYPE_CHECKING:
    from planc.plan.house import House


class Chosen(NamedTuple):
    """What one place says about the selection; None where it says nothing."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    warn_as_error: tuple[str, ...] | None = None
    min_severity: Severity | None = None


class Written(NamedTuple):
    """A setting as it is written: its dotted key, its value as plain data, and where."""

    key: str
    value: Any
    span: Span


class PathRule(NamedTuple):
    """What holds for the files that match a pattern; `span` is where the pattern is written."""

    pattern: str
    chosen: Chosen
    span: Span


class Configuration(NamedTuple):
    """What a configuration says; empty where there is none.

    source: its file. written: its settings in order. per_path: in order. exclude: patterns. baseline: a file's name.
    house: the policies and versions that hold for every plan. All names of files count from the configuration's folder.
    """

    source: Source | None = None
    written: tuple[Written, ...] = ()
    chosen: Chosen = Chosen()
    per_path: tuple[PathRule, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None
    house: House | None = None


NONE = Configuration()


def selection(configuration: Configuration, path: str, command_line: Chosen) -> Selection:
    """What holds for a file: the configuration, then each pattern that matches its path, then the command line.

    path: from the configuration's folder, with `/`.
    """
    matching = (rule.chosen for rule in configuration.per_path if matches(path, rule.pattern))
    result = Selection()
    for said in (configuration.chosen, *matching):
        result = _added(result, said)
    if command_line.select is not None:  # the command line speaks last, so what a file ignores is no objection
        result = result._replace(ignore=())
    return _added(result, command_line)


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern means a path, or a folder above it.

    Without a `/` before its end, a pattern is the name of a file or folder at any depth; with one, a path. `*` stands
    for any text, `/` included; `?` for one character; `[...]` for one of several.
    """
    from fnmatch import fnmatchcase  # few configurations have patterns

    bare, parts = pattern.rstrip("/"), path.split("/")
    if "/" not in bare:
        named = parts[:-1] if bare != pattern else parts
        return any(fnmatchcase(part, bare) for part in named)
    return any(fnmatchcase("/".join(parts[:length]), bare.removeprefix("./")) for length in range(1, len(parts) + 1))


def _added(result: Selection, said: Chosen) -> Selection:
    if said.select is not None:
        result = result._replace(select=said.select)
    if said.min_severity is not None:
        result = result._replace(min_severity=said.min_severity)
    return result._replace(
        ignore=(*result.ignore, *(said.ignore or ())),
        warn_as_error=(*result.warn_as_error, *(said.warn_as_error or ())),
    )
