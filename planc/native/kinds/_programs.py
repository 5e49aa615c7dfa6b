"""The arguments of a program that a launch starts: what they say of the run, checked as those of that program."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.native.kind import Options
from planc.native.kinds import _references, megatron, transformers
from planc.native.kinds._options import entry_of
from planc.native.kinds._transformers_checks import check as of_trainer
from planc.native.megatron.checks import check as megatron_checks
from planc.native.megatron.flags import Flags
from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.values import Word
from planc.native.tree import Entry, Map, Tree

#: Flags of Megatron-LM, of which a command line that starts it has several.
_OF_MEGATRON = frozenset((
    "num-layers", "hidden-size", "num-attention-heads", "seq-length", "micro-batch-size", "global-batch-size",
    "tensor-model-parallel-size", "train-iters", "ffn-hidden-size", "max-position-embeddings",
))  # fmt: skip

_NUMBER = re.compile(r"[+-]?(?:\d+|\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")


def tell(launch: Launch, sayer: Sayer, options: Options) -> None:
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
    whole = Map(root.span, tuple(entry for entry in entries if entry.name not in _references.FILES))
    sayer.target("transformers")
    sayer.report(*of_trainer(whole))
    transformers.say(whole, sayer, options, is_whole)


def _parsed(launch: Launch) -> Iterator[Entry]:
    for option in launch.parameters:
        word = option.value
        if word is None:
            yield entry_of(option, True)
        elif word.known is not None:
            yield entry_of(option, _value(word))


def _value(word: Word) -> object:
    """The value of an argument, as the Trainer's parser reads it."""
    text = word.known or ""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text
