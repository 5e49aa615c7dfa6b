"""One slip of the finger: what is said of each example with one token or one character changed.

The measure of the language reference: no crash; one fault for 80 % of the edits that break something, at most two for
98 %; with a fault in each of two blocks, both reported in 99 %.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.source import Source
from tests.compiling import load
from tests.shared import ROOT

EXAMPLES = {path.stem: path.read_text() for path in sorted((ROOT / "examples").glob("*.plan")) if path.stem != "broken"}
TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.-]*|[0-9][\w.%]*|\S')


def _found(text: str) -> list[Diagnostic]:
    analysis = analyse((Source(str(ROOT / "examples" / "edited.plan"), text),), load)
    return [found for found in analysis.diagnostics if found.severity is not Severity.INFO]


def _edits(text: str) -> Iterator[str]:
    """The text with one token deleted or doubled, or one character deleted or replaced; comments are left alone."""
    bare = re.sub(r"#[^\n]*", lambda match: " " * len(match[0]), text)
    for token in TOKEN.finditer(bare):
        yield text[: token.start()] + text[token.end() :]
        yield text[: token.end()] + " " + token[0] + text[token.end() :]
    for at, character in enumerate(bare):
        if not character.isspace():
            yield text[:at] + text[at + 1 :]
            yield text[:at] + "%" + text[at + 1 :]


@pytest.mark.parametrize("example", ["cluster-eu", "finetune-8b", "pretrain-70b"])
def test_one_edit_draws_one_fault(example: str) -> None:
    assert _found(EXAMPLES[example]) == []
    counts = Counter(len(_found(edited)) for edited in _edits(EXAMPLES[example]))
    broken = sum(number for faults, number in counts.items() if faults)
    assert 0.80 <= counts[1] / broken, counts
    assert 0.98 <= (counts[1] + counts[2]) / broken, counts


def test_a_fault_in_each_of_two_blocks_is_reported_twice() -> None:
    rng = random.Random(5)
    first = "gpu card { memory = 80 GiB  bf16 = true }\n"
    second = "model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }\n"
    both = tried = 0
    while tried < 400:
        one, two = (rng.choice(list(_edits(block))) for block in (first, second))
        places = (0 < len(_found(one)), 0 < len(_found(two)))
        if not all(places):
            continue
        tried += 1
        lines = {found.primary.span.line for found in _found(one + two)}
        both += lines >= {1, 2}
    assert 0.99 <= both / tried
