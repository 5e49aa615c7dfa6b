"""Whatever the text: a tree that is printed is read as the same tree, and no text makes planc fail or hang."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planc.diagnostics.text import render
from planc.source import Source
from planc.syntax.parse import parse
from tests.analysis import analysis_of
from tests.shared import ROOT
from tests.syntax.trees import blocks, plain, printed

EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.plan"))]
CASES = EXAMPLES + [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "rules").glob("*/err*.plan"))]
PIECES = re.compile(r'#[^\n]*|"[^"\n]*"|[\w.-]+|\s+|.')


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(blocks, min_size=1, max_size=3))
def test_a_printed_tree_is_read_as_the_same_tree(trees: list[Any]) -> None:
    text = "\n".join(map(printed, trees)) + "\n"
    parsed = parse(Source("x", text))
    assert parsed.diagnostics == (), text
    assert list(map(plain, parsed.file.blocks)) == trees, text
    again = "\n".join(printed(plain(block)) for block in parsed.file.blocks) + "\n"
    assert again == text


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    _answer(text)


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_plan_is_answered(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        pieces = PIECES.findall(rng.choice(CASES))
        for _ in range(rng.choice((1, 1, 2, 4))):
            at = rng.randrange(len(pieces))
            pieces[at] = rng.choice(
                ("", pieces[at] * 2, rng.choice(pieces), "{", "}", "0", "1e99", "-", '"', "\0", "'")
            )
        _answer("".join(pieces))


def _answer(text: str) -> None:
    """Analyses a text and shows what is found; what is no plan at all draws a diagnostic."""
    started = time.process_time()
    analysis = analysis_of(text)
    for diagnostic in analysis.diagnostics:
        assert render(diagnostic, color=False).startswith(f"{diagnostic.severity.value}[{diagnostic.code}]: ")
    assert time.process_time() - started < 1
    bare = re.sub(r"#[^\n]*", "", text.removeprefix("\ufeff"))
    if bare.strip(" \t\r\n") and not re.search(r"\b(gpu|cluster|model|policy|plan|template|use|language)\b", bare):
        assert analysis.diagnostics
