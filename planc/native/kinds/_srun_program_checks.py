"""A program that srun starts itself, one process a task: how many tasks a node has, and which cards each sees."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _slurm_checks as slurm
from planc.native.kinds._options import number_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Script
from planc.source import Span

#: Options that say how many tasks there are.
_OF_TASKS = ("--ntasks", "-n", "--ntasks-per-node", "--tasks-per-node", "--ntasks-per-gpu", "--ntasks-per-socket")


#: Programs that start the tasks of a job, or may do so.
_STARTERS = ("srun", "mpirun", "mpiexec", "orterun", "torchrun", "accelerate", "deepspeed", "ssh", "pdsh", "parallel")


def check(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """What does not fit between the tasks of a step and the cards that they are for.

    A program may know better: one process may use several cards, and one may look for the card that it is given.
    """
    srun = launch.outer
    if srun is None:
        yield from (each._replace(severity=Severity.WARNING) for each in _alone(script, launch))
    if srun is None or srun.launcher != "srun" or srun.open:
        return
    found = [*_isolated(script, srun), *_filled(script, srun), *_fewer(script)] or [*_per_card(script, launch, srun)]
    yield from (each._replace(severity=Severity.WARNING) for each in found)


def _alone(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A program that the batch script starts once, in a job of a task for each card."""
    tasks, cards = slurm.tasks(script), slurm.cards_asked(script, launch)
    if tasks is None or cards is None or tasks[1] != cards[1] or tasks[1] < 2 or launch.command.context:
        return
    if any(command.name in _STARTERS for other in script.every() for command in other.commands):
        return
    message = f"one process, in a job of {plural(tasks[1], 'task')} a node"
    help = (f"write `srun {launch.alias} ...`, or start it by torchrun",)
    related = (Label(tasks[0].line, "tasks that nothing starts"),)
    yield faults.CONFLICTING_SETTINGS.at(
        outermost(launch.name.span), message, "started once, on the first node", related=related, help=help
    )


def _per_card(script: Script, launch: Launch, srun: Launch) -> Iterator[Diagnostic]:
    """Another number of tasks on a node than of cards."""
    tasks, asked = _tasks(script, srun), slurm.cards_asked(script, launch)
    if tasks is None or asked is None or tasks[1] == asked[1] or 0 in (tasks[1], asked[1]):
        return
    (place, count), (at, cards) = tasks, asked
    message = f"{plural(count, 'task')} on a node with {plural(cards, 'card')}"
    label = f"{plural(cards - count, 'card')} without a process" if count < cards else "several share a card"
    help = (f"write `--ntasks-per-node={cards}`: srun starts one process a task",)
    related = (Label(at, "cards of a node"),)
    yield faults.CONFLICTING_SETTINGS.at(place, message, label, related=related, help=help)


def _tasks(script: Script, srun: Launch) -> tuple[Span, int] | None:
    """The tasks of the step on each node, where they are written."""
    option, job = srun.option("ntasks_per_node"), slurm.nodes(script)
    if option is not None:
        count = number_of(option)
        return None if count is None else (outermost(option.written.span), count)
    every = srun.option("ntasks")
    if every is not None:
        count = number_of(every)
        alone = job is not None and job[1] == 1
        return (outermost(every.written.span), count) if alone and count is not None else None
    if srun.option("nodes") is not None:
        return None
    found = slurm.tasks(script)
    return None if found is None else (found[0].line, found[1])


def _fewer(script: Script) -> Iterator[Diagnostic]:
    """A number of all tasks, beside which that of each node is a bound alone (sbatch(1), --ntasks-per-node)."""
    every, each, job = slurm.directive(script, "--ntasks", "-n"), slurm.tasks(script), slurm.nodes(script)
    value = (every.value or "") if every is not None else ""
    if every is None or each is None or job is None or each[0] is every or not value.isdecimal() or len(value) > 6:
        return
    if int(value) < job[1] * each[1]:
        message = f"`{every.option}={value}` starts {value} of {plural(job[1] * each[1], 'task')}"
        related = (Label(each[0].line, "a bound only, beside it"),)
        help = (f"remove `{every.option}`",)
        yield faults.CONFLICTING_SETTINGS.at(every.line, message, "wins", related=related, help=help)


def _isolated(script: Script, srun: Launch) -> Iterator[Diagnostic]:
    """Tasks that see one card each: a program that picks the card of its local rank finds the first task's only."""
    option = srun.option("gpus_per_task") or srun.option("gpu_bind")
    asked = slurm.directive(script, "--gpus-per-task", "--gpu-bind")
    if option is not None:
        place, name = outermost(option.written.span), option.name.replace("_", "-")
        value = option.value.known if option.value is not None else None
    elif asked is not None:
        place, name, value = asked.line, asked.option.strip("-"), asked.value
    else:
        return
    if value is None or (name == "gpu-bind" and not value.startswith("single:")):
        return
    if name == "gpus-per-task" and value.rpartition(":")[2] != "1":
        return
    message = f"`--{name}={value}` shows each task one card, as number 0"
    help = ("write `--gpus-per-node=...` instead, if the program takes card `SLURM_LOCALID`",)
    yield faults.CONFLICTING_SETTINGS.at(place, message, "no card of a local rank but 0", help=help)


def _filled(script: Script, srun: Launch) -> Iterator[Diagnostic]:
    """A step of a whole node that says its processors, and not its tasks: as many start as fit (srun(1), -c)."""
    asked, option = slurm.directive(script, "--exclusive"), srun.option("cpus_per_task")
    if asked is None or option is None or slurm.directive(script, *_OF_TASKS) is not None:
        return
    if any(srun.option(name.strip("-").replace("-", "_")) is not None for name in _OF_TASKS if name.startswith("--")):
        return
    message = "as many tasks start as the node has processors for"
    help = ("add `--ntasks-per-node=...`: one process a card",)
    related = (Label(asked.line, "the whole node"),)
    yield faults.CONFLICTING_SETTINGS.at(
        outermost(option.written.span), message, "no number of tasks beside it", related=related, help=help
    )
