"""A shell or sbatch script: what it starts with which options, for which machines, and the files that it hands over."""

from __future__ import annotations

import re

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import json_tree, keys
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.kinds import _programs, _references, _slurm_checks, deepspeed
from planc.native.kinds import _shell_checks as checks
from planc.native.kinds._options import entry_of, number_of
from planc.native.saying import Sayer, quoted
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Heredoc, Script
from planc.native.shell.reading import read as read_script
from planc.native.shell.values import Unknown
from planc.native.tree import Entry, Scalar, Tree

_MARKS = (
    "torchrun", "torch.distributed", "accelerate launch", "accelerate-launch", "deepspeed", "#SBATCH", "srun ",
    "python",
)  # fmt: skip

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def recognise(tree: Tree) -> int:
    """How sure it is that a text is a script that starts training."""
    text = tree.source.text
    if not text.startswith("#!") and not tree.source.name.endswith((".sh", ".sbatch", ".slurm", ".bash")):
        return 0
    if "#SBATCH" in text or any(mark in text for mark in _MARKS[:5]):
        return 85
    return 60 if launches(read_script(tree.source)) else 0


def read(tree: Tree, options: Options) -> Content:
    """What the script says, with its directives and launches checked."""
    sayer = Sayer()
    script = read_script(tree.source)
    found = launches(script)
    sayer.report(*checks.check(script, found))
    made = _made(script)
    for launch in found:
        _references.refer(launch, sayer, made)
    named = frozenset(path for launch in found for kind, path, _ in _references.named(launch) if kind == "deepspeed")
    for heredoc in script.heredocs:
        _embedded(heredoc, named, sayer, options)
    for sourced in script.sourced:
        path = sourced.path.known
        if path is not None and path.endswith((".sh", ".env")) and not sourced.context:
            sayer.refer(path, outermost(sourced.path.span), "shell" if path.endswith(".sh") else None)
    _variables(script, sayer)
    limit = _slurm_checks.walltime(script)
    if limit is not None and limit[1]:
        line = limit[0].line
        entry = Entry(line, Scalar(limit[0].span, limit[0].option), Scalar(limit[0].value_span or line, limit[1]))
        sayer.say("launch.walltime", entry, unit="s")
    training = [launch for launch in found if launch.launcher in ("torchrun", "accelerate", "deepspeed")]
    if len(training) == 1 and not training[0].command.within("loop", "if", "case", "function"):
        _machines(script, training[0], sayer)
        _programs.tell(training[0], sayer, options)
    return sayer.content()


def _made(script: Script) -> frozenset[str]:
    """Files that the script itself writes."""
    targets = [heredoc.target for heredoc in script.heredocs]
    targets.extend(redirect.target for command in script.commands for redirect in command.redirects)
    return frozenset(target.known for target in targets if target is not None and target.known is not None)


def _embedded(heredoc: Heredoc, named: frozenset[str], sayer: Sayer, options: Options) -> None:
    """A DeepSpeed configuration that the script writes: what is wrong in it, at its places in the script.

    named: the files that a launch gets as such.
    """
    tree = json_tree.read(heredoc.body) if heredoc.body.text.lstrip().startswith("{") else None
    is_named = heredoc.target is not None and heredoc.target.known in named
    if not isinstance(tree, Tree) or not (is_named or deepspeed.recognise(tree)):
        return
    content = deepspeed.read(tree, options)
    sayer.report(*(_outside(found) for found in (*keys.duplicates(tree.roots[0]), *content.diagnostics)))


def _outside(found: Diagnostic) -> Diagnostic:
    """What is said of a text within the script, said of the script; its fixes are left out."""
    primary = found.primary._replace(span=outermost(found.primary.span))
    related = tuple(label._replace(span=outermost(label.span)) for label in found.related)
    return found._replace(primary=primary, related=related, fixes=())


def _machines(script: Script, launch: Launch, sayer: Sayer) -> None:
    """Machines of the job, and processes on each: those of accelerate are counted over all."""
    names = {
        "torchrun": ("nnodes", "nproc_per_node"), "deepspeed": ("num_nodes", "num_gpus"),
        "accelerate": ("num_machines", "num_processes"),
    }[launch.launcher]  # fmt: skip
    nodes, ranks = (launch.option(name) for name in names)
    count, each = number_of(nodes), number_of(ranks)
    told = nodes.value.value if nodes is not None and nodes.value is not None else None
    job = _slurm_checks.nodes(script)
    if nodes is not None and count:
        sayer.say("cluster.nodes", entry_of(nodes, count), wins=True)
    elif isinstance(told, Unknown) and told.name in _slurm_checks.OF_NODES and job is not None:
        count = job[1]
        place = job[0].value_span or job[0].line
        sayer.say(
            "cluster.nodes", Entry(job[0].line, Scalar(job[0].span, job[0].option), Scalar(place, count)), wins=True
        )
    elif launch.launcher == "torchrun" and nodes is None and not launch.open and ranks is not None:
        sayer.say("cluster.nodes", entry_of(ranks, each), "1", wins=True)
        count = 1
    if ranks is None or not each:
        return
    if launch.launcher != "accelerate":
        sayer.say("cluster.gpus_per_node", entry_of(ranks, each), wins=True)
    elif count and each % count == 0:
        sayer.say("cluster.gpus_per_node", entry_of(ranks, each), str(each // count), wins=True)


def _variables(script: Script, sayer: Sayer) -> None:
    """Variables that the program gets, where their value is known for certain."""
    for export in script.exports:
        value = export.value.known if export.value is not None else None
        if value is None or export.context or not _VARIABLE.fullmatch(export.name) or not value.isprintable():
            continue
        if export.value is not None and export.value.default_of:
            continue
        place = outermost(export.span)
        entry = Entry(place, Scalar(place, export.name), Scalar(place, value))
        sayer.say(f"launch.env.{export.name}", entry, quoted(value))


KIND = Kind(
    "shell",
    "a shell script",
    ("text",),
    _MARKS,
    recognise,
    read,
    withheld=OF_THE_PROGRAM,
)
