"""Options of a Slurm job against what its script starts: nodes, cards, processors and time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _accelerate_launch_checks as accelerate
from planc.native.kinds._options import number_of, whole_of, with_value
from planc.native.kinds._script_launches import is_certain
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Directive, Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown
from planc.source import Span

_CARDS = re.compile(r"(?:gpu:)?(?:[A-Za-z][\w.-]*:)?(\d{1,4})")
_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?")
_NODES = re.compile(r"\d{1,6}")


#: Variables in which Slurm tells a script the number of its nodes.
OF_NODES = ("SLURM_NNODES", "SLURM_JOB_NUM_NODES")


#: What starts a shell on other nodes.
_REMOTE = ("ssh", "pdsh", "clush", "parallel", "xargs", "mpirun", "mpiexec", "srun")


def check(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """What does not fit between the job and a launch of its script."""
    yield from _cards(script, launch)
    if launch.launcher == "torchrun":
        yield from _typed(script, launch)
    yield from processors(script, launch)
    yield from _alone(script, launch)


def nodes(script: Script) -> tuple[Directive, int] | None:
    """The nodes of the job, where their number is written."""
    found = directive(script, "--nodes", "-N")
    if found is None or not _NODES.fullmatch(found.value or ""):
        return None
    return found, max(1, int(str(found.value)))


def tasks(script: Script) -> tuple[Directive, int] | None:
    """The tasks of the job on each node; of a number for all nodes, its share, where that is whole."""
    found = directive(script, "--ntasks-per-node", "--tasks-per-node")
    if found is not None:
        return (found, int(str(found.value))) if _NODES.fullmatch(found.value or "") else None
    every, job = directive(script, "--ntasks", "-n"), nodes(script)
    if every is None or job is None or not _NODES.fullmatch(every.value or "") or int(str(every.value)) % job[1]:
        return None
    return every, int(str(every.value)) // job[1]


def _alone(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A launcher that waits for several nodes, and is started on the first of them only."""
    asked = nodes(script)
    option = launch.option("nnodes" if launch.launcher == "torchrun" else "num_machines")
    count = number_of(option)
    if asked is None or asked[1] < 2 or option is None or launch.outer is not None or launch.launcher == "deepspeed":
        return
    value = option.value.value if option.value is not None else None
    is_told = isinstance(value, Unknown) and value.name in OF_NODES
    waits = is_told or (count is not None and 1 < count)
    if not waits or launch.open or not is_certain(script, launch) or _is_reached_otherwise(script, launch):
        return
    message = f"{launch.alias} waits for {plural(asked[1], 'node')}, and runs on one"
    help = (f"write `srun {launch.alias} ...`: the batch script runs on the first node alone",)
    related = (Label(asked[0].line, "nodes of the job"),)
    yield faults.CONFLICTING_SETTINGS.at(
        outermost(launch.name.span), message, "the others never start", related=related, help=help
    )


def _is_reached_otherwise(script: Script, launch: Launch) -> bool:
    """Whether something around a launch may start it on each node."""
    way = script.way_to(launch.command)
    return any(command.within("substitution") or command.name in _REMOTE for _, command in way)


def directive(script: Script, *names: str) -> Directive | None:
    """The last option of Slurm with one of these names that it reads as it is meant."""
    found = [
        each
        for each in script.directives
        if each.scheduler == "slurm" and each.option in names and not (each.late or each.misspelt or each.variable)
    ]
    return found[-1] if found else None


def walltime(script: Script) -> tuple[Directive, int] | None:
    """The limit of the job, in seconds, and where it stands; None where there is none that can be read."""
    found = directive(script, "--time", "-t")
    match = _TIME.fullmatch(found.value or "") if found is not None else None
    if found is None or match is None:
        return None
    days, first, second, third = (None if part is None else int(part) for part in match.groups())
    if days is not None:  # days-hours[:minutes[:seconds]]
        seconds = ((days * 24 + (first or 0)) * 60 + (second or 0)) * 60 + (third or 0)
    elif third is not None:  # hours:minutes:seconds
        seconds = ((first or 0) * 60 + (second or 0)) * 60 + third
    else:  # minutes[:seconds]
        seconds = (first or 0) * 60 + (second or 0)
    return found, seconds


