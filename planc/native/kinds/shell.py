"""A shell or sbatch script: what it starts with which options, for which machines, and the files that it hands over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import json_tree, keys
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.kinds import _shell_checks as checks
from planc.native.kinds import _slurm_checks, deepspeed, megatron, transformers
from planc.native.kinds._transformers_checks import check as of_trainer
from planc.native.megatron.checks import check as megatron_checks
from planc.native.megatron.flags import Flags
from planc.native.saying import Sayer, quoted
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Heredoc, Script
from planc.native.shell.options import Option
from planc.native.shell.reading import read as read_script
from planc.native.shell.values import Unknown, Word
from planc.native.tree import Entry, Map, Scalar, Tree
from planc.source import Span

_MARKS = (
    "torchrun", "torch.distributed", "accelerate launch", "accelerate-launch", "deepspeed", "#SBATCH", "srun ",
    "python",
)  # fmt: skip

#: Options of a program that name a configuration, and the kind that it is of.
_FILES = {
    "deepspeed": "deepspeed", "deepspeed_config": "deepspeed", "deepspeed_config_file": "deepspeed",
    "config_file": "accelerate",
}  # fmt: skip

#: Flags of Megatron-LM, of which a command line that starts it has several.
_OF_MEGATRON = frozenset((
    "num-layers", "hidden-size", "num-attention-heads", "seq-length", "micro-batch-size", "global-batch-size",
    "tensor-model-parallel-size", "train-iters", "ffn-hidden-size", "max-position-embeddings",
))  # fmt: skip

#: How configurations end.
_ENDINGS = (".json", ".yaml", ".yml")

_NUMBER = re.compile(r"[+-]?(?:\d+|\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")
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
        _refer(launch, sayer, made)
    named = frozenset(path for launch in found for kind, path, _ in _named(launch) if kind == "deepspeed")
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
        _arguments(training[0], sayer, options)
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


def _refer(launch: Launch, sayer: Sayer, made: frozenset[str]) -> None:
    """The configurations that a launch names, but for those that the script makes."""
    for kind, path, place in _named(launch):
        if path not in made:
            sayer.refer(path, place, kind)
    hosts = launch.option("hostfile")
    if launch.launcher == "deepspeed" and hosts is not None and hosts.value is not None and hosts.value.known:
        sayer.refer(hosts.value.known, _place(hosts), "hostfile")
    only = launch.arguments[0] if len(launch.arguments) == 1 else None
    if only is not None and only.known is not None and only.known.endswith(_ENDINGS) and only.known not in made:
        sayer.refer(only.known, outermost(only.origin), None)


def _named(launch: Launch) -> Iterator[tuple[str, str, Span]]:
    """The configurations that options name: their kinds, their paths, and where these stand."""
    for option in (*launch.options, *launch.parameters):
        kind = _FILES.get(option.name)
        path = option.value.known if option.value is not None else None
        if kind is not None and path is not None and path.endswith(_ENDINGS):
            yield kind, path, _place(option)


def _place(option: Option) -> Span:
    """The value of an option, where the script has it."""
    return outermost(option.value.origin if option.value is not None else option.written.origin)


def _entry(option: Option, value: object, name: str | None = None) -> Entry:
    """An option as an entry of keys: from its name to the end of its value."""
    key, end = outermost(option.written.origin), _place(option)
    span = key.to(end) if key.source is end.source and key.start <= end.start else end
    return Entry(span, Scalar(key, name or option.name), Scalar(end, value))


def _number(option: Option | None) -> int | None:
    """The whole number of an option; None if it has none, or only the run knows."""
    text = option.value.known if option is not None and option.value is not None else None
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _machines(script: Script, launch: Launch, sayer: Sayer) -> None:
    """Machines of the job, and processes on each: those of accelerate are counted over all."""
    names = {
        "torchrun": ("nnodes", "nproc_per_node"), "deepspeed": ("num_nodes", "num_gpus"),
        "accelerate": ("num_machines", "num_processes"),
    }[launch.launcher]  # fmt: skip
    nodes, ranks = (launch.option(name) for name in names)
    count, each = _number(nodes), _number(ranks)
    told = nodes.value.value if nodes is not None and nodes.value is not None else None
    job = _slurm_checks.nodes(script)
    if nodes is not None and count:
        sayer.say("cluster.nodes", _entry(nodes, count), wins=True)
    elif isinstance(told, Unknown) and told.name in _slurm_checks.OF_NODES and job is not None:
        count = job[1]
        place = job[0].value_span or job[0].line
        sayer.say(
            "cluster.nodes", Entry(job[0].line, Scalar(job[0].span, job[0].option), Scalar(place, count)), wins=True
        )
    elif launch.launcher == "torchrun" and nodes is None and not launch.open and ranks is not None:
        sayer.say("cluster.nodes", _entry(ranks, each), "1", wins=True)
        count = 1
    if ranks is None or not each:
        return
    if launch.launcher != "accelerate":
        sayer.say("cluster.gpus_per_node", _entry(ranks, each), wins=True)
    elif count and each % count == 0:
        sayer.say("cluster.gpus_per_node", _entry(ranks, each), str(each // count), wins=True)


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


def _arguments(launch: Launch, sayer: Sayer, options: Options) -> None:
    """Arguments of Megatron-LM, or of the Trainer, on the command line: those that are left out have the defaults."""
    entries = tuple(_parsed(launch))
    is_whole = not launch.open and not any(word.many for word in launch.arguments)
    flags = {entry.name.replace("_", "-"): entry for entry in entries}
    if 2 < len(_OF_MEGATRON.intersection(flags)):
        given = Flags(flags, outermost(launch.name.span), is_whole)
        sayer.target("megatron")
        sayer.report(*megatron_checks(given))
        megatron.say(given, sayer)
        return
    root = Map(outermost(launch.command.span), entries)
    if transformers.recognise(Tree(launch.command.span.source, "json", (root,))) == 0:
        return
    whole = Map(root.span, tuple(entry for entry in entries if entry.name not in _FILES))
    sayer.target("transformers")
    sayer.report(*of_trainer(whole))
    transformers.say(whole, sayer, options, is_whole)


def _parsed(launch: Launch) -> Iterator[Entry]:
    for option in launch.parameters:
        word = option.value
        if word is None:
            yield _entry(option, True)
        elif word.known is not None:
            yield _entry(option, _value(word))


def _value(word: Word) -> object:
    """The value of an argument, as the Trainer's parser reads it."""
    text = word.known or ""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text


KIND = Kind(
    "shell",
    "a shell script",
    ("text",),
    _MARKS,
    recognise,
    read,
    withheld=OF_THE_PROGRAM,
)
