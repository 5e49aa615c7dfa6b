"""Megatron-LM's arguments in YAML: the `model_config.yaml` of its tests, files for its `--yaml-cfg`, and flat files of
flags, of which scripts make its command line; or as lines, a word each, as `compile` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planc.native.kind import Content, Kind, Options
from planc.native.megatron import checks, keys, line
from planc.native.megatron.flags import Flags, Teller, value_of
from planc.native.megatron.model import say_model
from planc.native.megatron.training import (
    OF_TRAINING,
    say_batch,
    say_layout,
    say_optimizer,
    say_precision,
    say_run,
    say_schedule,
    say_sharing,
    trains,
)
from planc.native.saying import Sayer, quoted
from planc.native.shell.options import parameters
from planc.native.shell.values import Literal, Word
from planc.native.tree import Entry, Map, Scalar, Tree
from planc.source import Source, Span

#: The map of flags in the files of Megatron's tests, and that of variables.
_ARGUMENTS, _VARIABLES = "MODEL_ARGS", "ENV_VARS"

#: Groups of a file for `--yaml-cfg`.
_GROUPS = ("language_model", "model_parallel")

#: Flags that no other tool's flat files have.
_SURE = frozenset((
    "tensor-model-parallel-size", "pipeline-model-parallel-size", "expert-model-parallel-size", "context-parallel-size",
    "use-distributed-optimizer", "num-query-groups", "untie-embeddings-and-output-weights", "disable-bias-linear",
    "num-layers-per-virtual-pipeline-stage", "recompute-granularity", "position-embedding-type", "ffn-hidden-size",
    "global-batch-size", "micro-batch-size", "transformer-impl",
))  # fmt: skip

#: A line that is a word of a command line.
_LINE = re.compile(r"^[^#\s].*(?<![\r\s])", re.MULTILINE)

#: The script that a file of such lines is for, unless something else is said.
_SCRIPT = "pretrain_gpt.py"

#: Keys of NeMo and of `--yaml-cfg`, as Megatron's flags.
_RENAMED = {"num-moe-experts": "num-experts", "max-steps": "train-iters"}


def recognise(tree: Tree) -> int:
    """How sure it is that a tree holds arguments of Megatron."""
    root = tree.root
    if root is None:
        return 85 if tree.format == "text" and line.starts_megatron(parameters(_words(tree.source))) else 0
    arguments = root.map(_ARGUMENTS)
    if arguments is not None:
        return 95 if any(name.startswith("--") or "." in name for name in arguments.names()) else 60
    if all(root.map(group) is not None for group in _GROUPS):
        return 90
    names = root.names()
    sure = len(_SURE.intersection(_plain(name) for name in names))
    dashed = sum(name.startswith("--") for name in names)
    return min(50 + 10 * sure, 90) if 1 < sure and (2 < sure or dashed) else 0


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its flags checked."""
    root, sayer = tree.root, Sayer()
    if tree.format == "text":
        _lines(tree.source, sayer)
    if root is None:
        return sayer.content()
    flags = _flags(root)
    if flags.whole:
        for arguments in _arguments(root):
            sayer.report(*keys.check(arguments))
    sayer.report(*checks.check(flags))
    say(flags, sayer)
    if any("." in name for name in (root.map(_ARGUMENTS) or root).names()):
        _cluster(root.map(_ARGUMENTS) or root, sayer)
    variables = root.map(_VARIABLES)
    if variables is not None:
        _variables(variables, sayer)
    return sayer.content()


def _lines(source: Source, sayer: Sayer) -> None:
    """A file of words of a command line, one a line."""
    found = line.read(_words(source), _SCRIPT)
    sayer.report(*found.diagnostics)
    flags = Flags(found.entries, Span(source, 0, 0), found.whole)
    sayer.report(*checks.check(flags))
    say(flags, sayer)


