"""What a job asks of PBS, LSF or Grid Engine in the comments of its script: nodes, cards, time.

PBS: qsub(1B) and pbs_resources(7B) of OpenPBS and Torque; LSF: bsub(1) of Spectrum LSF 10.1; Grid Engine: qsub(1),
sge_types(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from planc.native.shell.model import Directive, Script
from planc.source import Span

#: How messages call them.
NAMES = {"pbs": "PBS", "lsf": "LSF", "sge": "Grid Engine"}

#: Variables in which Torque tells a script the number of its nodes.
OF_NODES = ("PBS_NUM_NODES",)

#: Resources with cards: of a chunk of PBS, of a node of Torque, of a slot of Grid Engine.
_CARDS = ("ngpus", "gpus", "gpu")

_NUMBER = re.compile(r"\d{1,6}")
_DURATION = re.compile(r"(?:(?:(?:(\d{1,4}):)?(\d{1,5}):)?(\d{1,6}):)?(\d{1,8})(?:\.\d+)?")
_MINUTES = re.compile(r"(?:(\d{1,5}):)?(\d{1,6})(?:/.+)?")
_THREE = re.compile(r"(\d{0,6}):(\d{0,6}):(\d{0,6})")
_NUM = re.compile(r"(?:^|:)num=(\d{1,4})(/task|/host)?(?=:|$)")
_PROCESSES = re.compile(r":(?:mpiprocs|ppn)=(\d{1,4})(?=:|$)")
_SPAN = re.compile(r"span\[(ptile|hosts)=(\d{1,4})\]")


class Resource(NamedTuple):
    """A name with a value in a list of resources, `walltime=10:00:00`, and where it stands."""

    name: str
    value: str
    directive: Directive
    span: Span


class Asked(NamedTuple):
    """A number that a job asks for, and what asks for it."""

    number: int
    directive: Directive


class Job(NamedTuple):
    """What a job asks for.

    nodes: how many; at_most: it may be fewer, since the scheduler may put several chunks on one.
    cards: on each node; sure: no setting of the site makes it another number. all_cards: those of the whole job.
    tasks: how many an mpirun starts on each node, unless it is told otherwise.
    limit: its time in seconds.
    """

    scheduler: str
    nodes: Asked | None = None
    at_most: bool = False
    cards: Asked | None = None
    sure: bool = True
    all_cards: Asked | None = None
    tasks: Asked | None = None
    limit: Asked | None = None


def job_of(script: Script) -> Job | None:
    """What the job of a script asks for; None if no scheduler but Slurm reads it, or more than one does."""
    read = [each for each in script.directives if not (each.misspelt or each.variable or _is_late(each))]
    schedulers = {each.scheduler for each in read}
    if len(schedulers) != 1:
        return None
    scheduler = schedulers.pop()
    return {"pbs": _of_pbs, "lsf": _of_lsf, "sge": _of_grid_engine}.get(scheduler, _none)(read)


def limit(script: Script) -> tuple[Directive, int] | None:
    """The limit of the job, in seconds, and where it stands; None where there is none that can be read."""
    job = job_of(script)
    return None if job is None or job.limit is None else (job.limit.directive, job.limit.number)


def seconds_of(scheduler: str, text: str) -> int | None:
    """A limit in seconds; None where the scheduler takes it for none."""
    if scheduler == "lsf":
        match = _MINUTES.fullmatch(text)
        return None if match is None else (int(match[1] or 0) * 60 + int(match[2])) * 60
    if scheduler == "sge":
        match = _THREE.fullmatch(text)
        if match is None:
            return int(text) if _NUMBER.fullmatch(text) else None
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return (hours * 60 + minutes) * 60 + seconds
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def resources(directives: list[Directive]) -> Iterator[Resource]:
    """What the lists behind `-l` ask for, one by one."""
    for directive in directives:
        if directive.option != "-l" or directive.value is None or directive.value_span is None:
            continue
        at = directive.value_span.start
        is_verbatim = directive.value_span.text == directive.value
        for part in directive.value.split(","):
            name, _, value = part.partition("=")
            span = directive.value_span
            if is_verbatim:
                span = span._replace(start=at, end=at + len(part))
            yield Resource(name.strip(), value.strip(), directive, span)
            at += len(part) + 1


def _is_late(directive: Directive) -> bool:
    """Whether the scheduler has stopped reading; Grid Engine reads all lines."""
    return directive.late and directive.scheduler != "sge"


def _none(directives: list[Directive]) -> Job | None:
    return None


def _limit(found: Resource | None, scheduler: str) -> Asked | None:
    seconds = seconds_of(scheduler, found.value) if found is not None else None
    return None if found is None or not seconds else Asked(seconds, found.directive)


def _of_pbs(directives: list[Directive]) -> Job | None:
    """`select=2:ncpus=64:ngpus=8`, `nodes=2:ppn=8:gpus=8`, or cards for the whole job."""
    by_name = {each.name: each for each in resources(directives)}
    limit = _limit(by_name.get("walltime"), "pbs")
    chosen = by_name.get("select") or by_name.get("nodes")
    if chosen is None:
        cards = next((by_name[name] for name in _CARDS if name in by_name), None)
        count = int(cards.value) if cards is not None and _NUMBER.fullmatch(cards.value) else None
        every = Asked(count, cards.directive) if count is not None and cards is not None else None
        return Job("pbs", all_cards=every, limit=limit)
    chunks = [_chunk(part, chosen.name) for part in chosen.value.split("+")]
    counts = [count for count, _ in chunks]
    if not all(counts) or None in counts:
        return Job("pbs", limit=limit)
    nodes = sum(count for count in counts if count)
    own = {cards for _, cards in chunks}
    total = sum((count or 0) * (cards or 0) for count, cards in chunks)
    each = own.pop() if len(own) == 1 else None
    place = by_name.get("place")
    scattered = place is not None and "scatter" in place.value
    return Job(
        "pbs",
        nodes=Asked(nodes, chosen.directive),
        at_most=1 < nodes and not scattered,
        cards=Asked(each, chosen.directive) if each else None,
        all_cards=Asked(total, chosen.directive) if total else None,
        tasks=Asked(tasks, chosen.directive) if (tasks := _tasks(chosen.value)) else None,
        limit=limit,
    )


def _tasks(text: str) -> int | None:
    """The processes of MPI in each chunk, where all have as many."""
    found = {match[1] for part in text.split("+") if (match := _PROCESSES.search(part))}
    return int(found.pop()) if len(found) == 1 and text.count("+") == 0 else None


def _chunk(text: str, name: str) -> tuple[int | None, int | None]:
    """How often a chunk is asked for, and the cards in each; names of nodes may stand for a number in Torque."""
    first, *rest = text.split(":")
    count: int | None = int(first) if _NUMBER.fullmatch(first) else None
    if "=" in first:
        count, rest = 1, [first, *rest]
    elif count is None and name == "nodes":
        return None, None
    pairs = dict(part.partition("=")[::2] for part in rest)
    cards = next((pairs[name] for name in _CARDS if name in pairs), None)
    return count, int(cards) if cards is not None and _NUMBER.fullmatch(cards) else None


def _of_lsf(directives: list[Directive]) -> Job | None:
    """`-n 8 -R span[ptile=4] -gpu num=4`, or `-nnodes 2`."""
    by_name = {each.option: each for each in directives if each.value is not None}
    limit = by_name.get("-W")
    seconds = seconds_of("lsf", limit.value or "") if limit is not None else None
    slots = _count(by_name.get("-n"))
    needed = " ".join(each.value or "" for each in directives if each.option == "-R")
    nodes, tasks = _count(by_name.get("-nnodes")), 1
    span = _SPAN.search(needed)
    if nodes is None and slots is not None:
        per_host = int(span[2]) if span is not None and span[1] == "ptile" else 0
        if slots.number == 1 or (span is not None and span[1] == "hosts" and span[2] == "1"):
            nodes, tasks = Asked(1, slots.directive), slots.number
        elif per_host and slots.number % per_host == 0:
            nodes, tasks = Asked(slots.number // per_host, slots.directive), per_host
    elif nodes is None:
        nodes = Asked(1, directives[0]) if "-gpu" in by_name else None
    gpu = by_name.get("-gpu")
    asked = _NUM.search(gpu.value or "") if gpu is not None else None
    cards: Asked | None = None
    if gpu is not None and asked is not None:
        cards = Asked(int(asked[1]) * (tasks if asked[2] == "/task" else 1), gpu)
        if asked[2] == "/task" and nodes is None:
            cards = None
    return Job(
        "lsf",
        nodes=nodes,
        cards=cards,
        tasks=Asked(tasks, slots.directive) if slots is not None and nodes is not None else None,
        # The site may let the number count for each task.
        sure=asked is not None and (bool(asked[2]) or slots is None or slots.number == 1),
        limit=Asked(seconds, limit) if seconds and limit is not None else None,
    )


def _count(directive: Directive | None) -> Asked | None:
    value = directive.value if directive is not None else None
    if directive is None or value is None or not _NUMBER.fullmatch(value):
        return None
    return Asked(int(value), directive)


def _of_grid_engine(directives: list[Directive]) -> Job | None:
    """`-pe mpi 16 -l gpu=2 -l h_rt=10:00:00`: how slots spread over nodes is for the site to say."""
    by_name = {each.name: each for each in resources(directives)}
    limit = _limit(by_name.get("h_rt"), "sge")
    cards = next((by_name[name] for name in _CARDS if name in by_name), None)
    is_parallel = any(each.option == "-pe" for each in directives)
    if is_parallel or cards is None or not _NUMBER.fullmatch(cards.value):
        return Job("sge", limit=limit)
    asked = Asked(int(cards.value), cards.directive)
    return Job("sge", nodes=Asked(1, cards.directive), cards=asked, all_cards=asked, limit=limit)
