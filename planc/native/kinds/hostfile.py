"""A hostfile: the machines of a job, one a line, as DeepSpeed's launcher and mpirun read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.native import faults
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.saying import Sayer, quoted
from planc.native.tree import Entry, Scalar, Tree
from planc.source import Source, Span

#: What DeepSpeed's launcher takes; what stands behind it is passed over.
_HOST = re.compile(r"(\S+)\s+slots=(\d+)")

#: The number behind a host, as people write it too: `slots = 8`, `:8`, `slots 8`, `max_slots=8`, or alone.
_NUMBER = re.compile(r"(\S+?)(?:\s+(?:max[-_])?slots?\s*[=:]?\s*|\s*:\s*|\s+)(\d{1,6})")

#: What is longer is no slip of a number.
_LONGEST = 120

_MOST_DIGITS = 18


class Host(NamedTuple):
    """A line of the file: the machine and how many ranks it takes."""

    line: Span
    name: Span
    slots: Span

    @property
    def num_slots(self) -> int:
        """How many ranks."""
        return int(self.slots.text[:_MOST_DIGITS])


def recognise(tree: Tree) -> int:
    """How sure it is that a text is a hostfile: every one of its lines is such a line, or its name says so."""
    lines = list(_lines(tree.source))
    if lines and all(_HOST.match(line.text) for line in lines):
        return 95
    if any(_HOST.match(line.text) for line in lines):
        return 80
    return 70 if tree.source.name.lower().endswith("hostfile") else 0


def read(tree: Tree, options: Options) -> Content:
    """How many machines there are, and how many ranks each takes, where they all take as many."""
    sayer = Sayer()
    hosts: list[Host] = []
    for line in _lines(tree.source):
        match = _HOST.match(line.text)
        if match is None:
            sayer.report(_bad_line(line))
        else:
            hosts.append(Host(line, _part(line, match, 1), _part(line, match, 2)))
    sayer.report(*_repeated(hosts), *_empty(hosts))
    if not hosts:
        if not sayer.content().diagnostics:
            message = "the hostfile names no host"
            sayer.report(faults.UNREADABLE.at(Span(tree.source, 0, 0), message, "the launcher refuses to start"))
        return sayer.content()
    _say(hosts, sayer)
    return sayer.content()


def _say(hosts: list[Host], sayer: Sayer) -> None:
    """The shape of the cluster; what is wrong with a line is told, so nothing is said of such a file."""
    if sayer.content().diagnostics:
        return
    first, last = hosts[0], hosts[-1]
    every = first.line.to(last.line)
    sayer.say("cluster.nodes", Entry(every, Scalar(first.name, "hosts"), Scalar(every, len(hosts))))
    names = [host.name.text for host in hosts]
    if 1 < len(names) and all(map(str.isprintable, names)):
        entry = Entry(every, Scalar(first.name, "hosts"), Scalar(every, names))
        sayer.say("emit.deepspeed-launcher.hosts", entry, f"[{', '.join(map(quoted, names))}]")
    if len({host.num_slots for host in hosts}) == 1:
        key = Scalar(first.slots, "slots")
        sayer.say(
            "cluster.gpus_per_node", Entry(first.slots, key, Scalar(first.slots, first.num_slots)), str(first.num_slots)
        )


def hosts_of(tree: Tree) -> tuple[Host, ...]:
    """The hosts of a file; lines that name none are passed over."""
    found = ((line, _HOST.match(line.text)) for line in _lines(tree.source))
    return tuple(Host(line, _part(line, match, 1), _part(line, match, 2)) for line, match in found if match)


def _lines(source: Source) -> Iterator[Span]:
    """The lines that say something, without the blanks around them."""
    start = 0
    for line in source.text.split("\n"):
        text = line.strip()
        if text and not text.startswith("#"):
            at = start + line.index(text)
            yield Span(source, at, at + len(text))
        start += len(line) + 1


def _part(line: Span, match: re.Match[str], group: int) -> Span:
    return Span(line.source, line.start + match.start(group), line.start + match.end(group))


def _bad_line(line: Span) -> Diagnostic:
    shown = line.text if len(line.text) <= 60 else f"{line.text[:60]}..."
    message = "a line is no host with its slots"
    number = _NUMBER.fullmatch(line.text.partition("#")[0].strip()) if len(line.text) <= _LONGEST else None
    if number is None:
        host = re.split(r"\s|[:=]", line.text, maxsplit=1)[0]
        help = (f"write `{host} slots=8`, with the number of its cards",) if 0 < len(host) <= 60 else ()
        return faults.UNREADABLE.at(line, message, f"`{shown}` stops the launcher", help=help)
    meant = f"{number[1]} slots={number[2]}"
    fix = Fix(f"write `{meant}`", (Edit(line, meant),), safe=False)
    return faults.UNREADABLE.at(
        line, message, f"`{shown}` stops the launcher", help=(f"write `{meant}`",), fixes=(fix,)
    )


def _repeated(hosts: list[Host]) -> Iterator[Diagnostic]:
    first: dict[str, Host] = {}
    for host in hosts:
        other = first.setdefault(host.name.text, host)
        if other is not host:
            related = (Label(other.name, "first here"),)
            help = ("remove one of the lines, or name the other machine",)
            message = f"`{host.name.text[:60]}` stands twice"
            yield faults.DUPLICATE_KEY.at(host.name, message, "the launcher stops", related=related, help=help)


def _empty(hosts: list[Host]) -> Iterator[Diagnostic]:
    most = max((host.num_slots for host in hosts), default=0)
    for host in hosts:
        if host.num_slots == 0:
            help = (f"write `slots={most or 8}`, or remove the line",)
            message = f"`{host.name.text[:60]}` has no slots"
            yield faults.WRONG_VALUE.at(host.slots, message, "no rank is started there", help=help)


KIND = Kind(
    "hostfile",
    "a hostfile",
    ("text",),
    (),
    recognise,
    read,
    targets=("deepspeed-launcher",),
    withheld=OF_THE_PROGRAM,
)
