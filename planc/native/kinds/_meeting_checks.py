"""Where the nodes of a job meet, as its script says it beside the launcher's own options: a look-up that may give this
machine, a number that differs from node to node, a signal that ends the launcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _slurm_checks as slurm
from planc.native.kinds import _srun_checks, _torchrun_checks
from planc.native.kinds._options import number_of, place_of
from planc.native.kinds._torchrun_checks import LOOPBACK
from planc.native.shell.embedded import Embedded, outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Export, Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown, Word
from planc.source import Span

#: Options with the address at which nodes meet, and with their number, by launcher.
_ADDRESSES = {
    "torchrun": ("rdzv_endpoint", "master_addr"), "accelerate": ("main_process_ip",), "deepspeed": ("master_addr",),
}  # fmt: skip
_NODES = {"torchrun": "nnodes", "accelerate": "num_machines", "deepspeed": "num_nodes"}

#: Set by srun for its tasks (srun(1)); no address of the job's first node.
_CALLER = "SLURM_LAUNCH_NODE_IPADDR"

#: A look-up that gives this machine where it fails.
_FALLBACK = re.compile(r"\|\|\s*(?:echo|printf)\s+[\"']?(localhost|127\.0\.0\.1)\b")

#: Signals that end a program which has no answer to them.
_SIGNAL = re.compile(r"(?:R:)?(?:SIG)?(USR[12]|10|12)(?:@\d+)?", re.IGNORECASE)


def check(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """What keeps the nodes of a launch apart."""
    yield from _caller(script, launch)
    if launch.launcher == "python":
        yield from _of_program(script, launch)
        return
    count = _waited_for(script, launch)
    if count is not None and 1 < count[0]:
        yield from _loopback(launch, *count)
        yield from _look_up(script, launch, *count)
        yield from _number(script, launch, *count)
    yield from _signal(script, launch)


def _waited_for(script: Script, launch: Launch) -> tuple[int, Span] | None:
    """For how many nodes a launcher waits, and where that is said; None where it cannot be told."""
    option = launch.option(_NODES[launch.launcher])
    value = option.value.value if option is not None and option.value is not None else None
    if option is None:
        return None
    if isinstance(value, Unknown):
        job = slurm.nodes(script)
        return None if job is None or value.name not in slurm.OF_NODES else (job[1], job[0].line)
    bounds = _torchrun_checks.nodes_of(launch) if launch.launcher == "torchrun" else None
    count = bounds.most if bounds is not None else number_of(option)
    return None if count is None else (count, outermost(option.written.span))


def _addresses(launch: Launch) -> Iterator[Option]:
    for name in _ADDRESSES.get(launch.launcher, ()):
        option = launch.option(name)
        if option is not None and option.value is not None:
            yield option


def _loopback(launch: Launch, count: int, place: Span) -> Iterator[Diagnostic]:
    """An address that each node has for itself; of torchrun with a written number of nodes, its own checks tell."""
    if launch.launcher == "torchrun" and _torchrun_checks.nodes_of(launch) is not None:
        return
    for option in _addresses(launch):
        host = _torchrun_checks.loopback_of(option)
        if host is not None:
            message = f"{plural(count, 'node')} meet at `{host}`"
            related = (Label(place, plural(count, "node")),)
            help = ("name the first node",)
            yield faults.CONFLICTING_SETTINGS.at(
                place_of(option), message, "each node waits for itself", related=related, help=help
            )


def _caller(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """The address of the node on which srun was called: in an allocation a login node, and nothing before srun."""
    exported = [each.value for other in script.every() for each in other.exports if each.name == "MASTER_ADDR"]
    for word in (*(option.value for option in _addresses(launch)), *exported):
        pieces = word.pieces if word is not None else ()
        if word is not None and any(isinstance(piece, Unknown) and piece.name == _CALLER for piece in pieces):
            message = f"`${_CALLER}` is where srun is called"
            help = ('write `$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`',)
            told = faults.CONFLICTING_SETTINGS.at(
                outermost(word.span), message, "a login node, or nothing before srun", help=help
            )
            yield told._replace(severity=Severity.WARNING)


def _look_up(script: Script, launch: Launch, count: int, place: Span) -> Iterator[Diagnostic]:
    """An address that is looked up, and is this machine where that fails."""
    for option in _addresses(launch):
        if option.value is not None:
            yield from _fallen_back(script, option.value, count, place)


def _fallen_back(script: Script, word: Word, count: int, place: Span) -> Iterator[Diagnostic]:
    value = word.value
    found = _FALLBACK.search(value.text) if isinstance(value, Unknown) else None
    if found is None or not isinstance(value, Unknown):
        return
    message = f"if this fails, {plural(count, 'node')} meet at `{found[1]}`"
    help = (f"remove `{found[0]}`, and let `set -e` stop the job",)
    told = faults.CONFLICTING_SETTINGS.at(
        _written(script, value.text) or outermost(word.span), message, "each node waits for itself",
        related=(Label(place, plural(count, "node")),), help=help,
    )  # fmt: skip
    yield told._replace(severity=Severity.WARNING)


def _written(script: Script, text: str) -> Span | None:
    """Where a script has a text, if that is one place."""
    for each in script.every():
        at = each.source.text.find(text)
        if at != -1 and not isinstance(each.source, Embedded) and each.source.text.count(text) == 1:
            return Span(each.source, at, at + len(text))
    return None


def _of_program(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A program that srun starts on several nodes, and that gets an address which each has for itself."""
    srun = launch.outer
    nodes = _srun_checks.granted(script, srun) if srun is not None and srun.launcher == "srun" else None
    if nodes is None or nodes.nodes < 2:
        return
    exports = [each for other in script.every() for each in other.exports if each.name == "MASTER_ADDR"]
    if not exports or any(each.context for each in exports) or exports[-1].value is None:
        return
    yield from _exported(script, exports[-1], exports[-1].value, nodes)


