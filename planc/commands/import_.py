"""`planc import`: the configurations of one job, read as a plan and written as one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from planc.commands import output
from planc.commands.arguments import Parser, parsed, positive
from planc.commands.beside import Asked, as_written, beside
from planc.commands.configuring import Configurations
from planc.commands.files import ENDING, Files
from planc.commands.native import Natives
from planc.commands.output import CannotWork, as_text
from planc.commands.placing import put, refuse_inputs, refuse_place
from planc.commands.settling import settle
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.importing import Plan, plan_of
from planc.native.job import Job
from planc.native.kind import TRAINERS
from planc.native.kinds import kind_names
from planc.reporting.configuration import Chosen
from planc.source import Source

_EXAMPLE = "run.plan"


def run(arguments: list[str]) -> int:
    """Exit status: 0 if all is well, 1 if the files have errors, 2 if the plan cannot be written."""
    options = parsed(parser(), arguments)
    files = Files()
    asked = Asked(options.cluster, options.model, options.world, options.trainer)
    known, load = beside(files, asked, ())
    sources, diagnostics = _read(files, options.files)
    if options.output is not None:
        refuse_place(options.output, _EXAMPLE, options.force)
        refuse_inputs(options.output, files.paths())
    configurations = Configurations(files)
    one = Natives(files, options.kind, known, load).as_one(sources, configurations.houses(sources))
    found = (*diagnostics, *one.of_files, *one.of_rules)
    shown = settle(found, sources, configurations, Chosen(), (), one.layouts).diagnostics
    errors = [each for each in shown if output.is_error(each)]
    # What rules find is found in the plan again; but of files that are faulty themselves it would be a guess.
    of_rules = {(each.code, each.primary.span) for each in one.of_rules}
    plan = None
    if one.job is not None and all((each.code, each.primary.span) in of_rules for each in errors):
        folder = os.path.dirname(options.output or "")
        plan = plan_of(one.job, _name(options, one.job), load, known, as_written(known.parts, asked, folder))
        _save(plan, options, files)
    if options.output_format == "json":
        import json

        from planc.native.import_data import import_data

        written = None if plan is None else options.output
        data = import_data(plan, written, () if one.job is None else _sources(one.job), shown)
        output.write(json.dumps(data, indent=2) + "\n")
    else:
        _show(plan, options, shown)
    return 1 if errors else 0


def _sources(job: Job) -> tuple[Source, ...]:
    return tuple(file.tree.source for file in job.files)


def _save(plan: Plan, options: argparse.Namespace, files: Files) -> None:
    """Writes the plan to its file, if it is to have one."""
    if plan.text is None:
        raise CannotWork("the plan would be larger than a plan file may be")
    if options.output is not None:
        refuse_inputs(options.output, files.paths())  # what the files name has been read by now
        put(options.output, plan.text.encode(), _EXAMPLE, options.force)


def _show(plan: Plan | None, options: argparse.Namespace, found: Sequence[Diagnostic]) -> None:
    """The plan, or where it is; on standard error what is wrong with the files, and that keys are left."""
    shown = [each for each in found if each.severity is not Severity.INFO]
    output.complain(as_text(shown, output.in_color(options.color, sys.stderr)) + "\n" * bool(shown))
    if plan is None:
        output.complain("planc: nothing was written\n")
        return
    output.write(plan.text or "" if options.output is None else f"wrote {output.quoted(options.output)}\n")
    if plan.left:
        output.complain(f"planc: no field stands for {plural(len(plan.left), 'key')}, listed at the end of the plan\n")


def _read(files: Files, names: list[str]) -> tuple[list[Source], list[Diagnostic]]:
    """The files of the command line, and what is wrong with those that hold no text."""
    sources: dict[Source, None] = {}
    found: list[Diagnostic] = []
    for name in names:
        if os.path.isdir(name):
            raise CannotWork(f"{output.quoted(name)} is a folder; name the files of one job")
        if name.endswith(ENDING):
            raise CannotWork(f"{output.quoted(name)} is a plan already")
        reading = files.read(name)
        if isinstance(reading, str):
            raise CannotWork(f"cannot read {output.quoted(name)}: {reading}")
        if isinstance(reading, Diagnostic):
            found.append(reading)
        else:
            sources[reading] = None
    return list(sources), found


def _name(options: argparse.Namespace, job: Job) -> str:
    """The plan's name: that of the job, if it has one, of the plan's file, or else of the first file that was read."""
    given = next((content.name for content in job.contents if content.name), None)
    if given is not None:
        return given
    path = options.output or job.files[0].tree.source.name
    name = os.path.basename(path).partition(".")[0]
    return name if name and name.isprintable() and not name.startswith("<") else "imported"


def parser() -> argparse.ArgumentParser:
    """The command line of `planc import`."""
    made = Parser(
        prog="planc import",
        description="Make a plan of the configurations of one job. What they leave out and their consumers fill in is "
        "marked `# assumed`, what a plan needs and none of them says is left as a comment, and what no field stands "
        "for is listed at its end. What `planc lint` finds in the files is shown. Exit status: 0 (warnings allowed), 1 "
        "the files have errors, 2 the plan cannot be written. Of files that are faulty themselves or disagree no plan "
        "is written; what rules find in the run that they describe is in the plan as well.",
    )
    made.add_argument("files", nargs="+", metavar="FILE|-", help="the files of one job, or - for standard input")
    made.add_argument("-o", "--output", metavar="PLAN", help="write the plan to this file; default: standard output")
    made.add_argument("--force", action="store_true", help="overwrite that file")
    made.add_argument("--kind", choices=kind_names(), metavar="KIND", help=f"what they are: {', '.join(kind_names())}")
    made.add_argument(
        "--cluster", metavar="FILE[:NAME]", help="the cluster, of a plan file, or a card of the catalogue"
    )
    made.add_argument(
        "--model", metavar="FILE[:NAME]", help="a config.json, a model of a plan file, or one of the catalogue"
    )
    made.add_argument("--world", type=positive, metavar="N", help="how many ranks the job has")
    made.add_argument("--trainer", choices=TRAINERS, help="who reads a DeepSpeed file, and fills in `auto`")
    made.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        help="json: the plan, and of each value where it stands. default: text",
    )
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return made
