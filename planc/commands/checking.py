"""`planc compile --check`: whether what is on disk is what its plans give, and where not, why. Writes nothing."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import accumulate
from typing import NamedTuple

from planc import manifest
from planc.commands import output, writing
from planc.commands.comparing import Finding, broken, compare, diff, manifest_text
from planc.commands.compiling import Judged, Ready, emitted, judge, ready
from planc.commands.files import Files, project_root
from planc.commands.output import CannotWork, as_text
from planc.commands.search import search_for
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.diagnostics.text import visible
from planc.manifest import Contents

VERSION = 1  # of the form of the JSON; a key that is removed or changes its meaning raises it, a new key does not


class Outcome(NamedTuple):
    """What came of one compiled folder: the differences, or why it could not be compared.

    file: the plan's file, as a path from here; empty where it is not known.
    anew: the command that would write the folder again; empty where there is none.
    """

    folder: str
    plan: str = ""
    file: str = ""
    findings: tuple[Finding, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unread: str = ""
    anew: str = ""


def check(options: argparse.Namespace) -> int:
    """Exit status: 2 if something could not be compared, else 1 if something differs, else 0."""
    outcomes = tuple(_named(options) if options.file is not None else _found(options.output or "."))
    diagnostics = in_order(found for outcome in outcomes for found in outcome.diagnostics)
    if options.output_format == "json":
        import json

        output.write(json.dumps(_document(outcomes, diagnostics, options.diff), indent=2) + "\n")
    else:
        output.complain(as_text(diagnostics, output.in_color(options.color, sys.stderr)))
        output.write("".join(_text(outcome, options.diff) for outcome in outcomes) + _summary(outcomes))
    for outcome in outcomes:
        if outcome.unread:
            output.complain(f"planc: {outcome.unread}\n")
    if any(outcome.unread for outcome in outcomes):
        return 2
    return 1 if any(outcome.findings for outcome in outcomes) else 0


def _named(options: argparse.Namespace) -> Iterator[Outcome]:
    """The folders of one file's plans, beside what the same command would write."""
    found = ready(judge(Files(), options.file, tuple(options.set)), options.plan, options.target)
    if found.is_faulty():
        yield _faulty(options.output, "", options.file, found)
        return
    if not any(emitted(plan, options.target, lambda file: False) for plan in found.plans):
        raise CannotWork("nothing to compare: no plan emits a target")
    for plan in found.plans:
        if emitted(plan, options.target, lambda file: False):
            folder = os.path.join(options.output, plan.name)
            with writing.quiet(options.output):
                findings = compare(folder, plan, found.origin)
            anew = _anew(options.file, options.output, found.origin, findings)
            yield Outcome(folder, plan.name, options.file, findings, anew=anew)


def _found(folder: str) -> Iterator[Outcome]:
    """Every compiled folder below a folder, beside what its manifest says that it was compiled from."""
    if not os.path.isdir(folder):
        raise CannotWork(f"{output.quoted(folder)} is no folder")
    paths, closed = search_for(folder, manifest.NAME)
    paths = [path for path in paths if os.path.basename(path) == manifest.NAME and not writing.is_staging(path)]
    if not paths and not closed:
        raise CannotWork(
            f"no `{manifest.NAME}` below {output.quoted(folder)} (what git ignores is passed over); "
            "name the compiled folder with `-o DIR`"
        )
    for name, reason in closed:
        yield Outcome(name, unread=f"cannot read {output.quoted(name)}: {reason}")
    files = Files()
    judged = cache(partial(judge, files))  # a file may have a hundred plans, and each of them a folder
    for path in paths:
        try:
            yield _of_manifest(path, files, judged)
        except CannotWork as reason:
            yield Outcome(os.path.dirname(path) or ".", unread=str(reason))


def _of_manifest(path: str, files: Files, judged: Callable[[str, tuple[str, ...]], Judged]) -> Outcome:
    folder = os.path.dirname(path) or "."
    contents = manifest.contents(manifest_text(path) or "")
    if not isinstance(contents, Contents):
        return Outcome(folder, findings=(broken(path, contents),))
    recorded, name = contents.origin, contents.plan
    if recorded.file == "-":
        raise CannotWork(
            f"cannot compare {output.quoted(folder)}: its plan was read from standard input; "
            "name it: `planc compile --check FILE -o DIR`"
        )
    file = plan_file(folder, recorded.file)
    if file is None:
        reason = (
            f"its plan, {output.quoted(recorded.file)} from the root of its project, is not there; "
            "where it lies elsewhere, name it: `planc compile --check FILE -o DIR`"
        )
        return Outcome(folder, name, findings=(Finding(path, "plan-missing", reason),))
    reading = files.read(file)
    if isinstance(reading, str):
        raise CannotWork(f"cannot read {output.quoted(file)}: {reading}")
    try:
        found = ready(judged(file, recorded.settings), (name,), recorded.targets)
        if found.is_faulty():
            return _faulty(path, name, file, found)
        parent, last = os.path.split(os.path.abspath(folder))
        with writing.quiet(parent):
            findings = compare(folder, found.plans[0], found.origin)
    except CannotWork as reason:
        return Outcome(folder, name, file, (Finding(path, "plan-faulty", str(reason)),))
    anew = _anew(file, os.path.relpath(parent), found.origin, findings) if last == name else ""
    return Outcome(folder, name, file, findings, anew=anew)


