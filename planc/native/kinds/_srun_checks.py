"""How srun starts a launcher: on how many nodes, how often on each, and with which rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _slurm_checks as slurm
from planc.native.kinds import _torchrun_checks
from planc.native.kinds._options import number_of, place_of, spelt, text_of, whole_of, with_value
from planc.native.shell.embedded import Embedded, outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown
from planc.source import Span

#: Variables that differ from task to task, and that the batch shell has for its own.
_OF_TASKS = ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID")

#: Options of srun that pick some of the job's nodes.
_PICKING = ("nodelist", "exclude", "relative", "nodefile", "het_group")

#: Variables that tell torchrun its rank, or that none is needed.
_TOLD = ("PET_NODE_RANK", "PET_RDZV_BACKEND", "PET_STANDALONE")


class Granted(NamedTuple):
    """On how many nodes srun starts something, and where that is said: by an option of its own, or for the job.

    tasks: it is as few as there are tasks.
    """

    nodes: int
    place: Span
    is_own: bool
    tasks: bool = False


def check(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """Everything that is wrong between srun and the launcher that it starts."""
    if launch.outer is None or launch.outer.launcher != "srun":
        return
    yield from _tasks(script, launch, launch.outer)
    yield from _nodes(script, launch, launch.outer)
    yield from _expanded(script, launch)
    yield from _rank(script, launch, launch.outer)


def granted(script: Script, srun: Launch) -> Granted | None:
    """The nodes on which srun starts its tasks; None where that cannot be told."""
    own, every, job = srun.option("nodes"), srun.option("ntasks"), slurm.nodes(script)
    if own is not None:
        count = number_of(own)
        return None if count is None else Granted(count, outermost(own.written.span), True)
    if srun.open or any(srun.option(name) is not None for name in _PICKING) or job is None:
        return None
    tasks = number_of(every)
    if every is not None:
        if tasks is None or job[1] <= tasks:
            return None if tasks is None else Granted(job[1], job[0].line, False)
        return Granted(tasks, outermost(every.written.span), True, tasks=True)
    asked = slurm.directive(script, "--ntasks", "-n")
    if asked is not None and (asked.value or "").isdecimal() and int((asked.value or "")[:9]) < job[1]:
        return Granted(int(str(asked.value)), asked.line, False, tasks=True)
    return Granted(job[1], job[0].line, False)


def _tasks(script: Script, launch: Launch, srun: Launch) -> Iterator[Diagnostic]:
    """Several tasks a node, each of which starts the launcher: as many worlds fight for the same cards."""
    each, every = srun.option("ntasks_per_node"), srun.option("ntasks")
    if each is not None:
        tasks, place = number_of(each), outermost(each.written.span)
    elif every is not None:
        nodes, total = granted(script, srun), number_of(every)
        if nodes is None or total is None or nodes.nodes < 1 or total % nodes.nodes:
            return  # how these spread over the nodes is for Slurm to say
        tasks, place = total // nodes.nodes, outermost(every.written.span)
    else:
        found = slurm.tasks(script)
        if found is None:
            return
        place, tasks = found[0].line, found[1]
    if tasks is None or tasks < 2:
        return
    message = f"{plural(tasks, 'task')} a node, each of which starts {launch.alias}"
    help = ("write `--ntasks-per-node=1`: the launcher starts one process a card",)
    related = (Label(outermost(launch.name.span), "starts the processes of a node"),)
    yield faults.CONFLICTING_SETTINGS.at(place, message, "they fight for cards and port", related=related, help=help)


def _waited_for(script: Script, launch: Launch) -> int | None:
    """The number of nodes for which a launcher waits; None where it cannot be told."""
    if launch.launcher == "torchrun":
        bounds = _torchrun_checks.nodes_of(launch)
        if bounds is not None:
            return bounds.most if bounds.least == bounds.most else None
    option = launch.option("nnodes" if launch.launcher == "torchrun" else "num_machines")
    value = option.value.value if option is not None and option.value is not None else None
    if isinstance(value, Unknown) and value.name in slurm.OF_NODES:
        job = slurm.nodes(script)
        return None if job is None else job[1]
    return number_of(option)


def _nodes(script: Script, launch: Launch, srun: Launch) -> Iterator[Diagnostic]:
    """A launcher that waits for more nodes, or fewer, than it is started on."""
    option = launch.option("nnodes" if launch.launcher == "torchrun" else "num_machines")
    count, nodes = _waited_for(script, launch), granted(script, srun)
    if option is None and nodes is not None and 1 < nodes.nodes:
        yield from _alone(script, launch, srun, nodes)
    if option is None or count is None or nodes is None or nodes.nodes == count or launch.launcher == "deepspeed":
        return
    if nodes.is_own and nodes.nodes < count and launch.command.within("background", "loop", "function"):
        return  # others are started beside it
    message = f"{launch.alias} waits for {plural(count, 'node')} of {count_text(nodes.nodes)}"
    if nodes.tasks:
        help, label = f"write `--ntasks={count}`: the launcher runs once a node", "no more tasks than these"
    elif nodes.is_own:
        help, label = f"write `{with_value(option, nodes.nodes)}`", "nodes of this step"
    else:
        told = f", or `{spelt(option)}=$SLURM_NNODES`" if spelt(option).startswith("-") else ""
        help, label = f"write `{with_value(option, nodes.nodes)}`{told}", "nodes of the job"
    related = (Label(nodes.place, label),)
    yield faults.CONFLICTING_SETTINGS.at(
        outermost(option.written.origin), message, "the job does not start", related=related, help=(help,)
    )


def _alone(script: Script, launch: Launch, srun: Launch, nodes: Granted) -> Iterator[Diagnostic]:
    """A launcher that each node starts, and that is told of one: as many runs as there are nodes."""
    if launch.launcher == "deepspeed" or launch.open or launch.option("standalone") is not None:
        return
    if launch.option("config_file") is not None or _is_told(script, launch, srun, "PET_NNODES"):
        return
    name = "--nnodes=" if launch.launcher == "torchrun" else "--num_machines "
    message = f"{plural(nodes.nodes, 'node')}, each of which trains by itself"
    related = (Label(nodes.place, plural(nodes.nodes, "node")),)
    meant = ", or `--standalone` if that is meant" if launch.launcher == "torchrun" else ""
    help = (f"add `{name}$SLURM_NNODES`{meant}",)
    found = faults.CONFLICTING_SETTINGS.at(
        outermost(launch.name.span), message, f"no `{name.strip(' =')}`", related=related, help=help
    )
    yield found._replace(severity=Severity.WARNING)


def _expanded(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A rank of the node that the batch shell fills in, once for all nodes."""
    if not _reads_ranks(launch):
        return
    for name in ("node_rank", "machine_rank"):
        option = launch.option(name)
        value = _of_batch_shell(script, launch, option)
        if value is not None and value.name in _OF_TASKS and option is not None and option.value is not None:
            message = f"`${value.name}` is expanded before srun starts"
            help = (f"let each task expand it: `srun bash -c '{launch.alias} --{name} ${value.name} ...'`",)
            yield faults.CONFLICTING_SETTINGS.at(
                outermost(option.value.span), message, "the same on all nodes", help=help
            )


