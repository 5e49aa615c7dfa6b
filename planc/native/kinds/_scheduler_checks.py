"""Options of a job of any scheduler: misspelt, malformed; and of one but Slurm's against what its script starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.diagnostics.names import slip
from planc.native import faults
from planc.native.kinds import _launcher_checks, _torchrun_checks
from planc.native.kinds._options import number_of, spelt
from planc.native.kinds._scheduled_jobs import NAMES, OF_NODES, Job, job_of, resources, seconds_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Directive, Script
from planc.native.shell.options import grammar_of
from planc.native.shell.values import Unknown

#: Resources of PBS that a slip of the finger may have been meant for.
_OF_PBS = ("walltime", "select", "ncpus", "ngpus", "mpiprocs", "ompthreads", "nodes")

#: Options that say how many processes mpirun starts, and where.
_COUNTING = (
    "n", "N", "npernode", "npersocket", "pernode", "ppr", "map_by", "bynode", "host", "hostfile", "machinefile", "app",
    "cpus_per_proc", "cpus_per_rank", "rankfile", "default_hostfile",
)  # fmt: skip

#: Options of sbatch with a number, of which a word is none.
_COUNTS = ("--nodes", "-N", "--ntasks", "-n", "--ntasks-per-node", "--cpus-per-task", "-c", "--gpus-per-node", "--gpus")
_WORD = re.compile(r"[A-Za-z]+")

#: Limits that sbatch takes beside numbers.
_ENDLESS = ("infinite", "unlimited", "-1")
_SLURM_TIME = re.compile(r"(?:\d{1,6}-)?\d{1,8}(?::\d{1,4}){0,2}")


def check(script: Script, launches: Sequence[Launch]) -> Iterator[Diagnostic]:
    """What is wrong with the options of a job, and between it and the launches of its script."""
    read = [each for each in script.directives if not (each.misspelt or each.variable)]
    yield from _of_slurm([each for each in read if each.scheduler == "slurm" and not each.late])
    yield from _values([each for each in read if each.scheduler in NAMES])
    job = job_of(script)
    if job is None:
        return
    for launch in (each for each in launches if each.launcher in _launcher_checks.LAUNCHERS):
        yield from _alone(job, launch)
        yield from _cards(job, launch)
        yield from _tasks(job, launch)


def _of_slurm(directives: list[Directive]) -> Iterator[Diagnostic]:
    """Options that sbatch does not have, unless a plug-in brings them along, and values that it refuses."""
    known = grammar_of("sbatch")
    names = [name for name in known.options if name.startswith("--")]
    for directive in directives:
        option, value = directive.option, directive.value
        if option.startswith("--") and known.find(option) is None:
            near = slip(option, names)
            if near is not None:
                yield _unknown(directive, near)
            elif any(name.startswith(option) for name in names):
                message = f"`{option}` is the beginning of several options of sbatch"
                yield faults.UNKNOWN_KEY.at(directive.span, message, "sbatch refuses the script")
        elif value is not None and directive.value_span is not None:
            yield from _value(directive, value)


def _unknown(directive: Directive, near: str) -> Diagnostic:
    fixes: tuple[Fix, ...] = ()
    if directive.span.text == directive.option:
        fixes = (Fix(f"write `{near}`", (Edit(directive.span, near),), safe=False),)
    message = f"sbatch has no option `{directive.option}`"
    help = (f"did you mean `{near}`?",)
    return faults.UNKNOWN_KEY.at(directive.span, message, "sbatch refuses the script", help=help, fixes=fixes)


def _value(directive: Directive, value: str) -> Iterator[Diagnostic]:
    """A time, or a number, that is none to Slurm."""
    place = directive.value_span or directive.span
    if directive.option in ("--time", "-t") and value.lower() not in _ENDLESS:
        if not _SLURM_TIME.fullmatch(value):
            help = ("write `HOURS:MINUTES:SECONDS`, or `DAYS-HOURS`",)
            message = f"`{value[:40]}` is no time to Slurm"
            yield faults.WRONG_VALUE.at(place, message, "sbatch refuses the script", help=help)
    elif directive.option in _COUNTS and _WORD.fullmatch(value) and not directive.option.startswith("--gpus"):
        message = f"`{directive.option}` is a number, not `{value[:40]}`"
        yield faults.WRONG_VALUE.at(place, message, "sbatch refuses the script")


def _values(directives: list[Directive]) -> Iterator[Diagnostic]:
    """Limits that the other schedulers refuse, and resources of PBS that nobody has."""
    refusals = {"pbs": "qsub refuses the script", "lsf": "bsub refuses the script", "sge": "qsub refuses the script"}
    forms = {"pbs": "HOURS:MINUTES:SECONDS", "lsf": "HOURS:MINUTES", "sge": "HOURS:MINUTES:SECONDS"}
    limits = [
        (each.directive, each.value, each.span, each.name)
        for each in resources(directives)
        if (each.directive.scheduler, each.name) in (("pbs", "walltime"), ("sge", "h_rt"))
    ]
    limits += [
        (each, each.value or "", each.value_span or each.span, "-W")
        for each in directives
        if (each.scheduler, each.option) == ("lsf", "-W")
    ]
    for directive, value, span, _ in limits:
        if seconds_of(directive.scheduler, value) is None:
            message = f"`{value[:40]}` is no time to {NAMES[directive.scheduler]}"
            help = (f"write `{forms[directive.scheduler]}`",)
            yield faults.WRONG_VALUE.at(span, message, refusals[directive.scheduler], help=help)
    for each in resources([each for each in directives if each.scheduler == "pbs"]):
        near = slip(each.name, _OF_PBS) if len(each.name) > 4 and each.name not in _OF_PBS else None
        if near is not None:
            message, help = f"PBS knows no resource `{each.name}`", (f"did you mean `{near}`?",)
            yield faults.UNKNOWN_KEY.at(each.span, message, "qsub refuses the script", help=help)


def _nodes_of(job: Job, launch: Launch) -> tuple[int, bool] | None:
    """For how many nodes a launcher waits, and whether the scheduler told it; None where that is unknown."""
    if launch.launcher == "deepspeed":
        return None
    option = launch.option("nnodes" if launch.launcher == "torchrun" else "num_machines")
    value = option.value.value if option is not None and option.value is not None else None
    if isinstance(value, Unknown):
        return (job.nodes.number, True) if value.name in OF_NODES and job.nodes is not None else None
    if option is None:
        return None if launch.open or launch.option("config_file") is not None else (1, False)
    if launch.launcher == "torchrun":
        bounds = _torchrun_checks.nodes_of(launch)
        return (bounds.most, False) if bounds is not None and bounds.least == bounds.most else None
    count = number_of(option)
    return None if count is None else (count, False)


def _alone(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    """A launcher that waits for more nodes than the job has, or is started on the first of them only."""
    waited = _nodes_of(job, launch)
    if waited is None or job.nodes is None or waited[0] < 2:
        return
    count, granted = waited[0], job.nodes.number
    option = launch.option("nnodes" if launch.launcher == "torchrun" else "num_machines")
    related = (Label(job.nodes.directive.line, "nodes of the job"),)
    if granted < count and option is not None:
        message = f"{launch.alias} waits for {plural(count, 'node')} of {count_text(granted)}"
        help = (f"write `{spelt(option)}={granted}`, or ask for {count_text(count)}",)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(option.written.origin), message, "the job does not start", related=related, help=help
        )
    elif granted > 1 and launch.outer is None and not launch.command.context and not launch.open:
        message = f"{launch.alias} waits for {plural(count, 'node')}, and runs on one"
        starter = {"pbs": "pbsdsh", "lsf": "blaunch", "sge": "qrsh -inherit"}[job.scheduler]
        help = (f"start it on each node, with `mpirun`, `{starter}` or `ssh`: the script runs on the first alone",)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(launch.name.span), message, "the others never start", related=related, help=help
        )


def _tasks(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    """An mpirun that is told of no number, and starts a launcher in each slot of a node."""
    starter = launch.outer
    if job.tasks is None or job.tasks.number < 2 or starter is None or starter.launcher != "mpirun":
        return
    if starter.open or starter.strange or any(starter.option(name) is not None for name in _COUNTING):
        return
    message = f"{plural(job.tasks.number, 'task')} a node, each of which starts {launch.alias}"
    help = (f"write `{starter.alias} -npernode 1`: the launcher starts one process a card",)
    related = (Label(outermost(starter.name.span), "starts one in each slot"),)
    told = faults.CONFLICTING_SETTINGS.at(
        job.tasks.directive.line, message, "they fight for cards and port", related=related, help=help
    )
    yield told._replace(severity=Severity.WARNING)  # a build without the scheduler's support starts them elsewhere


def _cards(job: Job, launch: Launch) -> Iterator[Diagnostic]:
    """Processes that are more, or fewer, than the cards of a node, or of the whole job."""
    waited, found = _nodes_of(job, launch), _launcher_checks.processes_of(launch)
    if found is None:
        return
    option, ranks = found
    place = outermost(option.written.origin)
    nodes = 1 if waited is None else waited[0]
    # Chunks that may share a node are one each where the launcher waits for as many nodes.
    is_split = job.nodes is not None and job.nodes.number == nodes
    cards = job.cards if not job.at_most or is_split else None
    if cards is not None and cards.number != ranks and not (job.nodes is None and ranks < cards.number):
        message = f"{plural(ranks, 'process')} on a node with {plural(cards.number, 'card')}"
        is_over = cards.number < ranks
        label = "the last ones find no card" if is_over else f"{plural(cards.number - ranks, 'card')} without work"
        related = (Label(cards.directive.line, "cards of a node"),)
        help = (f"write `{spelt(option)}={cards.number}`",) if launch.launcher != "accelerate" else ()
        told = faults.CONFLICTING_SETTINGS.at(place, message, label, related=related, help=help)
        yield told if is_over and job.sure else told._replace(severity=Severity.WARNING)
    elif cards is None and job.all_cards is not None and job.all_cards.number < ranks * nodes:
        total = job.all_cards
        message = f"{plural(ranks * nodes, 'process')} of a job with {plural(total.number, 'card')}"
        related = (Label(total.directive.line, "cards of the job"),)
        yield faults.CONFLICTING_SETTINGS.at(place, message, "the last ones find no card", related=related)
