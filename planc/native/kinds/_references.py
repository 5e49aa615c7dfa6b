"""The files that a launch names: the configurations of its program, and the hosts of the launcher."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from planc.native.kinds._options import place_of
from planc.native.saying import Sayer
from planc.native.shell.commands import is_here, path_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Command, Script
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown, Word
from planc.native.shell.wrappers import unwrap
from planc.source import Span

#: Options of a program that name a configuration, and the kind that it is of.
FILES = {
    "deepspeed": "deepspeed", "deepspeed_config": "deepspeed", "deepspeed_config_file": "deepspeed",
    "config_file": "accelerate",
}  # fmt: skip

#: Options by which programs of whatever kind are told of a configuration.
_OF_PROGRAMS = ("config_file", "config")

#: Modules and scripts that read one file, and its kind.
_READERS = {
    "axolotl.cli.train": "axolotl", "axolotl.cli.preprocess": "axolotl", "llamafactory.cli": "llama-factory",
    "llamafactory.launcher": "llama-factory",
}  # fmt: skip

#: Programs that start the training themselves, told by their second word, and the kind of the file that they read.
TOOLS = {
    "axolotl": "axolotl", "llamafactory-cli": "llama-factory", "lmf": "llama-factory",
}  # fmt: skip
_TASKS = ("train", "preprocess")

#: How configurations end.
_ENDINGS = (".json", ".yaml", ".yml")

#: Most wrappers around a command.
_MOST_LEVELS = 10


class Named(NamedTuple):
    """A file that is named: its kind (None: any), its path, where that stands; sure: planc has to know it."""

    kind: str | None
    path: str
    place: Span
    sure: bool = True


def refer(script: Script, launches: tuple[Launch, ...], sayer: Sayer, made: frozenset[str], here: bool = True) -> None:
    """The configurations that a script names, but for those that it makes; `here`: it runs where it lies."""
    found = [each for launch in launches for each in named(launch)]
    mentioned = _mentioned(script, launches)
    here = here and not any(_leaves(command) for inner in script.every() for command in inner.commands)
    commands = [words for inner in script.every() for words in tools(inner)]
    found += [each for words in commands for each in _first(words[2:], TOOLS[name_of(words[0])])]
    for each in dict.fromkeys(found):
        if each.path not in made:
            is_as_it_is = here and not any(each.path in text for text in mentioned)
            sayer.refer(each.path, each.place, each.kind, each.sure, is_as_it_is)


def _mentioned(script: Script, launches: tuple[Launch, ...]) -> list[str]:
    """Words of other commands than the launches: what fetches, copies or makes a file names it."""
    starting = {id(command) for launch in launches for _, command in script.way_to(launch.command)}
    others = (each for inner in script.every() for each in inner.commands if id(each) not in starting)
    return [word.known for command in others for word in command.arguments if word.known is not None]


def _leaves(command: Command) -> bool:
    """Whether a command goes into another folder than that of the script."""
    if command.name not in ("cd", "pushd") or not command.arguments:
        return False
    folder = command.arguments[-1].value
    return not is_here(folder) if isinstance(folder, Unknown) else folder not in (".", "./")


def tools(script: Script) -> Iterator[tuple[Word, ...]]:
    """The words of the commands of a script that are tools which start the training themselves."""
    for command in script.commands:
        words = command.words
        for _ in range(_MOST_LEVELS):
            inside = unwrap(name_of(words[0]), words) if words else None
            if inside is None:
                break
            words = inside.words
        if 1 < len(words) and name_of(words[0]) in TOOLS and words[1].known in _TASKS:
            yield words


def named(launch: Launch) -> Iterator[Named]:
    """The configurations that a launch names."""
    script = launch.script.known or "" if launch.script is not None else ""
    for option in launch.options:
        if option.name in FILES and _is_file(option.value):
            yield _of(option, FILES[option.name])
    if launch.launcher == "deepspeed":
        hosts = launch.option("hostfile")
        if hosts is not None and hosts.value is not None and path_of(hosts.value):
            yield _of(hosts, "hostfile")
    if launch.module and script in _READERS:
        yield from _first(launch.arguments, _READERS[script])
    elif posixpath.basename(script) == "deepy.py":
        yield from _of_neox(launch.arguments)
    else:
        yield from _of_program(launch, script)


def _of_program(launch: Launch, script: str) -> Iterator[Named]:
    for option in launch.parameters:
        if option.name == "job.config_file" and _is_file(option.value, ".toml"):
            yield _of(option, "torchtitan")
        elif option.name == "yaml_cfg" and _is_file(option.value):
            yield _of(option, "megatron")
        elif option.name == "config_file" and _is_file(option.value) and posixpath.basename(script) == "run_train.py":
            yield _of(option, "nanotron")
        elif option.name in _OF_PROGRAMS and _is_file(option.value):
            yield _of(option, None, False)
        elif option.name in FILES and _is_file(option.value):
            yield _of(option, FILES[option.name])
    only = launch.arguments[0] if len(launch.arguments) == 1 else None
    path = path_of(only) if only is not None else None
    if only is not None and path is not None and path.endswith(_ENDINGS):
        yield Named(None, path, outermost(only.origin), False)


def _of_neox(words: tuple[Word, ...]) -> Iterator[Named]:
    """The files of `deepy.py train.py -d FOLDER FILE...`, which may lack their ending (`consume_deepy_args`)."""
    folder, paths, at = "", list[Word](), 1
    while at < len(words):
        text = words[at].known
        if text is None or text.startswith("-"):
            value = words[at + 1].known if at + 1 < len(words) else None
            if text not in ("-d", "--conf_dir") or value is None:
                return  # of another option nobody knows where its values end
            folder, at = value, at + 1
        else:
            paths.append(words[at])
        at += 1
    for word in paths:
        path = posixpath.join(folder, word.known or "")
        path = path if path.endswith((".yml", ".json")) else f"{path}.yml"
        yield Named("gpt-neox", path, outermost(word.origin))


def _first(words: tuple[Word, ...], kind: str) -> Iterator[Named]:
    """The file that is the first word."""
    if words and _is_file(words[0]):
        yield Named(kind, path_of(words[0]) or "", outermost(words[0].origin))


def _of(option: Option, kind: str | None, sure: bool = True) -> Named:
    path = path_of(option.value) if option.value is not None else None
    return Named(kind, path or "", place_of(option), sure)


def _is_file(word: Word | None, *endings: str) -> bool:
    path = path_of(word) if word is not None else None
    return path is not None and path.endswith(endings or _ENDINGS)


def name_of(word: Word) -> str:
    """The name of a program, without its folder."""
    return (word.known or "").rsplit("/", 1)[-1]