def cards_asked(script: Script, launch: Launch) -> tuple[Span, int] | None:
    """The cards that the launcher gets on each node, and where that is said: by srun, or for the job."""
    srun = launch.outer
    for name in ("gpus_per_node", "gres", "gpus_per_task", "gpus") if srun is not None else ():
        option = srun.option(name) if srun is not None else None
        if option is not None:
            cards = _cards_in(option.name, option.value.known if option.value is not None else None)
            is_whole = name in ("gpus_per_node", "gres")
            return None if cards is None or not is_whole else (outermost(option.written.span), cards)
    found = directive(script, "--gpus-per-node") or directive(script, "--gres")
    share, job, per_task = 1, nodes(script), directive(script, "--gpus-per-task")
    if found is None and per_task is not None:
        each = tasks(script)
        found, share = (per_task, each[1]) if each is not None else (None, 1)
    elif found is None and job is not None and job[1] == 1:
        found = directive(script, "--gpus", "-G")
    cards = _cards_in(found.option, found.value) if found is not None else None
    return None if found is None or cards is None else (found.line, cards * share)


def _cards_in(option: str, text: str | None) -> int | None:
    """The cards that a value of Slurm asks for."""
    match = _CARDS.fullmatch(text or "")
    if match is None or (option.endswith("gres") and not str(text).startswith("gpu")):
        return None
    return int(match[1])


def _processes(script: Script, launch: Launch) -> tuple[Option, int, int] | None:
    """The option that says how many processes a node gets, that number, and on how many nodes it counts them."""
    if launch.launcher != "accelerate":
        option = launch.option("nproc_per_node" if launch.launcher == "torchrun" else "num_gpus")
        number = number_of(option)
        return None if option is None or number is None or launch.option("hostfile") else (option, number, 1)
    found, machines = accelerate.processes_of(launch), launch.option("num_machines")
    option, total, job = launch.option("num_processes"), whole_of(launch.option("num_processes")), nodes(script)
    value = machines.value.value if machines is not None and machines.value is not None else None
    if isinstance(value, Unknown) and value.name in OF_NODES and job is not None and option is not None and total:
        found = option, total, job[1]
    return None if found is None or found[1] % found[2] else (found[0], found[1] // found[2], found[2])


def _cards(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    asked, found = cards_asked(script, launch), _processes(script, launch)
    if asked is None or found is None or found[1] == asked[1]:
        return
    place, cards = asked
    option, ranks, share = found
    message = f"{plural(ranks, 'process')} on a node with {plural(cards, 'card')}"
    label = "the last ones find no card" if cards < ranks else f"{plural(cards - ranks, 'card')} without work"
    help = (f"write `{with_value(option, cards * share)}`" + (", those of all nodes" if 1 < share else ""),)
    told = faults.CONFLICTING_SETTINGS.at(
        outermost(option.written.origin), message, label, related=(Label(place, "cards of a node"),), help=help
    )
    yield told if cards < ranks else told._replace(severity=Severity.WARNING)


def _typed(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A number of cards that has their kind before it."""
    option = launch.option("nproc_per_node")
    value = option.value.value if option is not None and option.value is not None else None
    asked = directive(script, "--gpus-per-node")
    if not isinstance(value, Unknown) or value.name != "SLURM_GPUS_PER_NODE" or option is None or asked is None:
        return
    if asked.value is not None and ":" in asked.value and option.value is not None:
        message = f"`$SLURM_GPUS_PER_NODE` is `{asked.value}`, no number"
        help = ("write the number, or `gpu`: torchrun counts the cards",)
        related = (Label(asked.line, "its kind stands before it"),)
        yield faults.WRONG_VALUE.at(
            outermost(option.value.span), message, "torchrun refuses to start", related=related, help=help
        )


def processors(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """Processors that sbatch was asked for, and srun hands on to nobody."""
    asked, srun = directive(script, "--cpus-per-task", "-c"), launch.outer
    if asked is None or srun is None or srun.launcher != "srun" or srun.open or asked.value in ("1", None):
        return
    if srun.option("cpus_per_task") is not None or srun.option("exclusive") is not None:
        return
    names = {export.name for export in script.exports} | {each.name for each in srun.environment}
    if names.intersection(("SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK")):
        return
    message = f"srun does not take over `{asked.option}={asked.value}`"
    help = (f"from Slurm 22.05 on, write `srun --cpus-per-task={asked.value}`, or export `SRUN_CPUS_PER_TASK`",)
    related = (Label(asked.line, "asked of sbatch"),)
    found = faults.CONFLICTING_SETTINGS.at(
        outermost(srun.name.span), message, "the task gets one core", related=related, help=help
    )
    yield found._replace(severity=Severity.WARNING)
