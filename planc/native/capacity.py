"""Nodes and processes that files ask for, against the cluster that the command line names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kind import Said
from planc.plan.model import Located, Plan
from planc.source import Source

#: The key of accelerate that counts the processes of all machines, and is often taken for those of one.
_OF_ALL = "num_processes"


def check(said: Sequence[Said], given: Plan, composed: Source) -> Iterator[Diagnostic]:
    """More than the cluster has; and cards of each node that are left idle, where it looks like a mistake.

    given: a plan with the cluster as it was named; composed: its text, which nobody wrote.
    """
    nodes, cards = (_asked(said, f"cluster.{name}") for name in ("nodes", "gpus_per_node"))
    for each, unit in ((nodes, "node"), (cards, "card")):
        if each is None:
            continue
        own = given[each[0].path]
        number = each[1]
        if not isinstance(own.value, int):
            continue
        where = " a node" if unit == "card" else ""
        if own.value < number:
            message = f"{plural(number, unit)}{where}, where the cluster has {count_text(own.value)}"
            yield faults.DISAGREEING_FILES.at(each[0].entry, message, "too many", related=_place(own, composed))
        elif unit == "card" and number < own.value and nodes is not None and 1 < nodes[1] and each[0].key == _OF_ALL:
            message = f"{plural(number, 'process')} a machine for {plural(own.value, 'card')}"
            help = (f"it counts those of all machines: write `{_OF_ALL}: {count_text(own.value * nodes[1])}`",)
            found = faults.DISAGREEING_FILES.at(
                each[0].entry, message, f"over {plural(nodes[1], 'machine')}", related=_place(own, composed), help=help
            )
            yield found._replace(severity=Severity.WARNING)


def _asked(said: Sequence[Said], path: str) -> tuple[Said, int] | None:
    """The first number that a file says for certain."""
    found = next((each for each in said if each.path == path and not each.assumed and each.text.isdigit()), None)
    return None if found is None else (found, int(found.text))


def _place(own: Located, composed: Source) -> tuple[Label, ...]:
    return () if own.entry.source is composed else (Label(own.entry, "the cluster"),)
