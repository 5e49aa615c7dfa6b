"""`planc lint`: reads plans, has them analysed, and reports what is wrong."""

from __future__ import annotations

import sys
from typing import NamedTuple

from planc.commands import output
from planc.commands.files import Files
from planc.commands.finding import analyse_all
from planc.commands.reading import SET, read_all
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order

#: Diagnostics that are written out as text; nobody reads on, and a broken tree may hold ten thousand.
MOST_SHOWN = 1000


class Options(NamedTuple):
    """What `planc lint` was asked for."""

    files: tuple[str, ...]
    output_format: str = "text"
    color: str = "auto"
    info: bool = False
    settings: tuple[str, ...] = ()
    use_cache: bool = True


def run(arguments: list[str]) -> int:
    """Exit status: 2 if a file could not be read, else 1 if there is an error, else 0."""
    options = _options(arguments)
    files = Files()
    read = read_all(files, options.files or (".",))
    found = in_order((*read.diagnostics, *analyse_all(read.sources, files, options.settings, options.use_cache)))
    diagnostics = found if options.info else output.without_advice(found)
    num_files = len(read.sources) + len(read.diagnostics)
    if options.output_format == "json":
        from planc.diagnostics import json
        from planc.diagnostics.report import Report

        output.write(json.render(Report(diagnostics, read.names, read.unread)))
    else:
        output.write(output.as_text(diagnostics[:MOST_SHOWN], output.in_color(options.color, sys.stdout)))
        if MOST_SHOWN < len(diagnostics):
            output.write(f"\n... and {len(diagnostics) - MOST_SHOWN} more; `--output-format json` holds them all\n")
        output.write(f"{chr(10) if diagnostics else ''}{_summary(diagnostics, num_files)}\n")
    for name, reason in read.unread:
        output.complain(f"planc: cannot read {output.quoted(name)}: {reason}\n")
    if read.unread:
        return 2
    return 1 if any(map(output.is_error, diagnostics)) else 0


def _summary(diagnostics: tuple[Diagnostic, ...], num_files: int) -> str:
    if num_files == 0:
        return "No plan files were read."
    counts = {
        severity: sum(diagnostic.severity is severity for diagnostic in diagnostics)
        for severity in (Severity.ERROR, Severity.WARNING)
    }
    found = [plural(count, severity.value) for severity, count in counts.items() if count]
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
    parser.add_argument("--info", action="store_true", help="show advice too, not only errors and warnings")
    parser.add_argument("--set", **SET)  # type: ignore[arg-type]
    parser.add_argument("--no-cache", action="store_true", help="analyse every file, and keep nothing for the next run")
    found = parser.parse_args(arguments)
    settings, use_cache = tuple(found.set), not found.no_cache
    return Options(tuple(found.files), found.output_format, found.color, found.info, settings, use_cache)
