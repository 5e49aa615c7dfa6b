"""Every option of every command, and every choice of an option, is tried by some test."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from importlib import import_module

import pytest

from planc.commands.main import COMMANDS, module_of
from tests.shared import ROOT


def parser_of(command: str, monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    """The parser that shows the help of a command."""
    shown: list[argparse.ArgumentParser] = []
    monkeypatch.setattr(argparse.ArgumentParser, "print_help", lambda self, file=None: shown.append(self))
    with pytest.raises(SystemExit):
        import_module(module_of(command)).run(["--help"])
    return shown[0]


def wanted(parser: argparse.ArgumentParser) -> Iterator[tuple[str, ...]]:
    """What has to be tried: for each option and choice the words of which one stands in a command line.

    What is the default anyway is left out, and `--help`, which `test_others.py` tries for every command.
    """
    for action in parser._actions:
        if action.dest == "help":
            continue
        if action.option_strings:
            yield tuple(action.option_strings)
        for choice in action.choices or ():
            if choice != action.default:
                yield (str(choice), *(f"{option}={choice}" for option in action.option_strings))


def words_of(text: str) -> set[str]:
    """The words that a test's file writes as strings, but for docstrings; `--option=value` is the option as well."""
    nodes = list(ast.walk(ast.parse(text)))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in prose)
    words = {word for string in strings if isinstance(string, str) for word in string.split()}
    return words | {word.partition("=")[0] for word in words if word.startswith("--")}


#: The words of each file with tests but this one.
WORDS = {
    path.relative_to(ROOT): words_of(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if path.name != "test_every_option.py"
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_tried_where_its_command_is(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [words for words in WORDS.values() if command in words]
    options = list(wanted(parser_of(command, monkeypatch)))
    untried = [names for names in options if not any(words & set(names) for words in files)]
    assert untried == []


def test_an_option_that_nobody_tries_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [names[0] for names in wanted(parser_of("rule", monkeypatch))] == ["--policies", "--output-format", "json"]
    assert words_of('run("rule", "--output-format=json", f"-o {x}")') >= {"rule", "--output-format", "-o"}
    assert not words_of('"""rule -o"""\nx = 1  # rule -o\ndef f():\n    "rule -o"\n') & {"rule", "-o"}
