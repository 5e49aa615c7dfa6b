"""`planc lint`: reads plans, has them analysed, and reports what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple

from planc.commands import output
from planc.commands.files import Files
from planc.commands.search import search
from planc.compiler import analyse
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.source import Source


class Options(NamedTuple):
    """What `planc lint` was asked for."""

    files: tuple[str, ...]
    output_format: str = "text"
    color: str = "auto"


class Read(NamedTuple):
    """The files that were asked for: their texts, what is wrong with their content, and those that cannot be read."""

    sources: tuple[Source, ...]
    diagnostics: tuple[Diagnostic, ...]
    unread: tuple[tuple[str, str], ...]


def run(arguments: list[str]) -> int:
    """Exit status: 2 if a file could not be read, else 1 if there is an error, else 0."""
    options = _options(arguments)
    files = Files()
    read = read_all(files, options.files or (".",))
    diagnostics = in_order((*read.diagnostics, *analyse(read.sources, files.load).diagnostics))
    num_files = len(read.sources) + len(read.diagnostics)
    if options.output_format == "json":
        from planc.diagnostics import json

        output.write(json.render(diagnostics, num_files, read.unread))
    else:
        output.write(as_text(diagnostics, output.in_color(options.color, sys.stdout)))
        output.write(f"{chr(10) if diagnostics else ''}{_summary(diagnostics, num_files)}\n")
    for name, reason in read.unread:
        output.complain(f"planc: cannot read {output.quoted(name)}: {reason}\n")
    if read.unread:
        return 2
    return 1 if any(map(is_error, diagnostics)) else 0


def read_all(files: Files, names: Iterable[str]) -> Read:
    """The named files, and the plan files of the named folders, each real file once."""
    sources: dict[Source, None] = {}
    diagnostics: dict[Diagnostic, None] = {}
    unread: dict[tuple[str, str], None] = {}
    for name in names:
        paths = [name]
        if name != "-" and os.path.isdir(name):
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


def is_error(diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic makes `lint` fail and keeps `compile` from writing."""
    return diagnostic.severity is Severity.ERROR


def as_text(diagnostics: Iterable[Diagnostic], color: bool) -> str:
    """The diagnostics as text, with a blank line between two."""
    from planc.diagnostics.text import render

    return "\n".join(render(diagnostic, color) for diagnostic in diagnostics)


def _summary(diagnostics: tuple[Diagnostic, ...], num_files: int) -> str:
    if num_files == 0:
        return "No plan files were read."
    counts = {severity: sum(found.severity is severity for found in diagnostics) for severity in Severity}
    found = [plural(count, severity.value) for severity, count in counts.items() if count and severity.value != "info"]
    return f"Found {' and '.join(found) or 'no faults'} in {plural(num_files, 'file')}."


def _options(arguments: list[str]) -> Options:
    if not any(argument.startswith("-") and argument != "-" for argument in arguments):
        return Options(tuple(arguments))  # a hook passes nothing but files, and argparse takes a tenth of a start
    import argparse

    parser = argparse.ArgumentParser(
        prog="planc lint",
        description="Report what is wrong with plans. "
        "Exit status: 0 (warnings allowed), 1 errors, 2 a file could not be read.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE|DIR|-",
        help="plan files, folders to search for *.plan (what git ignores and repositories inside them are left out), "
        "or - for standard input; the current folder if nothing is named",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="default: auto, on a terminal; see NO_COLOR",
    )
    found = parser.parse_args(arguments)
    return Options(tuple(found.files), found.output_format, found.color)
