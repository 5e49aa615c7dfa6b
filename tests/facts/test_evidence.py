"""What is told of a formula is all that it takes to do its sum again: each constant with its value."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from planc.facts import collectives, constants
from planc.facts.constants import Constant
from planc.facts.evidence import constant_text, evidence_of, named_in
from planc.facts.facts import FACTS

CONSTANTS = {name: value for name, value in vars(constants).items() if isinstance(value, Constant)}

#: Constants that only tests read.
UNREAD = {"WORKSPACE_BYTES"}


def read_by(formula: Callable[..., Any]) -> set[str]:
    """The constants that the code of a formula names, and that of the functions of planc which it calls."""
    found: set[str] = set()
    waiting: list[Any] = [formula]
    seen: set[Any] = set()
    while waiting:
        function = waiting.pop()
        function = getattr(function, "__wrapped__", function)
        if function in seen:
            continue
        seen.add(function)
        named = set(function.__code__.co_names)
        found |= named & set(CONSTANTS)
        values = (function.__globals__.get(name) for name in named)
        waiting.extend(
            value for value in values if isinstance(value, FunctionType) and value.__module__.startswith("planc.facts.")
        )
    return found


def formula_of(docstring: str | None) -> str:
    """The text behind `Formula:` as it is written."""
    return (docstring or "").partition("Formula:")[2].partition("Source:")[0]


@pytest.mark.parametrize("path", FACTS)
def test_a_formula_names_the_constants_that_it_reads(path: str) -> None:
    formula = FACTS[path].formula
    named = {name for name in named_in(formula_of(formula.__doc__)) if name.isupper()}
    assert named == read_by(formula)


def test_every_constant_is_read_by_some_formula() -> None:
    read = {name for fact in FACTS.values() for name in read_by(fact.formula)}
    assert set(CONSTANTS) - read == UNREAD
    assert len(read) > 30


def test_the_values_stand_in_the_formula() -> None:
    evidence = evidence_of(FACTS["kernel.matmul_rate"].formula.__doc__)
    for name in ("MATMUL_SHARE_AMPERE", "MATMUL_SHARE", "NARROW_SHARE"):
        text = constant_text(CONSTANTS[name])
        assert f"x {text}" in evidence.formula
        assert any(line.startswith(f"{text} = {name}: share ") for line in evidence.where)
    shown = [text for fact in FACTS.values() for text in evidence_of(fact.formula.__doc__)]
    assert not any("{" in text for text in shown)


def test_a_function_is_told_with_its_formula_and_what_that_names() -> None:
    where = evidence_of(FACTS["communication.shard.time"].formula.__doc__).where
    heads = [line.partition(" = ")[0] for line in where]
    assert heads[:2] == ["scatter_time", "ring_time"]
    assert constant_text(CONSTANTS["HOP_TIME"]) in heads
    assert len(heads) == len(set(heads))
    assert all(callable(getattr(collectives, head)) for head in heads if head.endswith("_time"))


def test_a_sum_done_by_hand_gives_the_number() -> None:
    # 2 T N / rate + traffic of T (h + h + 4 h between) + N numbers of 2 bytes, hidden 1000, as the docstring says it
    formula = FACTS["layer.projections"].formula
    tokens, hidden, rate, memory = 4096, 1000, 4e14, 2e12
    weights = 4 * hidden * hidden
    found = formula(tokens, 2, weights, hidden, 10, 10, 100, "gqa", None, None, None, 1, rate, memory)
    share = float(constant_text(CONSTANTS["MATMUL_TRAFFIC"]))
    moved = weights + tokens * (2 * hidden + 4 * hidden)
    assert found == pytest.approx(2 * tokens * weights / rate + share * 2 * moved / memory, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.008973, "s", "8.973 ms"), (3e-6, "s", "3 us"), (768 * 2**20, "bytes", "768 MiB"), (25e6, "bytes", "25 MB"),
        (10.42, "bytes", "10.42"), (0.5, "share", "0.5"), (1e10, "parameters/s", "10000000000"),
    ],
)  # fmt: skip
def test_a_constant_is_written_as_a_sum_has_it(value: float, unit: str, text: str) -> None:
    assert constant_text(Constant(value, unit, "", "")) == text
