"""What may stand at a place of a command line, found in the parsers of the commands, so that it is what they take."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from planc.commands.main import COMMANDS, module_of


class Answer(NamedTuple):
    """A word that may stand there, and what it means."""

    word: str
    text: str = ""


PLANS, FOLDERS, FILES = Answer(":plans"), Answer(":folders"), Answer(":files")

#: Answers that stand for paths, which a shell completes better than anybody.
PATHS = (PLANS, FOLDERS, FILES)


class _Place(NamedTuple):
    """A place in the command line of one command: what stands before it."""

    words: tuple[str, ...]
    used: frozenset[str]
    option: argparse.Action | None
    positionals: int
    only_positionals: bool


def answers(words: Sequence[str]) -> tuple[Answer, ...]:
    """What may stand in place of the last of the words that follow `planc`, each beginning with what it has already."""
    *before, current = words or ("",)
    if not before:
        options = (Answer("--help", "show the commands"), Answer("--version", "show the version"))
        found: Iterable[Answer] = options if current.startswith("-") else map(Answer, COMMANDS, COMMANDS.values())
    elif before[0] not in COMMANDS:
        return ()
    else:
        parser: argparse.ArgumentParser = import_module(module_of(before[0])).parser()
        found = _of_command(parser, before[1:], current)
    return tuple(answer for answer in found if answer in PATHS or answer.word.startswith(current))


def _of_command(parser: argparse.ArgumentParser, before: Sequence[str], current: str) -> Iterable[Answer]:
    options = {name: action for action in parser._actions for name in action.option_strings}
    place = _place(options, before)
    if place.option is not None:
        return _values(place.option, place, current)
    if current.startswith("-") and current != "-" and not place.only_positionals:
        name, equals, value = current.partition("=")
        if equals:
            return _joined_to(options.get(name), place, name, value)
    if current.startswith("-") and not place.only_positionals:
        return _options(parser, place)
    positionals = [action for action in parser._actions if not action.option_strings]
    at = min(place.positionals, len(positionals) - 1)
    if at < 0 or (at < place.positionals and positionals[at].nargs not in ("*", "+")):
        return ()
    return _values(positionals[at], place, current)


def _place(options: dict[str, argparse.Action], before: Sequence[str]) -> _Place:
    option: argparse.Action | None = None
    words: list[str] = []
    used: set[str] = set()
    only_positionals = False
    for word in before:
        if option is not None and option.nargs != argparse.REMAINDER:
            option = None
        elif option is not None:
            continue
        elif word == "--" and not only_positionals:
            only_positionals = True
        elif word.startswith("-") and word != "-" and not only_positionals:
            name, equals, _ = word.partition("=")
            found = options.get(name)
            if found is not None:
                used.add(found.dest)
                option = found if found.nargs != 0 and not equals else None
        else:
            words.append(word)
    return _Place(tuple(words), frozenset(used), option, len(words), only_positionals)


def _options(parser: argparse.ArgumentParser, place: _Place) -> Iterator[Answer]:
    """The options that may still be given; one that collects values may be given again."""
    for action in parser._actions:
        if action.dest not in place.used or isinstance(action, argparse._AppendAction):
            for name in action.option_strings:
                yield Answer(name, _meaning(action))


def _meaning(action: argparse.Action) -> str:
    """What the help says of an option, up to its first semicolon."""
    return (action.help or "").partition(";")[0].replace("%%", "%")


def _joined_to(action: argparse.Action | None, place: _Place, name: str, value: str) -> list[Answer]:
    if action is None or action.nargs == 0:
        return []
    found = _values(action, place, value)
    return [answer if answer in PATHS else Answer(f"{name}={answer.word}", answer.text) for answer in found]


def _values(action: argparse.Action, place: _Place, current: str) -> Iterable[Answer]:
    if action.choices is not None:
        return [Answer(str(choice)) for choice in action.choices]
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    finder = _OF_OPTION.get(f"{' '.join(action.option_strings)} {metavar}".strip()) or _OF_METAVAR.get(metavar)
    return finder(place, current) if finder is not None else ()


def _models(place: _Place, current: str) -> Iterator[Answer]:
    from planc.commands.asking import catalogue_names
    from planc.commands.files import Files

    return map(Answer, catalogue_names(Files(), "model"))


def _cards(place: _Place, current: str) -> Iterator[Answer]:
    from planc.commands.asking import catalogue_names
    from planc.commands.files import Files

    return map(Answer, catalogue_names(Files(), "gpu"))


def _trainers(place: _Place, current: str) -> Iterator[Answer]:
    from planc.advice.trainers import TRAINERS

    return map(Answer, TRAINERS)


def _engines(place: _Place, current: str) -> Iterator[Answer]:
    from planc.facts.engine import ENGINES

    return map(Answer, ENGINES)


def _precisions(place: _Place, current: str) -> Iterator[Answer]:
    from planc.plan.schema import SECTIONS

    return (Answer(word) for field in SECTIONS["plan"] if field.name == "precision" for word in field.type.words)


def _target_names(place: _Place, current: str) -> Iterator[Answer]:
    from planc.targets import load_target, target_names

    return (Answer(name, load_target(name).summary) for name in target_names())


def _rules(place: _Place, current: str) -> Iterator[Answer]:
    from planc.kinds import all_kinds

    kinds = all_kinds()
    yield from (Answer(kind.code, f"{kind.name}: {kind.page.partition(chr(10))[0]}") for kind in kinds)
    if current:
        yield from (Answer(kind.name, f"{kind.code}: {kind.page.partition(chr(10))[0]}") for kind in kinds)


def _rules_by_commas(place: _Place, current: str) -> Iterator[Answer]:
    done, comma, last = current.rpartition(",")
    yield from (Answer(f"{done}{comma}{answer.word}", answer.text) for answer in _rules(place, last))
    yield Answer(f"{done}{comma}all", "every rule")


def _targets(place: _Place, current: str) -> Iterator[Answer]:
    from planc.targets import load_target, target_names

    return (Answer(name, load_target(name).summary) for name in target_names())


def _plans_of_the_file(place: _Place, current: str) -> Iterator[Answer]:
    """The plans that the first file of the command line defines, as far as it can be read."""
    from planc.commands.files import Files
    from planc.source import Source
    from planc.syntax.parse import parse

    path = os.path.expanduser(place.words[0]) if place.words else "-"
    source = None if path == "-" else Files().read(path)
    if isinstance(source, Source):
        yield from (Answer(block.name.text) for block in parse(source).file.blocks if block.kind == "plan")


def _settings(place: _Place, current: str) -> Iterator[Answer]:
    """Paths of fields up to the next dot, or the words that the field at a whole path takes."""
    from planc.plan.schema import SECTIONS

    path, equals, _ = current.partition("=")
    *sections, name = path.split(".")
    of = "plan"
    for section in sections:
        field = next((field for field in SECTIONS.get(of, ()) if field.name == section), None)
        if field is None:
            return
        of = field.type.of
    for field in SECTIONS.get(of, ()):
        whole = ".".join((*sections, field.name))
        if equals and field.name == name:
            flags = ("true", "false") if field.type.form == "flag" or field.type.flag else ()
            yield from (Answer(f"{whole}={word}", field.doc) for word in (*field.type.words, *flags))
        elif not equals:
            if field.type.of in SECTIONS and field.type.of != "plan":
                yield Answer(f"{whole}.", field.doc)
            if field.type.form not in ("record", "map"):
                yield Answer(f"{whole}=", field.doc)


def _numbers(place: _Place, current: str) -> Iterator[Answer]:
    """The derived numbers, and the fields as `--set` has them."""
    from planc.facts.evidence import evidence_of
    from planc.facts.facts import FACTS

    yield from (Answer(path, evidence_of(fact.formula.__doc__).meaning) for path, fact in FACTS.items())
    yield from (Answer(answer.word.removesuffix("="), answer.text) for answer in _settings(place, current))


_Finder = Callable[[_Place, str], Iterable[Answer]]

#: What an argument is, by the word that stands for it in the help.
_OF_METAVAR: dict[str, _Finder] = {
    "FILE": lambda place, current: (PLANS,),
    "FILE|DIR": lambda place, current: (PLANS,),
    "FILE|DIR|-": lambda place, current: (PLANS,),
    "FILE|-": lambda place, current: (FILES,),
    "PLAN|LOG": lambda place, current: (FILES,),
    "DIR": lambda place, current: (FOLDERS,),
    "T": _targets,
    "TARGET": _target_names,
    "CODE|NAME": _rules,
    "RULES": _rules_by_commas,
    "PATH=VALUE": _settings,
    "MODEL": _models,
    "GPU": _cards,
    "TRAINER": _trainers,
    "ENGINE": _engines,
    "DTYPE": _precisions,
    "PLAN": lambda place, current: (PLANS,),
    **dict.fromkeys(("METRICS", "LOG", "RECORD", "KEY"), lambda place, current: (FILES,)),
}

#: The same for options whose word means something else with others.
_OF_OPTION: dict[str, _Finder] = {
    "--plan NAME": _plans_of_the_file,
    "--why PATH": _numbers,
    "--config FILE": lambda place, current: (FILES,),
    "--baseline FILE": lambda place, current: (FILES,),
    "--stdin-filename NAME": lambda place, current: (PLANS,),
    "--cluster FILE[:NAME]": lambda place, current: (PLANS, *_cards(place, current)),
    "--model FILE[:NAME]": lambda place, current: (FILES, *_models(place, current)),
}
