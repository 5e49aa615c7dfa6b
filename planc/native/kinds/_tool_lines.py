"""Command lines of tools that start the training themselves: what they say over the file that the tool reads, and for
which machines.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.native.kind import Options, Said
from planc.native.kinds import _references, load_kind
from planc.native.kinds._options import entry_of
from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.model import Command, Script
from planc.native.shell.options import parameters
from planc.native.shell.values import Word
from planc.native.tree import PLACEHOLDER, Entry, Map, Scalar, Tree

#: Variables that LLaMA-Factory hands on to torchrun (`launch` of llamafactory.launcher), by fields of a plan.
_MACHINES = {"NNODES": "cluster.nodes", "NPROC_PER_NODE": "cluster.gpus_per_node"}


def machines(script: Script, sayer: Sayer) -> None:
    """The machines of the only command of LLaMA-Factory, which it has from variables; others of these are stated."""
    commands = [command for command in script.commands if any(_references.tools(_only(script, command)))]
    if len(commands) != 1 or commands[0].context:
        return
    (words,) = _references.tools(_only(script, commands[0]))
    is_of_torchrun = _references.TOOLS[_references.name_of(words[0])] == "llama-factory"
    for each in commands[0].environment:
        if each.value is None:
            continue
        place, value = outermost(each.span), outermost(each.value.span)
        entry = Entry(place, Scalar(place, each.name), Scalar(value, value.text))
        sayer.state(entry)
        path = _MACHINES.get(each.name) if is_of_torchrun else None
        count = _count(each.value)
        if path is not None and count:
            sayer.say(path, entry, str(count))


def _count(word: Word) -> int | None:
    """The number of a variable, unless the environment may have another."""
    text = word.known if not word.default_of else None
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 6 else None


def _only(script: Script, command: Command) -> Script:
    return script._replace(commands=(command,))


def overrides(script: Script, options: Options) -> Iterator[Said]:
    """What the only command of a tool says over its file: by words `key=value`, or by options of the file's keys."""
    commands = [words for each in script.every() for words in _references.tools(each)]
    if len(commands) != 1:
        return
    (words,) = commands
    kind = load_kind(_references.TOOLS[_references.name_of(words[0])])
    entries = [entry for word in words[3:] if (entry := _setting(word)) is not None] or list(_given(words[3:]))
    place = outermost(words[0].span)
    trains = Entry(place, Scalar(place, "do_train"), Scalar(place, True))  # which the file says, or nothing is trained
    tree = Tree(place.source, "yaml", (Map(place, (trains, *entries)),))
    for said in kind.read(tree, options).said if entries else ():
        if not said.assumed:
            yield said._replace(over=kind.name)


def _given(words: tuple[Word, ...]) -> Iterator[Entry]:
    """Options as entries of keys."""
    for option in parameters(words):
        yield entry_of(option, True if option.value is None else _value(option.value))


def _setting(word: Word) -> Entry | None:
    """A word `key=value` as an entry of keys."""
    name, equals, _ = word.prefix.partition("=")
    if not equals or not name.isidentifier():
        return None
    whole, value = outermost(word.origin), word.after(len(name) + 1)
    key = whole._replace(end=whole.start + len(name)) if whole.text.startswith(name) else whole
    return Entry(whole, Scalar(key, name), Scalar(outermost(value.origin), _value(value)))


def _value(word: Word) -> object:
    """A value as it is read for a field of a file; what only the run knows is a gap."""
    text = word.known
    if text is None:
        return PLACEHOLDER
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < 1e15 else text
    return text
