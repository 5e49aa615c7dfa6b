"""What a fact is: a number derived from the plan, by a formula that can be shown.

The formula's docstring is its evidence: `explain` prints its `Formula:`, `Source:` and `Assumes:` lines, so the text
that a person reads stands beside the code that it describes. Formulas use `+ - *` and `arithmetic.py`, which numpy arrays
understand too, so that one function serves one plan and a million layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """A derived number: its path (as policies read it), unit, formula, and the paths of the formula's inputs.

    unit: `ranks`, `samples`, `tokens`, `parameters`, `layers`, `bytes`, `bytes/s`, `FLOP`, `FLOP/s`,
        `tokens/s`, `s`, `steps`, `GPU s` (seconds summed over cards), `J`, `money` (an amount, which holds its currency),
        `share`, `count`, or `word`.
    inputs: fields of the plan, other facts, or `engine.NAME`; given to the formula in this order. An input that is
        unknown makes the fact unknown, unless its path ends in `?`, which passes None for what is merely not set, or in
        `~`, which passes None for whatever is not known. One that ends in `[]` passes the values of all judged stages
        of the pipeline, a tuple.
    """

    path: str
    unit: str
    formula: Callable[..., Any]
    inputs: tuple[str, ...]


def path_of(given: str) -> str:
    """The path of a field or fact that an input names, without what says how it is passed."""
    return given.rstrip("?~").removesuffix("[]")
