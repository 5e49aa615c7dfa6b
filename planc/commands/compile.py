"""`planc compile`: lints a file, and writes what its plans' targets take if there is no error."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from planc import manifest
from planc.commands import output, writing
from planc.commands.arguments import Parser, parsed
from planc.commands.compiling import emitted, judge, ready
from planc.commands.files import Files, reason_of
from planc.commands.output import CannotWork, as_text
from planc.commands.placing import refuse_inputs
from planc.commands.reading import SET
from planc.diagnostics.text import visible
from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from planc.version import VERSION


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the files are written, 1 if the file has errors, 2 if they cannot be written."""
    options = parsed(parser(), arguments)
    _refuse_what_does_not_fit(options)
    if options.check:
        from planc.commands.checking import check

        return check(options)
    read = Files()
    found = ready(judge(read, options.file, tuple(options.set)), options.plan, options.target)
    if options.output_format == "json":
        from planc.diagnostics import json
        from planc.diagnostics.report import Report

        output.write(json.render(Report(found.diagnostics, found.names)))
    else:
        output.complain(as_text(found.diagnostics, output.in_color(options.color, sys.stderr)))
    if found.is_faulty():
        output.complain("\nplanc: nothing was written\n")
        return 1
    jobs = [(plan, _emitted(plan, options)) for plan in found.plans]
    jobs = [(plan, files) for plan, files in jobs if files]
    if not jobs:
        raise CannotWork("nothing to write: no plan emits a target")
    with writing.turn(options.output):
        _write(jobs, found.origin, options, read.paths())
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of `planc compile`."""
    parser = Parser(
        prog="planc compile",
        usage="planc compile FILE -o DIR [--plan NAME] [--target T] [--set PATH=VALUE] [--force]\n"
        "       planc compile --check [--diff] [FILE -o DIR ... | -o DIR]",
        description="Lint a file and write DIR/PLAN/ for each of its plans, or nothing if there is an error. With "
        "--check, compare instead. "
        "Exit status: 0 (warnings allowed), 1 errors, or files that differ, 2 the files cannot be written or compared.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="the plan file")
    parser.add_argument("--plan", action="append", default=[], metavar="NAME", help="only this plan; may be repeated")
    parser.add_argument("--target", action="append", default=[], metavar="T", help="only this target; may be repeated")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder to write to; made if it is not there")
    parser.add_argument("--set", **SET)  # type: ignore[arg-type]
    parser.add_argument("--force", action="store_true", help="overwrite files that were edited or are not planc's")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; say what is on disk and is not what the plan gives, and why. With FILE: what the same "
        "command would write. Without: every folder with a planc.manifest.json below DIR, or below the current folder, "
        "compiled again as the manifest says. Folders that git ignores are passed over, as a fresh clone lacks them, "
        "unless DIR itself is such a folder",
    )
    parser.add_argument("--diff", action="store_true", help="with --check: the lines that differ, too")
    parser.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        help="json: the diagnostics as data on standard output, as `lint` gives them, and with --check what differs; "
        "the manifest lists what was written. default: text",
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return parser


def _refuse_what_does_not_fit(options: argparse.Namespace) -> None:
    if options.output == "":
        raise CannotWork("the folder to write to is empty: `-o ''`")
    if options.diff and not options.check:
        raise CannotWork("`--diff` shows what `--check` finds; write both")
    if options.check and options.force:
        raise CannotWork("`--check` writes nothing, so there is nothing to `--force`")
    if options.file is not None and options.output is None:
        raise CannotWork("name the folder with `-o DIR`" + (", or no file, to check all" if options.check else ""))
    if options.file is None and not options.check:
        raise CannotWork("name the plan file: `planc compile FILE -o DIR`")
    if options.file is None and (options.plan or options.target or options.set):
        raise CannotWork("without a file, `--check` takes plan, targets and settings from each manifest")


def _write(
    jobs: list[tuple[Plan, tuple[EmittedFile, ...]]],
    origin: manifest.Origin,
    options: argparse.Namespace,
    read: tuple[str, ...],
) -> None:
    _refuse_names_of_one_folder(jobs)
    folders = [os.path.join(options.output, plan.name) for plan, _ in jobs]
    if not options.force:
        for folder in folders:
            _refuse_the_folder_of_another(folder, origin)
    found = [writing.changes(folder, files, options.force) for folder, (_, files) in zip(folders, jobs, strict=True)]
    conflicts = [
        os.path.join(folder, name) for folder, changed in zip(folders, found, strict=True) for name in changed.conflicts
    ]
    if conflicts:
        listing = ", ".join(map(output.quoted, conflicts))
        if options.force:  # all but what is no file gives way to it
            raise CannotWork(f"no file, and never replaced: {listing}; nothing was written")
        raise CannotWork(f"not as planc wrote it: {listing}; nothing was written, `--force` overwrites files")
    for folder, changed in zip(folders, found, strict=True):
        for file in changed.written:
            refuse_inputs(os.path.join(folder, file.path), read)
    for folder, (plan, files), changed in zip(folders, jobs, found, strict=True):
        try:
            writing.write(folder, changed, partial(manifest.text_of, plan, origin, files, VERSION))
        except OSError as error:
            raise CannotWork(f"cannot write to {output.quoted(folder)}: {reason_of(error)}") from error
        if options.output_format == "text":
            output.write(_report(folder, changed))


def _refuse_names_of_one_folder(jobs: list[tuple[Plan, tuple[EmittedFile, ...]]]) -> None:
    """Some file systems take names that differ only in case for one: the second plan would replace the first."""
    names: dict[str, str] = {}
    for plan, _ in jobs:
        other = names.setdefault(plan.name.casefold(), plan.name)
        if other != plan.name:
            both = f"{output.quoted(other)} and {output.quoted(plan.name)}"
            raise CannotWork(f"plans {both} share a folder where case does not count; compile one with `--plan`")


def _refuse_the_folder_of_another(folder: str, origin: manifest.Origin) -> None:
    """A plan of the same name in another file would be replaced without a word, and its job run with these files."""
    written = manifest.contents(writing.text_of(os.path.join(folder, manifest.NAME)) or "")
    if not isinstance(written, manifest.Contents) or "-" in (written.origin.file, origin.file):
        return
    if written.origin.file == origin.file:
        return
    from planc.commands.checking import plan_file

    other = plan_file(folder, written.origin.file)
    if other is not None:
        holds = f"{output.quoted(folder)} holds plan {output.quoted(written.plan)} of {output.quoted(other)}"
        raise CannotWork(f"{holds}; nothing was written, name another folder, or `--force` replaces its files")


def _report(folder: str, changed: writing.Changes) -> str:
    lines = [("wrote", file.path) for file in changed.written]
    lines.extend(("unchanged", name) for name in changed.unchanged)
    lines.extend(("removed", name) for name in changed.removed)
    lines.extend(("kept", f"{name} (not emitted any more, but edited)") for name in changed.kept)
    return "".join(f"{verb} {visible(os.path.join(folder, name))}\n" for verb, name in lines)


def _emitted(plan: Plan, options: argparse.Namespace) -> tuple[EmittedFile, ...]:
    """The files of a plan; those of targets that were not chosen stay where they are as the plan gives them now."""
    return emitted(plan, options.target, partial(writing.is_there, os.path.join(options.output, plan.name)))
