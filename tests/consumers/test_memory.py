"""Model states and peak of FSDP2 against PyTorch's own memory tracker, on stand-ins for clusters and tensors.

Models have few of their layers, since the terms are those of a layer and of the ends; the peak is now the loss, now the
backward pass of a layer, now the reduction of what embedding and output layer gather. `tests/facts/test_tracked.py` has
whole models.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.consumers.running import needs
from tests.consumers.tracker import LAYOUTS, case_of, facts, tracked

pytestmark = [pytest.mark.consumer, pytest.mark.slow, needs("torch")]

LAYERS = {"1b": 4, "8b": 4, "70b": 3, "13b": 4}
LONG, SHORT = 4096, 512

CASES = [
    *((model, layout, again, LONG) for model in ("1b", "8b", "70b") for layout in LAYOUTS for again in (False, True)),
    ("13b", "fsdp", False, LONG),
    ("13b", "hsdp", True, LONG),
    ("8b", "fsdp", False, SHORT),
    ("8b", "hsdp", True, SHORT),
    ("8b", "tensor", True, SHORT),
]


def shortened(case: tuple[str, str, bool, int]) -> dict[str, Any]:
    return case_of(*case) | {"layers": LAYERS[case[0]]}


@cache
def answers() -> dict[tuple[str, str, bool, int], dict[str, Any]]:
    """What the tracker says of every case."""
    return dict(zip(CASES, tracked(list(map(shortened, CASES)), 900), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_states_and_peak_are_those_of_the_tracker(case: tuple[str, str, bool, int]) -> None:
    theirs, ours = answers()[case], facts(shortened(case))
    states = theirs["weights"] + theirs["gradients"] + theirs["optimizer"]
    assert ours["memory.states"] == pytest.approx(states, rel=1e-3)
    assert ours["memory.peak"] == pytest.approx(theirs["peak"], rel=0.05), theirs["parts"]
