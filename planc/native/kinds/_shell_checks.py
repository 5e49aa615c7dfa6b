"""What is wrong in a script: directives that the scheduler never sees, launchers that do not fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _slurm_checks
from planc.native.shell.embedded import Embedded, outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Directive, Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown
from planc.source import Span

_LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")

#: Variables that differ from task to task, and that the batch shell has for its own.
_OF_TASKS = ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID")


def check(script: Script, launches: Sequence[Launch]) -> Iterator[Diagnostic]:
    """Everything that is wrong in a script by itself."""
    yield from _broken(script)
    yield from _directives(script)
    for launch in launches:
        if launch.launcher in ("torchrun", "accelerate", "deepspeed"):
            yield from _options(launch)
            yield from _tasks(script, launch)
            yield from _rank(launch)
            yield from _pipe(script, launch)
            yield from _slurm_checks.check(script, launch)
        if launch.launcher == "torchrun":
            yield from _rendezvous(launch)


def _broken(script: Script) -> Iterator[Diagnostic]:
    for broken in script.broken:
        found = faults.UNREADABLE.at(outermost(broken.span), "the script cannot be read here", broken.text)
        # A reader that is not bash may stumble where bash does not.
        yield found if "carriage" in broken.text or "NUL" in broken.text else found._replace(severity=Severity.WARNING)


def _directives(script: Script) -> Iterator[Diagnostic]:
    for directive in script.directives:
        place = directive.line
        if directive.misspelt:
            help = (f"write `{_meant(directive)}` at the start of the line",)
            yield faults.UNSEEN_DIRECTIVE.at(place, f"`{directive.mark}` is a comment like any other", help=help)
        elif directive.late:
            message = f"`{directive.mark} {directive.option}` stands behind the first command"
            help = ("move it up: the scheduler stops reading there",)
            yield faults.UNSEEN_DIRECTIVE.at(place, message, "never read", help=help)
        elif directive.variable and directive.value_span is not None and not _is_pattern(directive):
            message = f"no shell expands `{directive.value}` here"
            help = ("write the value, or pass the option to the command that submits",)
            yield faults.UNSEEN_DIRECTIVE.at(directive.value_span, message, "a comment to the shell", help=help)


def _meant(directive: Directive) -> str:
    return {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "sge": "#$"}[directive.scheduler]


def _is_pattern(directive: Directive) -> bool:
    """Whether the scheduler itself fills something in: SGE does so for paths."""
    return directive.scheduler in ("sge", "pbs")


def _options(launch: Launch) -> Iterator[Diagnostic]:
    """Options that the launcher does not have."""
    for option in launch.strange:
        message = f"{launch.alias} has no option `{option.written.known or option.name}`"[:100]
        yield faults.UNKNOWN_KEY.at(outermost(option.written.span), message, f"{launch.alias} refuses to start")


def _number(option: Option | None) -> int | None:
    text = option.value.known if option is not None and option.value is not None else None
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _tasks(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """Several tasks a node, each of which starts the launcher: as many worlds fight for the same cards."""
    srun = launch.outer
    if srun is None or srun.launcher != "srun":
        return
    own = srun.option("ntasks_per_node")
    if own is None and srun.option("ntasks") is not None:
        return  # how these spread over the nodes is for Slurm to say
    tasks: int | None
    if own is not None:
        tasks, place = _number(own), outermost(own.written.span)
    else:
        found = _slurm_checks.tasks(script)
        if found is None:
            return
        place, tasks = found[0].line, found[1]
    if tasks is None or tasks < 2:
        return
    message = f"{plural(tasks, 'task')} a node, each of which starts {launch.alias}"
    help = ("write `--ntasks-per-node=1`: the launcher starts one process a card",)
    related = (Label(outermost(launch.name.span), "starts the processes of a node"),)
    yield faults.CONFLICTING_SETTINGS.at(place, message, "they fight for cards and port", related=related, help=help)


def _rank(launch: Launch) -> Iterator[Diagnostic]:
    """A rank of the node that the batch shell fills in, once for all nodes."""
    if launch.outer is None or launch.outer.launcher != "srun" or isinstance(launch.name.span.source, Embedded):
        return  # a shell of each task expands what `bash -c` gets
    for name in ("node_rank", "machine_rank"):
        option = launch.option(name)
        value = option.value.value if option is not None and option.value is not None else None
        if isinstance(value, Unknown) and value.name in _OF_TASKS and option is not None and option.value is not None:
            message = f"`${value.name}` is expanded before srun starts"
            help = (f"let each task expand it: `srun bash -c '{launch.alias} --{name} ${value.name} ...'`",)
            yield faults.CONFLICTING_SETTINGS.at(
                outermost(option.value.span), message, "the same on all nodes", help=help
            )


def _pipe(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A launch whose failure a pipe hides."""
    frame = next((each for each in launch.command.context if each.kind == "pipe" and each.position == 0), None)
    if frame is None or any(each.name == "pipefail" and each.on for each in script.settings):
        return
    help = ("write `set -o pipefail` at the top of the script",)
    yield faults.HIDDEN_FAILURE.at(
        outermost(launch.name.span),
        "a pipe hides whether the training failed",
        "its status is that of the last",
        help=help,
    )


def _rendezvous(launch: Launch) -> Iterator[Diagnostic]:
    """Where the nodes of torchrun meet."""
    nodes = launch.option("nnodes")
    text = nodes.value.known if nodes is not None and nodes.value is not None else None
    largest = (text or "").rpartition(":")[2]
    if nodes is None or not largest.isdigit() or int(largest[:9]) < 2:
        return
    count = int(largest[:9])
    related = (Label(outermost(nodes.written.span), plural(count, "node")),)
    for name in ("rdzv_endpoint", "master_addr"):
        option = launch.option(name)
        address = option.value.known if option is not None and option.value is not None else None
        if option is not None and address is not None and address.rpartition(":")[0] in _LOOPBACK:
            address = address.rpartition(":")[0]
        if option is not None and address in _LOOPBACK:
            message = f"{plural(count, 'node')} meet at `{address}`"
            help = ("name the first node: `--rdzv-endpoint=HOST:PORT`",)
            yield faults.CONFLICTING_SETTINGS.at(
                _of(option), message, "each node waits for itself", related=related, help=help
            )
            return
    alone = launch.option("standalone")
    if alone is not None:
        message = f"`--standalone` beside {plural(count, 'node')}"
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(alone.written.span), message, "each node is a job of its own", related=related,
            help=("remove it, and write `--rdzv-endpoint=HOST:PORT`",),
        )  # fmt: skip
    elif not launch.open and not any(launch.option(name) for name in ("rdzv_endpoint", "master_addr", "rdzv_conf")):
        message = f"{plural(count, 'node')}, and no place to meet"
        help = ("write `--rdzv-backend=c10d --rdzv-endpoint=HOST:PORT`",)
        yield faults.MISSING_KEY.at(outermost(nodes.written.span), message, "the master becomes 127.0.0.1", help=help)


def _of(option: Option) -> Span:
    return outermost(option.value.span if option.value is not None else option.written.span)
