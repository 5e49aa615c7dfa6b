"""What `planc attest` puts into a record: the plan, judged; folders, measured; reports, read; and what they lack."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from planc.commands import hashing, progress
from planc.commands.checkpoints import described, looked_at
from planc.commands.compiled import Compiled
from planc.commands.compiling import Ready
from planc.commands.hash_memory import memory_of
from planc.commands.hashing import Memory
from planc.commands.output import CannotWork, quoted
from planc.commands.reports import read_log, read_metrics
from planc.compiler import plan_facts
from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible
from planc.evidence import dataset
from planc.evidence.checkpoints import fitting
from planc.evidence.checkpoints.found import Found
from planc.evidence.folder import Folder
from planc.evidence.statement import Report, Run
from planc.plan.model import Plan, Unknown

#: Problems of a folder that are named; the others are counted.
MOST_NAMED = 20


class Lacking(Exception):
    """What the run lacks of what its plan asks of it, a line each; exit status 1."""


def chosen_plan(found: Ready, file: str) -> Plan:
    """The one plan that the record is of."""
    if 1 < len(found.plans):
        listing = ", ".join(quoted(plan.name) for plan in found.plans)
        raise CannotWork(f"{quoted(file)} has several plans, {listing}: name one with `--plan`")
    return found.plans[0]


def run_of(subject: Compiled, options: argparse.Namespace, time: str | None) -> Run:
    """All that the record of a run is made of; what is cheap to find missing first, the checkpoint last."""
    plan = subject.plan
    reports = _reports(plan, options)
    faults = list(_missing_metrics(plan, reports))
    data = None if options.dataset is None else folder_of(options.dataset, "dataset", _memory(options.dataset, options))
    infos = () if options.dataset is None else described(options.dataset)
    identity, differing = dataset.identity(plan, options.dataset_digest, data, infos)
    faults.extend(differing)
    checkpoints = looked_at(options.checkpoint).found
    others = differences_of(plan, checkpoints)
    if others and not options.allow_differences:
        faults.extend(f"the checkpoint is not that of the plan: {other}" for other in others)
        faults.append("`--allow-differences` records it, and how it differs")
    if faults:
        raise Lacking("\n".join(map(visible, faults)))
    checkpoint = folder_of(options.checkpoint, "checkpoint", _memory(options.checkpoint, options))
    return Run(plan, subject.origin, subject.files, checkpoint, identity, reports, time, checkpoints, others)


def differences_of(plan: Plan, checkpoints: Sequence[Found]) -> tuple[str, ...]:
    """How checkpoints differ from what a plan writes."""
    facts = plan_facts(plan)
    return tuple(other for each in checkpoints for other in fitting.differences(each, plan, facts))


def folder_of(path: str, what: str, memory: Memory | None) -> Folder:
    """A folder that holds files, and nothing that cannot be recorded."""
    with progress.shown(what) as show:
        found = hashing.measured(path, show, memory)
    if found.problems:
        named = [f"{quoted(problem.name)}: {problem.reason}" for problem in found.problems[:MOST_NAMED]]
        left = len(found.problems) - len(named)
        more = [f"and {plural(left, 'more problem')}"] if left else []
        lines = "".join(f"\n  {line}" for line in (*named, *more))
        raise CannotWork(f"the {what} {quoted(path)} cannot be recorded:{lines}")
    if not found.files:
        raise CannotWork(f"the {what} {quoted(path)} holds no file")
    return found


def _memory(path: str, options: argparse.Namespace) -> Memory | None:
    return None if options.no_cache else memory_of(path)


def metrics_of(plan: Plan, options: argparse.Namespace) -> list[str]:
    """The files of metrics: those of the command line, else that of the plan."""
    return options.metrics or [path for path in (_field(plan, "evidence.file"),) if path is not None]


def _reports(plan: Plan, options: argparse.Namespace) -> tuple[Report, ...]:
    named = metrics_of(plan, options)
    if named and not options.metrics and not os.path.lexists(named[0]):
        raise CannotWork(f"there is no file {quoted(named[0])}, the plan's `evidence.file`; name it with `--metrics`")
    return (*map(read_metrics, named), *map(read_log, options.log))


def _missing_metrics(plan: Plan, reports: Sequence[Report]) -> list[str]:
    wanted = _field(plan, "evidence.metrics") or ()
    reported = sorted({name for report in reports for name in report.metrics})
    listing = f"reported are {', '.join(reported)}" if reported else "no file of them was given"
    return [
        f"the plan's `evidence.metrics` asks for {name}, which is not reported; {listing}"
        for name in wanted
        if name not in reported
    ]


def _field(plan: Plan, path: str) -> Any:
    value = plan.value(path) if path in plan else None
    return None if isinstance(value, Unknown) else value
