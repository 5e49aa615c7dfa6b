"""What DeepSpeed's launcher refuses to start with, or passes over."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.kinds._options import place_of, spelt, text_of, whole_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option

_LAUNCHERS = ("pdsh", "openmpi", "mpich", "impi", "mvapich", "slurm")
_REFUSED = "deepspeed refuses to start"


def check(launch: Launch) -> Iterator[Diagnostic]:
    """Everything that is wrong with the options of `deepspeed`."""
    yield from _filters(launch)
    yield from _hosts(launch)
    yield from _local(launch)
    yield from _launcher(launch)
    yield from _without_ssh(launch)


def local_cards(launch: Launch) -> tuple[Option, int] | None:
    """The cards of this machine that `--include` names; None where it names others, or all of them."""
    option = launch.option("include")
    slots = _slots(text_of(option) or "")
    if option is None or slots is None or [host for host, _ in slots] != ["localhost"] or not slots[0][1]:
        return None
    return option, len(set(slots[0][1]))


def has_hosts(launch: Launch) -> bool:
    """Whether it names other machines, or may do so."""
    slots = _slots(text_of(launch.option("include")) or "")
    is_local = launch.option("include") is None or (slots is not None and all(host == "localhost" for host, _ in slots))
    return launch.open or launch.option("hostfile") is not None or not is_local


def slots_of(option: Option | None) -> list[tuple[str, list[int]]]:
    """The hosts that a filter names, each with its slots; none where it is no filter, or only the run knows."""
    text = text_of(option)
    return [] if not text else _slots(text) or []


def _slots(text: str) -> list[tuple[str, list[int]]] | None:
    """Hosts of a filter, each with its slots; None where it is none."""
    found = []
    for host in text.split("@"):
        name, colon, slots = host.partition(":")
        try:
            found.append((name, [int(slot) for slot in slots.split(",")] if colon else []))
        except ValueError:
            return None
    return found


def _filters(launch: Launch) -> Iterator[Diagnostic]:
    """Filters of hosts that exclude each other, or are none."""
    given = [option for name in ("include", "exclude") if (option := launch.option(name)) and text_of(option) != ""]
    counts = [
        option
        for name in ("num_gpus", "num_nodes")
        if (option := launch.option(name)) is not None and whole_of(option) is not None and 0 <= (whole_of(option) or 0)
    ]
    for option in given:
        text = text_of(option)
        if text is not None and _slots(text) is None:
            message = f"`{text[:40]}` is no filter of hosts"
            help = ("write `HOST:0,1@HOST:2`",)
            yield faults.WRONG_VALUE.at(place_of(option), message, _REFUSED, help=help)
    pair = [*given, *counts]
    if given and len(pair) > 1:
        first, other = pair[0], pair[1]
        message = f"`{spelt(first)}` beside `{spelt(other)}`"
        related = (Label(outermost(other.written.span)),)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(first.written.span), message, _REFUSED, related=related, help=("remove one of the two",)
        )


def _hosts(launch: Launch) -> Iterator[Diagnostic]:
    """Several nodes, and no file that names them."""
    nodes = launch.option("num_nodes")
    count = whole_of(nodes)
    if nodes is None or count is None or count < 2 or launch.open or launch.option("hostfile") is not None:
        return
    message = f"{plural(count, 'node')}, and no hostfile that names them"
    help = ("write `--hostfile=FILE`, with a line `HOST slots=8` a node",)
    label = f"{_REFUSED}, unless `/job/hostfile` is there"
    found = faults.MISSING_KEY.at(outermost(nodes.written.span), message, label, help=help)
    yield found._replace(severity=Severity.WARNING)


def _local(launch: Launch) -> Iterator[Diagnostic]:
    """Filters of other machines, and no file that names them."""
    if launch.open or launch.option("hostfile") is not None:
        return
    for option in (launch.option("include"), launch.option("exclude")):
        other = next((host for host, _ in slots_of(option) if host != "localhost"), None)
        if option is not None and other is not None:
            message = f"no hostfile names `{other[:40]}`"
            help = ("write `localhost:0,1`, or add `--hostfile=FILE`",)
            label = f"{_REFUSED}, unless `/job/hostfile` does"
            found = faults.MISSING_KEY.at(place_of(option), message, label, help=help)
            yield found._replace(severity=Severity.WARNING)


def _launcher(launch: Launch) -> Iterator[Diagnostic]:
    """A backend that there is not, where it is asked for."""
    option, text = launch.option("launcher"), text_of(launch.option("launcher"))
    is_used = launch.option("force_multi") is not None and launch.option("no_ssh") is None
    if option is None or text is None or text.lower() in _LAUNCHERS:
        return
    near = nearest(text.lower(), _LAUNCHERS)
    help = (f"did you mean `{near}`?" if near else f"it is one of {', '.join(_LAUNCHERS)}",)
    message = f"deepspeed has no launcher `{text[:40]}`"
    found = faults.WRONG_VALUE.at(place_of(option), message, "refused on several nodes", help=help)
    yield found if is_used else found._replace(severity=Severity.WARNING)


def _without_ssh(launch: Launch) -> Iterator[Diagnostic]:
    """Nodes that are started one by one have to know which they are."""
    alone, rank = launch.option("no_ssh"), launch.option("node_rank")
    if alone is None or launch.open:
        return
    number, count = whole_of(rank), whole_of(launch.option("num_nodes"))
    if rank is None:
        help = ("write `--node_rank=N`, from 0 on each node another",)
        message = "`--no_ssh` without `--node_rank`"
        yield faults.MISSING_KEY.at(outermost(alone.written.span), message, _REFUSED, help=help)
    elif number is not None and (number < 0 or (count is not None and 0 < count <= number)):
        message = f"`--node_rank` is {number}" + (f" of {plural(count, 'node')}" if count and 0 < count else "")
        related = (Label(outermost(alone.written.span)),)
        help = ("nodes are counted from 0",)
        yield faults.CONFLICTING_SETTINGS.at(place_of(rank), message, _REFUSED, related=related, help=help)