def _exported(script: Script, export: Export, value: Word, nodes: _srun_checks.Granted) -> Iterator[Diagnostic]:
    yield from _fallen_back(script, value, nodes.nodes, nodes.place)
    if value.known in LOOPBACK and not value.default_of:
        message = f"{plural(nodes.nodes, 'node')} meet at `{value.known}`"
        help = ('write `MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`',)
        related = (Label(nodes.place, plural(nodes.nodes, "node")),)
        told = faults.CONFLICTING_SETTINGS.at(
            outermost(export.span), message, "each node waits for itself", related=related, help=help
        )
        yield told._replace(severity=Severity.WARNING)  # the program may not read it


def _number(script: Script, launch: Launch, count: int, place: Span) -> Iterator[Diagnostic]:
    """A number of the run that each node draws for itself."""
    option = launch.option("rdzv_id") if launch.launcher == "torchrun" else None
    value = option.value.value if option is not None and option.value is not None else None
    source = launch.name.span.source
    if option is None or not isinstance(value, Unknown) or value.name != "RANDOM" or launch.outer is None:
        return
    if source is script.source or (isinstance(source, Embedded) and any(value is gap for gap in source.gaps.values())):
        return  # drawn once, by the batch shell
    message = f"each of {plural(count, 'node')} draws a number for `--rdzv-id`"
    help = ("write `--rdzv-id=$SLURM_JOB_ID`",)
    yield faults.CONFLICTING_SETTINGS.at(
        place_of(option), message, "nodes with other numbers never meet",
        related=(Label(place, plural(count, "node")),), help=help,
    )  # fmt: skip


def _signal(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A signal before the end of the job which torchrun does not take: it dies of it, and its workers with it."""
    asked, srun = slurm.directive(script, "--signal"), launch.outer
    match = _SIGNAL.fullmatch(asked.value or "") if asked is not None else None
    if asked is None or match is None or launch.launcher != "torchrun" or srun is None or srun.launcher != "srun":
        return
    handled = "TORCHELASTIC_SIGNALS_TO_HANDLE"
    if any(each.name == handled for other in script.every() for each in other.exports):
        return
    if any(each.name == handled for each in launch.variables):
        return
    message = f"`{match[1].upper()}` ends torchrun before its workers save"
    help = (f"write `--signal=B:{match[0]}`, and a `trap` in the script",)
    related = (Label(outermost(launch.name.span), "gets the signal, and has no answer"),)
    told = faults.CONFLICTING_SETTINGS.at(
        asked.value_span or asked.line, message, "the step ends there", related=related, help=help
    )
    yield told._replace(severity=Severity.WARNING)
