"""Whatever the text: formatting keeps what it says, each comment and what it speaks of, and is done after one time."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from planc.format.formatting import format_source, format_text
from planc.source import Source
from planc.syntax.parse import parse
from tests.analysis import analysis_of
from tests.format.sameness import check
from tests.format.texts import texts
from tests.shared import ROOT, SHARED
from tests.syntax.trees import blocks, printed

PATHS = sorted(
    path
    for folder in (ROOT / "examples", ROOT / "planc" / "catalogue", ROOT / "tests" / "rules", SHARED / "language")
    for path in folder.rglob("*.plan")
)
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PIECES = re.compile(r'#[^\n]*|"[^"\n]*"|[\w.-]+|\s+|.')

slowly = settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), phases=set(Phase) - {Phase.shrink}
)


@slowly
@given(texts())
def test_texts_of_the_grammar(text: str) -> None:
    assume(_is_sound(text))
    check(text)


@slowly
@given(st.lists(blocks, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_printed_trees_on_other_lines(trees: list[object], rng: random.Random) -> None:
    text = "\n".join(map(printed, trees))
    check(re.sub(r"\n", lambda _: rng.choice(("\n", "  ", "\n\n\n", " # c\n", "\r\n\t")), text))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if not _is_sound(text):
        assert format_text(text) is None
        return
    formatted = check(text)
    if path.parent.name == "language" or "use " in text:
        return
    before, after = analysis_of(text), analysis_of(formatted)
    assert [(found.code, found.message) for found in after.diagnostics] == [
        (found.code, found.message) for found in before.diagnostics
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_plans_in_pages(path: Path) -> None:
    for text in re.findall(r"^```planc?\n(.*?)^```$", path.read_text(encoding="utf-8"), re.S | re.M):
        if _is_sound(text):
            check(text)


@pytest.mark.parametrize("seed", range(20))
def test_mutated_files(seed: int) -> None:
    rng = random.Random(seed)
    sound = 0
    for _ in range(20):
        pieces = PIECES.findall(rng.choice(PATHS).read_text(encoding="utf-8"))
        for _ in range(rng.choice((1, 2, 4, 8))):
            at = rng.randrange(len(pieces))
            pieces[at] += rng.choice(("\n", "  ", " # c\n", "\n\n", "\t", "\r\n", ",", " # planc: allow a -- b\n"))
        text = "".join(pieces)
        if _is_sound(text):
            sound += 1
            check(text)
        else:
            assert format_text(text) is None
    assert sound


def test_what_cannot_be_read_is_said() -> None:
    formatted = format_source(Source("x", "plan p {\n  a = = 1\n}\n"))
    assert formatted.text is None
    assert [found.code for found in formatted.diagnostics] == ["PLN001"]


def test_a_layout_that_could_not_be_read_again_is_refused() -> None:
    bodies = "a{b{c{d=1}\n}\n}\n" * 5000
    formatted = format_source(Source("x", f"plan p{{{'{'.join(['a'] * 20)}{{{bodies}{'}' * 21}"))
    assert formatted.text is None
    assert [found.code for found in formatted.diagnostics] == ["PLN002"]


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    if _is_sound(text):
        check(text)
    else:
        assert format_text(text) is None


def _is_sound(text: str) -> bool:
    return not parse(Source("x", text)).diagnostics