def plan_file(folder: str, recorded: str) -> str | None:
    """The plan's file, from here: in the nearest folder upward that is the root of its project, as when it compiled.

    Outside any project, a plan has no more than its name to be known by: it is looked for where `-o DIR` beside it
    puts its folder, and not up to the root of the disk.
    """
    if not writing.is_below(recorded):
        return None
    at = os.path.realpath(folder)
    needs_mark = _project_path(os.path.join(at, manifest.NAME), True) != ""
    above = list(accumulate(at.split(os.sep)[1:], os.path.join, initial=os.sep))[::-1]
    for root in above if needs_mark else above[:3]:
        if os.path.isfile(os.path.join(root, recorded)):  # else it may be no path at all
            path = os.path.realpath(os.path.join(root, recorded))
            if _project_path(path, needs_mark) == recorded:
                return os.path.relpath(path)
    return None


def _project_path(path: str, needs_mark: bool) -> str:
    """The path of a file from its project's root; empty if it lies in no project and has to."""
    root = project_root(path)  # of the file as if it were a folder: itself where no folder upward has a mark
    if root == path:
        return "" if needs_mark else os.path.basename(path)
    return os.path.relpath(path, root)


def _faulty(path: str, plan: str, file: str, found: Ready) -> Outcome:
    count = plural(sum(map(output.is_error, found.diagnostics)), "error")
    finding = Finding(path, "plan-faulty", f"{output.quoted(file)} has {count}, so no files follow from it")
    folder = os.path.dirname(path) if os.path.basename(path) == manifest.NAME else path
    return Outcome(folder or ".", plan, file, (finding,), tuple(filter(output.is_error, found.diagnostics)))


def _anew(file: str, folder: str, origin: manifest.Origin, findings: tuple[Finding, ...]) -> str:
    """The command that writes a folder again, for a shell."""
    if not findings or file == "-":
        return ""
    options = [word for value in origin.settings for word in ("--set", value)]
    options.extend(word for value in origin.targets for word in ("--target", value))
    if any(finding.kind in ("edited", "unlisted") for finding in findings):
        options.append("--force")
    return shlex.join(("planc", "compile", file, "-o", folder, *options))


def _text(outcome: Outcome, wants_diff: bool) -> str:
    lines = []
    for finding in outcome.findings:
        lines.append(f"{visible(finding.path)}: {finding.kind}: {visible(finding.reason)}\n")
        if wants_diff:
            lines.append(diff(finding))
    if outcome.anew:
        lines.append(f" = help: `{visible(outcome.anew)}` writes it anew\n")
    return "".join(lines)


def _summary(outcomes: tuple[Outcome, ...]) -> str:
    compared = [outcome for outcome in outcomes if not outcome.unread]
    differing = [outcome for outcome in compared if outcome.findings]
    if differing:
        count = plural(sum(len(outcome.findings) for outcome in differing), "difference")
        return f"\nFound {count} in {len(differing)} of {plural(len(compared), 'compiled folder')}.\n"
    return f"Found no differences in {plural(len(compared), 'compiled folder')}.\n"


def _document(
    outcomes: tuple[Outcome, ...], diagnostics: tuple[Diagnostic, ...], wants_diff: bool
) -> dict[str, object]:
    """The outcome as data; `schemas/check.schema.json` describes it."""
    from planc.diagnostics.json import as_data

    return {
        "version": VERSION,
        "folders": [
            {
                "folder": outcome.folder,
                "plan": outcome.plan,
                "file": outcome.file,
                "findings": [_as_data(finding, wants_diff) for finding in outcome.findings],
            }
            for outcome in outcomes
            if not outcome.unread
        ],
        "diagnostics": [as_data(diagnostic) for diagnostic in diagnostics],
        "unread": [{"folder": outcome.folder, "reason": outcome.unread} for outcome in outcomes if outcome.unread],
    }


def _as_data(finding: Finding, wants_diff: bool) -> dict[str, str]:
    data = {"path": finding.path, "kind": finding.kind, "reason": finding.reason}
    return {**data, "diff": diff(finding)} if wants_diff else data
