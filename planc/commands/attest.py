"""`planc attest`: the record of a run, written as a whole or not at all."""

from __future__ import annotations

import argparse
import os
import sys

from planc.commands import attesting, output
from planc.commands.arguments import Parser, parsed
from planc.commands.attesting import MOST_NAMED, Lacking
from planc.commands.checkpoints import undescribed
from planc.commands.compiled import Compiled, compiled
from planc.commands.compiling import emitted, judge, ready
from planc.commands.evidence_files import exposure_of, key_in, require_file, require_packages
from planc.commands.files import Files
from planc.commands.output import CannotWork, as_text, quoted
from planc.commands.placing import put, refuse_inputs, refuse_place
from planc.commands.reading import SET
from planc.diagnostics.amounts import count_text, plural, size_text
from planc.diagnostics.text import visible
from planc.evidence import dataset
from planc.evidence.canonical import Unreadable, canonical
from planc.evidence.checkpoints.found import Found
from planc.evidence.envelope import signed
from planc.evidence.keys import private_key
from planc.evidence.record import MOST_BYTES, read, statement_in
from planc.evidence.statement import Run, statement_of


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the record is written, 1 if plan or run lack what it needs, 2 if it cannot be made."""
    options = parsed(parser(), arguments)
    require_packages()
    require_file(options.file)
    _refuse_output(options)
    key = None if options.sign is None else key_in(options.sign, private_key)
    output.complain("" if options.sign is None else exposure_of(options.sign))
    subject = _of_folder(options) if os.path.isdir(options.file) else _of_file(options)
    if subject is None:
        output.complain("\nplanc: no record was written\n")
        return 1
    refuse_inputs(options.output, attesting.metrics_of(subject.plan, options))
    try:
        made = attesting.run_of(subject, options, _now() if options.time else None)
    except Lacking as reason:
        output.complain("".join(f"planc: {line}\n" for line in str(reason).splitlines()))
        output.complain("planc: no record was written\n")
        return 1
    payload = canonical(statement_of(made))
    content = (payload if key is None else signed(payload, key)) + b"\n"
    if MOST_BYTES < len(content):
        raise CannotWork(f"the record would be larger than {size_text(MOST_BYTES, binary=True)}")
    try:
        statement_in(read(content))  # else `verify` would be the first to notice
    except Unreadable as reason:
        raise CannotWork(f"the record could not be read again: {visible(str(reason))}") from None
    put(options.output, content, "record.json", options.force)  # hours may have gone by: it looks again
    output.complain(_warnings(made))
    if options.dataset is not None:
        output.complain("".join(f"planc: {fault}\n" for fault in undescribed(options.dataset)))
    output.write(_report(made, options))
    return 0


def _of_file(options: argparse.Namespace) -> Compiled | None:
    """The plan of a file and what it compiles to; None after its errors were told."""
    files = Files()
    found = ready(judge(files, options.file, tuple(options.set)), [] if options.plan is None else [options.plan], ())
    output.complain(as_text(filter(output.is_error, found.diagnostics), output.in_color(options.color, sys.stderr)))
    if found.is_faulty():
        return None
    refuse_inputs(options.output, files.paths())
    plan = attesting.chosen_plan(found, options.file)
    return Compiled(plan, found.origin, emitted(plan, (), lambda file: False), ())


def _of_folder(options: argparse.Namespace) -> Compiled:
    """The plan of a compiled folder, and its files."""
    if options.plan is not None or options.set:
        raise CannotWork("a compiled folder holds one plan, as it was set; `--plan` and `--set` are for a plan file")
    found = compiled(options.file)
    refuse_inputs(options.output, (os.path.join(options.file, name) for name in os.listdir(options.file)))
    output.complain("".join(f"planc: {line}\n" for line in found.told))
    return found


def parser() -> argparse.ArgumentParser:
    """The command line of `planc attest`."""
    made = Parser(
        prog="planc attest",
        description="Write the record of a run: its plan, the files of its checkpoint with their hashes, its data and "
        "its metrics. Exit status: 0 the record is written, 1 the plan has errors, or the run lacks what the plan "
        "asks for, 2 the record cannot be made.",
    )
    made.add_argument(
        "file",
        metavar="FILE",
        help="the plan file; or a folder that `compile` wrote for a launcher of a plan with `evidence`",
    )
    made.add_argument("--plan", metavar="NAME", help="the plan that was run, where the file has several")
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument("--checkpoint", required=True, metavar="DIR", help="folder whose files are what the run made")
    made.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="METRICS",
        help="what the run reported: .jsonl, .csv, trainer_state.json, else a log; may be repeated; default: the "
        "plan's `evidence.file`",
    )
    made.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="LOG",
        help="log of the run, for versions of software and metrics; may be repeated",
    )
    made.add_argument("--dataset", metavar="DIR", help="folder of the data that was trained on, to be hashed")
    made.add_argument("--dataset-digest", metavar="DIGEST", help="digest of the data, where the plan does not state it")
    made.add_argument(
        "--allow-differences",
        action="store_true",
        help="record a checkpoint that is not that of the plan, and how it differs",
    )
    made.add_argument("--time", action="store_true", help="record when the record was made")
    made.add_argument("--sign", metavar="KEY", help="sign with this Ed25519 key (PEM or OpenSSH, without passphrase)")
    made.add_argument("-o", "--output", required=True, metavar="RECORD", help="file to write")
    made.add_argument("--force", action="store_true", help="overwrite the file if it is there")
    made.add_argument("--no-cache", action="store_true", help="hash every file, and keep no hash for the next record")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made


def _refuse_output(options: argparse.Namespace) -> None:
    """Refuses a place for the record before hours of hashing."""
    path = options.output
    folder = os.path.dirname(path) or "."
    refuse_place(path, "record.json", options.force)
    given = (options.file, options.sign, *options.metrics, *options.log)
    refuse_inputs(path, (name for name in given if name is not None))
    if not os.path.isdir(folder):
        raise CannotWork(f"there is no folder {quoted(folder)} to write to")
    if not os.access(folder, os.W_OK):
        raise CannotWork(f"cannot write to {quoted(folder)}: permission denied")
    for what in (options.checkpoint, options.dataset):
        inside = what is not None and os.path.realpath(what)
        if inside and os.path.commonpath((inside, os.path.realpath(folder))) == inside:
            raise CannotWork(f"{quoted(path)} would lie in {quoted(what)}, whose files it lists; write it elsewhere")


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _warnings(made: Run) -> str:
    """A line for each file that is cut short, and for each metric that was not finite."""
    cut = [quoted(report.name) for report in made.reports if report.is_cut_short]
    told = "".join(f"planc: the last line of {name} is cut short, and was not recorded\n" for name in cut)
    return told + "".join(
        f"planc: metric {quoted(name)} in {quoted(report.name)} is not finite in "
        f"{metric.num_not_finite} of {plural(metric.num_values, 'value')}"
        f"{'' if metric.first_not_finite.step is None else f', first at step {metric.first_not_finite.step}'}\n"
        for report in made.reports
        for name, metric in report.metrics.items()
        if metric.first_not_finite is not None
    )


def _report(made: Run, options: argparse.Namespace) -> str:
    lines = [
        f"wrote {quoted(options.output)}{'' if options.sign is None else ', signed'}",
        f"  checkpoint: {plural(len(made.checkpoint.files), 'file')}, {size_text(made.checkpoint.size)}",
    ]
    lines += [f"    {_shown(found)}" for found in made.found[:MOST_NAMED]]
    lines += [] if made.found else ["    it has no format that planc reads, and was compared with nothing"]
    if MOST_NAMED < len(made.found):
        lines.append(f"    and {plural(len(made.found) - MOST_NAMED, 'more')}")
    lines += [f"    differs: {visible(other)}" for other in made.differing]
    if "folder" in made.dataset:
        data = made.dataset["folder"]
        lines.append(f"  dataset: {plural(len(data['files']), 'file')}, digest sha256:{data['sha256']}")
    fault = dataset.not_compared(made.dataset)
    if fault:
        told = f"digest {quoted(made.dataset['digest'])}, compared with nothing: {fault}"
        lines.append(f"    {told}" if "folder" in made.dataset else f"  dataset: {told}")
    names = {name for report in made.reports for name in report.metrics}
    lines.append(f"  metrics: {len(names) or 'none'}")
    return "".join(f"{line}\n" for line in lines)


def _shown(found: Found) -> str:
    """A checkpoint in a line: where it is, its format, its step, its parameters, or why they are not counted."""
    parts = [f"{quoted(found.path)}: {found.format}" if found.path else found.format]
    parts += [] if found.step is None else [f"step {count_text(found.step)}"]
    parts += [] if found.parameters is None else [plural(found.parameters, "parameter")]
    return ", ".join((*parts, *map(visible, found.notes)))
