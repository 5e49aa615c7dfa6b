"""`planc compile`: lints a file, and writes what its plans' targets take if there is no error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial

from planc import manifest
from planc.commands import output, writing
from planc.commands.files import Files, reason_of
from planc.commands.output import CannotWork, as_text, is_error
from planc.commands.reading import SET, chosen_plans, read_one
from planc.compiler import analyse, emit, open_fields
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.plan.faults import UNWRITTEN_TARGET
from planc.plan.model import Plan
from planc.targets import target_names
from planc.targets.target import EmittedFile
from planc.version import VERSION


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the files are written, 1 if the file has errors, 2 if they cannot be written."""
    options = _options(arguments)
    if not options.output:
        raise CannotWork("the folder to write to is empty: `-o ''`")
    files = Files()
    read = read_one(files, options.file)
    analysis = analyse(read.sources, files.load, tuple(options.set))
    diagnostics = (*read.diagnostics, *analysis.diagnostics)
    if not any(map(is_error, diagnostics)):
        plans = chosen_plans(analysis.plans, options.plan, options.file)
        _check_targets(plans, options.target)
        still_open = (found for plan in plans if plan.targets for found in open_fields(plan))
        diagnostics = (*_with_unwritten(diagnostics, plans, options.target), *still_open)
    if options.output_format == "json":
        from planc.diagnostics import json
        from planc.diagnostics.report import Report

        output.write(json.render(Report(in_order(diagnostics), read.names)))
    else:
        output.complain(as_text(in_order(diagnostics), output.in_color(options.color, sys.stderr)))
    if any(map(is_error, diagnostics)):
        output.complain("\nplanc: nothing was written\n")
        return 1
    jobs = [(plan, _emitted(plan, options)) for plan in plans]
    jobs = [(plan, emitted) for plan, emitted in jobs if emitted]
    if not jobs:
        raise CannotWork("nothing to write: no plan emits a target")
    with writing.turn(options.output):
        _write(jobs, files.project_path(read.sources[0]), options)
    return 0


def _write(jobs: list[tuple[Plan, tuple[EmittedFile, ...]]], source: str, options: argparse.Namespace) -> None:
    folders = [os.path.join(options.output, plan.name) for plan, _ in jobs]
    found = [writing.changes(folder, files, options.force) for folder, (_, files) in zip(folders, jobs, strict=True)]
    conflicts = [
        os.path.join(folder, name) for folder, changed in zip(folders, found, strict=True) for name in changed.conflicts
    ]
    if conflicts:
        listing = ", ".join(map(output.quoted, conflicts))
        raise CannotWork(f"not as planc wrote it: {listing}; nothing was written, `--force` overwrites files")
    for folder, (plan, files), changed in zip(folders, jobs, found, strict=True):
        try:
            writing.write(folder, changed, partial(manifest.text_of, plan, source, files, VERSION))
        except OSError as error:
            raise CannotWork(f"cannot write to {output.quoted(folder)}: {reason_of(error)}") from error
        if options.output_format == "text":
            output.write(_report(folder, changed))


def _report(folder: str, changed: writing.Changes) -> str:
    lines = [("wrote", file.path) for file in changed.written]
    lines.extend(("unchanged", name) for name in changed.unchanged)
    lines.extend(("removed", name) for name in changed.removed)
    lines.extend(("kept", f"{name} (not emitted any more, but edited)") for name in changed.kept)
    return "".join(f"{verb} {os.path.join(folder, name)}\n" for verb, name in lines)


def _check_targets(plans: Sequence[Plan], targets: Sequence[str]) -> None:
    """Refuses a target that none of the plans emits: it would have been checked for none of them."""
    emitted = sorted({choice.name for plan in plans for choice in plan.targets})
    for name in targets:
        if name not in emitted:
            known = ", ".join(map(output.quoted, emitted)) or "nothing"
            guess = output.did_you_mean(name, emitted)
            raise CannotWork(f"target {output.quoted(name)} is not in `emit`{guess}; the plan emits {known}")


def _with_unwritten(
    diagnostics: tuple[Diagnostic, ...], plans: Sequence[Plan], targets: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """The diagnostics, with an error in place of the warning for each target that is wanted but cannot be written."""
    written = target_names()
    needed = {
        choice.span: choice.name
        for plan in plans
        for choice in plan.targets
        if choice.name not in written and (not targets or choice.name in targets)
    }
    others = [name for name in written if any(plan.emits(name) for plan in plans)]
    help = ("write the others with " + " ".join(f"`--target {name}`" for name in others),) if others else ()
    errors = [
        UNWRITTEN_TARGET.at(span, f"this version of planc does not write `{name}`", help=help)._replace(
            severity=Severity.ERROR
        )
        for span, name in needed.items()
    ]
    warned = [found for found in diagnostics if found.code != UNWRITTEN_TARGET.code or found.primary.span not in needed]
    return (*warned, *errors)


def _emitted(plan: Plan, options: argparse.Namespace) -> tuple[EmittedFile, ...]:
    """The files of a plan, each path once; targets that share a file emit the same text.

    Where targets were chosen, the files of the others stay if they are on disk as the plan gives them now: they are
    still part of what was compiled, as when a launch script asks for the file of a second target.
    """
    files: dict[str, EmittedFile] = {}
    for file in emit(plan, lambda choice: not options.target or choice.name in options.target):
        if files.setdefault(file.path, file) != file:
            raise CannotWork(f"two targets of plan {output.quoted(plan.name)} write `{file.path}`")
    if files and options.target:
        folder = os.path.join(options.output, plan.name)
        for file in emit(plan, lambda choice: choice.is_written and choice.name not in options.target):
            if writing.is_there(folder, file):
                files.setdefault(file.path, file)
    return tuple(files.values())


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="planc compile",
        description="Lint a file and write DIR/PLAN/ for each of its plans, or nothing if there is an error. "
        "Exit status: 0 (warnings allowed), 1 errors, 2 the files cannot be written.",
    )
    parser.add_argument("file", metavar="FILE", help="the plan file")
    parser.add_argument("--plan", action="append", default=[], metavar="NAME", help="only this plan; may be repeated")
    parser.add_argument("--target", action="append", default=[], metavar="T", help="only this target; may be repeated")
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="folder to write to; made if it is not there"
    )
    parser.add_argument("--set", **SET)  # type: ignore[arg-type]
    parser.add_argument("--force", action="store_true", help="overwrite files that were edited or are not planc's")
    parser.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        help="json: the diagnostics as data on standard output, as `lint` gives them; the manifest lists what was "
        "written. default: text",
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return parser.parse_args(arguments)
