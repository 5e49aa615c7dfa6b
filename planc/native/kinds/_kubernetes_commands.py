"""What the containers of a job run, read as the shell reader reads scripts: each word at its place in the file.

The API fills in `$(NAME)` of variables that the container has, and makes `$` of `$$`; a shell in the container fills in
the rest (k8s.io/kubernetes, third_party/forked/golang/expansion).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planc.native.shell import values
from planc.native.shell.embedded import SHELL_GAP, Embedded
from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Command, Script
from planc.native.shell.reading import read_within
from planc.native.shell.scopes import Scope
from planc.native.shell.shells import text_for_shell
from planc.native.shell.values import Literal, Piece, Unknown, Word
from planc.native.tree import Entry, Map, Scalar, Seq
from planc.source import Span

_RUNS = re.compile(r"\s+|\S+")

#: What the format has between two words where the value has blanks; in double quotes they may be escaped.
_BLANKS, _ESCAPED_BLANKS = re.compile(r"\s*"), re.compile(r"(?:\s|\\[nt ]|\\\r?\n)*")

#: What the API fills in, and what a tool that fills in templates leaves.
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)|\{\{.*?\}\}")

#: A variable that nobody fills in where no shell reads the word.
_VARIABLE = re.compile(r"\$\{?\w+")

#: Code points of a word; what is longer was no command that a person wrote.
_LONGEST = 100_000


class Run(NamedTuple):
    """What a container runs: as a script of one command, and the launches in it."""

    script: Script
    launches: tuple[Launch, ...]


def run_of(container: Map) -> Run | None:
    """What a container is told to run; None if it is not told."""
    held = dict(_environment(container))
    scalars = [item for name in ("command", "args") for item in _scalars(container.find(name))]
    if not scalars:
        return None
    words = tuple(_word(scalar, held) for scalar in scalars)
    command = Command(words[0].span, words)
    text = text_for_shell(command)
    if text is not None:
        command = command._replace(inner=_inner(text, held))
    words = tuple(word if word is text else _as_given(word) for word in words)
    script = Script(container.span.source, commands=(command._replace(words=words),))
    return Run(script, launches(script))


def has_variable(container: Map, prefix: str) -> bool:
    """Whether a container may get a variable whose name begins so."""
    names = (_name(item) for item in _items(container.find("env")))
    return container.find("envFrom") is not None or any(name is None or name.startswith(prefix) for name in names)


def _inner(text: Word, held: Mapping[str, values.Scalar]) -> Script:
    """The script that a shell in the container gets, with the variables of the container."""
    source = Embedded(text.span, text.pieces, SHELL_GAP)
    scope = Scope()
    for name, value in held.items():
        scope.set(name, value)
        scope.exported.add(name)
    for gap, doubt in source.gaps.items():
        scope.set(gap[2:-1], values.Scalar((doubt,)))
    return read_within(source, scope)


def _environment(container: Map) -> Iterator[tuple[str, values.Scalar]]:
    """The variables of a container, those that only the cluster knows as well."""
    for item in _items(container.find("env")):
        name, value = _name(item), item.find("value")
        if name is None:
            continue
        scalar = value.value if value is not None and isinstance(value.value, Scalar) else None
        if scalar is not None and isinstance(scalar.value, str) and not _REFERENCE.search(scalar.value):
            yield name, values.Scalar(tuple(literals_of(scalar, scalar.value)))
        else:
            yield name, values.unknown("from the cluster", f"${name}", name)


def _items(entry: Entry | None) -> Iterator[Map]:
    items = entry.value.items if entry is not None and isinstance(entry.value, Seq) else ()
    return (item for item in items if isinstance(item, Map))


def _name(variable: Map) -> str | None:
    name = variable.value("name")
    return name if isinstance(name, str) and name.isidentifier() else None


def _scalars(entry: Entry | None) -> Iterator[Scalar]:
    """The words of a list; the API refuses numbers, of which the keys tell."""
    items = entry.value.items if entry is not None and isinstance(entry.value, Seq) else ()
    for item in items:
        if isinstance(item, Scalar) and not item.is_placeholder and not isinstance(item.value, bool):
            yield item


def _word(scalar: Scalar, held: Mapping[str, values.Scalar]) -> Word:
    """A word as the container gets it."""
    text = scalar.value if isinstance(scalar.value, str) else "" if scalar.value is None else scalar.span.text
    if _LONGEST < len(text):
        return Word(scalar.span, (Unknown("too long", "..."),))
    pieces = tuple(each for literal in literals_of(scalar, text) for each in _filled(literal, held))
    return Word(scalar.span, pieces)


def _as_given(word: Word) -> Word:
    """A word that no shell reads: what looks like a variable in it is for another tool to fill in."""
    if word.known is None or not _VARIABLE.search(word.known):
        return word
    return Word(word.span, (Unknown("no shell fills it in", word.known),))


def _filled(literal: Literal, held: Mapping[str, values.Scalar]) -> Iterator[Piece]:
    """A part of a word with what the API fills in."""
    at = 0
    for match in _REFERENCE.finditer(literal.text):
        name = match[1]
        if at < match.start():
            yield literal.part(at, match.start())
        if match[0] == "$$":
            yield Literal("$", literal.part(*match.span()).span)
        elif name in held:
            yield from held[name].pieces
        elif name is not None:  # a variable of the cluster's own, or none: then it stays, and a shell runs it
            yield Unknown("from the cluster", match[0])
        else:
            yield Unknown("filled in by a template", match[0])
        at = match.end()
    if at < len(literal.text):
        yield literal.part(at, len(literal.text))


def literals_of(scalar: Scalar, text: str) -> list[Literal]:
    """A value run by run, each at its place in the file, whatever quotes or indents it has there."""
    raw, base = scalar.span.text, scalar.span
    at = _start(raw, text)
    found: list[Literal] = []
    for match in _RUNS.finditer(text):
        end = _end(raw, at, match[0])
        if end is None:
            return [Literal(text, scalar.span)]
        found.append(Literal(match[0], Span(base.source, base.start + at, base.start + end)))
        at = end
    return found


def _start(raw: str, text: str) -> int:
    """Where a value begins: behind a quote, or in the first line of a block."""
    if raw[:1] not in ("|", ">"):
        return int(raw[:1] in ("'", '"'))
    at = raw.find("\n") + 1
    while at < len(raw) and raw[at].isspace() and not text[:1].isspace():
        at += 1
    return at


def _end(raw: str, at: int, run: str) -> int | None:
    """Where a run of a value ends in the text that stands for it; None if it is not there."""
    if run.isspace():
        between = (_ESCAPED_BLANKS if raw[:1] == '"' else _BLANKS).match(raw, at)
        end = between.end() if between is not None else at
        return end if at < end or at == len(raw) else None
    if raw.startswith(run, at):
        return at + len(run)
    for character in run:
        doubled = raw[at : at + 2]
        if doubled in ("''", f"\\{character}") and doubled[1:] == character:
            at += 2
        elif raw[at : at + 1] == character:
            at += 1
        else:
            return None
    return at
