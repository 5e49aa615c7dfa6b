"""`planc import`: the configurations of one job, read as a plan and written as one."""

from __future__ import annotations

import argparse
import os
import sys

from planc.commands import output
from planc.commands.arguments import Parser, parsed, positive
from planc.commands.beside import Asked, as_written, beside
from planc.commands.files import ENDING, Files
from planc.commands.native import Natives
from planc.commands.output import CannotWork, as_text
from planc.commands.placing import put, refuse_inputs, refuse_place
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.native.importing import plan_of
from planc.native.job import Job
from planc.native.kind import TRAINERS
from planc.native.kinds import kind_names
from planc.source import Source

_EXAMPLE = "run.plan"


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the plan is written, 1 if the files have errors, 2 if it cannot be written."""
    options = parsed(parser(), arguments)
    files = Files()
    asked = Asked(options.cluster, options.model, options.world, options.trainer)
    known, load = beside(files, asked, ())
    sources, diagnostics = _read(files, options.files)
    if options.output is not None:
        refuse_place(options.output, _EXAMPLE, options.force)
        refuse_inputs(options.output, files.paths())
    job, found = Natives(files, options.kind, known, load).as_one(sources)
    everything = in_order((*diagnostics, *found))
    shown = [each for each in everything if each.severity is not Severity.INFO]
    output.complain(as_text(shown, output.in_color(options.color, sys.stderr)))
    if job is None or any(map(output.is_error, everything)):
        output.complain(f"{chr(10) * bool(shown)}planc: nothing was written\n")
        return 1
    if options.output is not None:
        refuse_inputs(options.output, files.paths())  # what the files name has been read by now
    folder = os.path.dirname(options.output or "")
    plan = plan_of(job, _name(options, job), as_written(known.parts, asked, folder), options.world)
    if plan.text is None:
        raise CannotWork("the plan would be larger than a plan file may be")
    if options.output is None:
        output.write(plan.text)
    else:
        put(options.output, plan.text.encode(), _EXAMPLE, options.force)
        output.write(f"wrote {output.quoted(options.output)}\n")
    if plan.left:
        output.complain(f"planc: no field stands for {plural(len(plan.left), 'key')}, listed at the end of the plan\n")
    return 0


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
    """The plan's name: that of its file, else that of the first file that was read."""
    path = options.output or job.files[0].tree.source.name
    name = os.path.basename(path).partition(".")[0]
    return name if name and name.isprintable() and not name.startswith("<") else "imported"


def parser() -> argparse.ArgumentParser:
    """The command line of `planc import`."""
    made = Parser(
        prog="planc import",
        description="Make a plan of the configurations of one job. What they leave out and their consumers fill in is "
        "marked `# assumed`, what a plan needs and none of them says is left as a comment, and what no field stands "
        "for is listed at its end. `planc lint` judges the plan. Exit status: 0 (warnings allowed), 1 the files have "
        "errors or disagree, and nothing is written, 2 the plan cannot be written.",
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
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return made