def _words(source: Source) -> tuple[Word, ...]:
    """The lines of a file that are words: neither empty nor comments."""
    found: list[Word] = []
    for match in _LINE.finditer(source.text):
        span = Span(source, *match.span())
        found.append(Word(span, (Literal(match[0], span),)))
    return tuple(found)


def say(flags: Flags, sayer: Sayer) -> None:
    """What flags of Megatron say, wherever they stand."""
    teller = Teller(flags, sayer)
    say_layout(flags, teller)
    say_model(flags, teller)
    say_precision(flags, teller)
    say_sharing(flags, teller)
    if not trains(flags):
        teller.withhold(*OF_TRAINING, "parallel.sequence")
        return
    say_batch(flags, teller)
    say_optimizer(flags, teller)
    say_schedule(flags, teller)
    say_run(flags, teller)


def _arguments(root: Map) -> Iterator[Map]:
    """The maps of flags of a file of Megatron's tests; there may be one for each of several runs."""
    for entry in root.entries:
        if entry.name.startswith(_ARGUMENTS) and isinstance(entry.value, Map):
            yield entry.value


def _flags(root: Map) -> Flags:
    """The flags of a file: all of the run where it is one of Megatron's tests, else those that it sets."""
    entry = root.find(_ARGUMENTS)
    if entry is not None and isinstance(entry.value, Map):
        dashed = {each.name[2:]: each for each in entry.value.entries if each.name.startswith("--")}
        if dashed:
            return Flags(dashed, entry.key.span, whole=True)
        return Flags(_by_leaf(entry.value.entries), entry.key.span, whole=False)
    entries = tuple(_of_groups(root)) if root.map(_GROUPS[0]) is not None else root.entries
    place = root.span._replace(end=min(root.span.end, root.span.start + 1))
    return Flags(_by_leaf(entries), place, whole=False)


def _by_leaf(entries: tuple[Entry, ...]) -> Mapping[str, Entry]:
    """Entries by flag, of a key with dots its last part; what is null is not set, and what is said otherwise turned."""
    found: dict[str, Entry] = {}
    for entry in entries:
        name = _plain(entry.name.rpartition(".")[2])
        value = entry.value.value if isinstance(entry.value, Scalar) else entry.value
        if value is None:
            continue
        found[_RENAMED.get(name, name)] = entry
        if name == "add-bias-linear" and value is False:
            found["disable-bias-linear"] = _with(entry, True)
        if name == "activation-func" and value == "swiglu":
            found["swiglu"] = _with(entry, True)
        if name == "num-query-groups":
            found.setdefault("group-query-attention", _with(entry, True))
    return found


def _of_groups(root: Map) -> Iterator[Entry]:
    for entry in root.entries:
        if isinstance(entry.value, Map):
            yield from entry.value.entries
        else:
            yield entry


def _with(entry: Entry, value: bool) -> Entry:
    return entry._replace(value=Scalar(entry.value.span, value))


def _plain(name: str) -> str:
    return name.removeprefix("--").replace("_", "-")


def _cluster(arguments: Map, sayer: Sayer) -> None:
    """The nodes and cards of a file of NeMo's."""
    for name, path in (("trainer.num_nodes", "cluster.nodes"), ("trainer.devices", "cluster.gpus_per_node")):
        entry = arguments.find(name)
        if entry is not None and isinstance(value_of(entry), int) and not isinstance(value_of(entry), bool):
            sayer.say(path, entry)


def _variables(variables: Map, sayer: Sayer) -> None:
    """Environment variables, as texts: whoever exports them writes a number so."""
    for entry in variables.entries:
        value = value_of(entry)
        if value is None or not entry.name.isidentifier():
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text.isprintable():
            sayer.say(f"launch.env.{entry.name}", entry, quoted(text))


KIND = Kind(
    "megatron",
    "arguments of Megatron-LM",
    ("yaml", "text"),
    (_ARGUMENTS, *_GROUPS, "model_parallel_size", "model-parallel-size", "micro_batch_size", "micro-batch-size"),
    recognise,
    read,
    targets=("megatron",),
)
