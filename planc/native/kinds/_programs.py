"""The arguments of a program that a launch starts: what they say of the run, checked as those of that program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import keys
from planc.native.kind import Options
from planc.native.kinds import _references, _torchtitan_line, _torchtitan_said, megatron, transformers
from planc.native.kinds._options import entry_of
from planc.native.kinds._transformers_checks import check as of_trainer
from planc.native.megatron import line
from planc.native.megatron.checks import check as megatron_checks
from planc.native.megatron.flags import Flags
from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.tables import Key, load_table
from planc.native.tree import PLACEHOLDER, Entry, Map, Tree

#: What `string_to_bool` of transformers takes for a flag.
_FLAGS = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True), **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}  # fmt: skip

_NUMBER = re.compile(r"[+-]?(?:\d+|\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?")


def is_known(launch: Launch) -> bool:
    """Whether the arguments of a program are those of a trainer."""
    if line.starts_megatron(launch.parameters) or _torchtitan_line.starts_torchtitan(launch):
        return True
    return _is_of_the_trainer(Map(outermost(launch.command.span), tuple(_parsed(launch))))


def _is_of_the_trainer(root: Map) -> bool:
    """Whether arguments are those of the Trainer, as keys of a file of them would be."""
    return transformers.recognise(Tree(root.span.source, "json", (root,))) != 0


def tell(launch: Launch, sayer: Sayer, options: Options) -> None:
    """Arguments of Megatron-LM, of torchtitan or of the Trainer: those that are left out have the defaults."""
    if line.starts_megatron(launch.parameters):
        _megatron(launch, sayer)
        return
    if _torchtitan_line.starts_torchtitan(launch):
        sayer.report(*_torchtitan_line.check_flags(launch))
        _torchtitan_said.say(_torchtitan_line.read(launch), sayer)
        return
    entries = tuple(_parsed(launch))
    is_whole = not launch.open and not any(word.many for word in launch.arguments)
    root = Map(outermost(launch.command.span), entries)
    if not _is_of_the_trainer(root):
        return
    whole = Map(root.span, tuple(entry for entry in entries if entry.name not in _references.FILES))
    sayer.target("transformers")
    sayer.report(*_of_the_table(whole, options), *of_trainer(whole))
    transformers.say(whole, sayer, options, is_whole)


def _of_the_table(whole: Map, options: Options) -> Iterator[Diagnostic]:
    """Arguments that the Trainer no longer has, and values that its parser refuses: those of a number, a flag or a
    word, as what else a text may stand for is for the parser to say. Other arguments are the program's own, but for
    slips of one of these.
    """
    table = load_table("transformers")
    others = {name for name, key in table.keys.items() if not _is_plain(key)}
    judged = Map(whole.span, tuple(entry for entry in whole.entries if entry.name not in others))
    reader = keys.Reader(table, version=options.version("transformers"))
    for each in keys.folded(transformers.sure(keys.check(judged, reader), reader), reader.consumer):
        yield each._replace(fixes=())  # they write keys of a file


def _is_plain(key: Key) -> bool:
    types = set(key["types"])
    return types <= {"int", "float", "bool", "null"} or ("words" in key and types <= {"string", "null"})


def _megatron(launch: Launch, sayer: Sayer) -> None:
    """Flags of Megatron-LM; of a file of flags that takes their place nothing is known here."""
    found = line.read(launch.arguments, (launch.script.known or "") if launch.script is not None else "")
    sayer.target("megatron")
    sayer.report(*found.diagnostics)
    if "yaml-cfg" in found.entries:
        return
    given = Flags(found.entries, outermost(launch.name.span), found.whole and not launch.open)
    sayer.report(*megatron_checks(given))
    megatron.say(given, sayer)


def _parsed(launch: Launch) -> Iterator[Entry]:
    """The arguments as entries of keys; what only the run knows is a gap."""
    table = load_table("transformers")
    for option in launch.parameters:
        word = option.value
        if word is None:
            yield entry_of(option, True)
        else:
            types = table.keys.get(option.name, {}).get("types", ())
            yield entry_of(option, PLACEHOLDER if word.known is None else _value(word.known, types))


def _value(text: str, types: Collection[str]) -> object:
    """The value of an argument, as HfArgumentParser reads it for a field of some types."""
    flag = _FLAGS.get(text.lower())
    if flag is not None and ("bool" in types or text.lower() in ("true", "false")):
        return flag
    if _NUMBER.fullmatch(text):
        if text.lstrip("+-").isdigit():
            return int(text)
        return text if "int" in types and "float" not in types else float(text)
    return text