def _of_batch_shell(script: Script, launch: Launch, option: Option | None) -> Unknown | None:
    """What the batch shell puts into the value of an option; a shell of each task expands what `bash -c` gets, and a
    script that it starts.
    """
    value = option.value.value if option is not None and option.value is not None else None
    source = launch.name.span.source
    if not isinstance(value, Unknown):
        return None
    if isinstance(source, Embedded):
        return value if any(value is gap for gap in source.gaps.values()) else None
    return value if source is script.source else None


def _reads_ranks(launch: Launch) -> bool:
    """Whether the ranks of nodes come from the command line, as they do unless the nodes agree on them."""
    if launch.launcher == "torchrun":
        return _torchrun_checks.is_static(launch) is not False
    return launch.option("rdzv_backend") is None or text_of(launch.option("rdzv_backend")) == "static"


def _rank(script: Script, launch: Launch, srun: Launch) -> Iterator[Diagnostic]:
    """One rank for all nodes: a number that is written, or torchrun's own, which is 0."""
    nodes, count = granted(script, srun), _waited_for(script, launch)
    if nodes is None or count is None or min(nodes.nodes, count) < 2 or not _reads_ranks(launch):
        return
    option = launch.option("node_rank" if launch.launcher == "torchrun" else "machine_rank")
    number = whole_of(option)
    related = (Label(nodes.place, plural(nodes.nodes, "node")),)
    alone = f"`srun bash -c '{launch.alias} ...'` expands `$SLURM_NODEID` on each node"
    if option is not None and number is not None and 0 <= number < count:
        message = f"each of {plural(nodes.nodes, 'node')} is number {number}"
        help = (
            (alone,) if launch.launcher == "accelerate" else ("write `--rdzv-backend=c10d`: it needs no ranks", alone)
        )
        yield faults.CONFLICTING_SETTINGS.at(
            place_of(option), message, "the others are waited for", related=related, help=help
        )
    elif option is None and launch.launcher == "torchrun" and _torchrun_checks.is_static(launch):
        if launch.open or _torchrun_checks.has_no_place(launch) or _is_told(script, launch, srun, *_TOLD):
            return
        message = f"each of {plural(nodes.nodes, 'node')} is number 0"
        help = ("write `--rdzv-backend=c10d`, which needs no ranks",)
        yield faults.MISSING_KEY.at(
            outermost(launch.name.span), message, "no `--node-rank`, and a rendezvous that reads it",
            related=related, help=help,
        )  # fmt: skip


def _is_told(script: Script, launch: Launch, srun: Launch, *variables: str) -> bool:
    """Whether one of some variables tells torchrun what no option does, or may do so."""
    names = {export.name for each in script.every() for export in each.exports}
    names.update(each.name for each in (*launch.environment, *srun.environment))
    return bool(names.intersection(variables)) or bool(script.sourced)
