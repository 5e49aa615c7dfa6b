"""Nothing that is typed, whole or half, is a fault of planc: every question is asked in every state of a text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planc.commands.buffers import Buffers
from planc.editing.checking import Checker
from planc.editing.completion import complete
from planc.editing.hovering import hover
from planc.editing.names import renamed, targets_of, uses_of
from planc.editing.outlining import Symbol, folds, symbols
from planc.editing.positions import ENCODINGS, Positions
from planc.editing.subjects import subject_of
from planc.source import Source, Span
from tests.editing.edits import edited
from tests.shared import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.plan"))


def holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start <= inner.end <= outer.end


def check_symbol(symbol: Symbol) -> None:
    assert holds(symbol.span, symbol.name_span) and symbol.name
    for child in symbol.children:
        assert holds(symbol.span, child.span)
        check_symbol(child)


def ask(files: Buffers, checker: Checker, source: Source, offset: int) -> None:
    """Asks everything at an offset."""
    document, linked = checker.document(source), checker.linked(source)
    for item in complete(document, offset, linked, lambda: ("a.plan", "c.json"), files.load):
        assert item.beside is None or 0 <= item.beside[0] <= len(source.text)
        assert item.start <= offset and item.insert and item.label
    shown = hover(document, offset, linked, lambda file, key: subject_of(file, key, files.load))
    assert shown is None or (shown.span.start <= offset <= shown.span.end and shown.text)
    role = document.role_at(offset)
    for target in targets_of(role, linked) if role is not None else ():
        assert target.span.text.strip('"')
        places = [span for span, _ in uses_of(target, (linked,), checker.document)]
        assert document.span(role) in places
        edits = renamed(target, "another name", (linked,), checker.document)
        assert isinstance(edits, str) or [edit.span for edit in edits] == places


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_question_in_every_state(path: Path) -> None:
    chance = random.Random(path.stem)
    files = Buffers()
    checker = Checker(files.load)
    text = path.read_text(encoding="utf-8")
    starts = [text, text[: chance.randrange(len(text))], text[chance.randrange(len(text)) :]]
    for start in starts:
        for state in edited(start, chance, 12):
            source = files.open(str(path), state)
            document = checker.document(source)
            for symbol in symbols(document):
                check_symbol(symbol)
            assert all(0 <= fold.first < fold.last <= state.count("\n") for fold in folds(document))
            ends = [0, *(end for role in document.all_roles() for end in (role.start, role.end))]
            assert ends == sorted(ends)
            for _ in range(4):
                ask(files, checker, source, chance.randrange(len(state) + 1))
            checker.forget(source)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_go_there_and_back(encoding: str) -> None:
    positions = Positions(encoding)
    source = Source("", "a\U0001f680b\r\nc\u00e9\rd\u20ac\n\n\U0001f680")
    seen = set()
    for offset in range(len(source.text) + 1):
        line, character = positions.of(source, offset)
        back = positions.offset(source, line, character)
        assert back == offset or source.text[back:offset] == "\r"  # between the two marks of one line end
        seen.add((line, character))
    widths = {"utf-32": (1, 1, 1), "utf-16": (2, 1, 1), "utf-8": (4, 2, 3)}[encoding]
    assert {(0, 1 + widths[0] + 1), (1, 1 + widths[1]), (2, 1 + widths[2]), (3, 0), (4, widths[0])} <= seen
    assert positions.offset(source, 99, 0) == len(source.text)
    assert positions.offset(source, 0, 99) == 3 and positions.offset(source, -1, 0) == 0
