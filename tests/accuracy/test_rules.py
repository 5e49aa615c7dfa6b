"""What the rules about memory say of measured layouts: none that fitted is an error, most that did not are."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from planc.facts.facts import Facts
from planc.plan.model import Unknown
from planc.rules._memory import certain_peak
from tests.accuracy.cases import Case, betrayed, cases, evaluate
from tests.shared import SHARED

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the shared facts do not lie beside the checkout")

#: Rows that fitted and are called an error, of tables that state no recomputation and no offloading of theirs.
UNSTATED = {"06a_nemo_bridge_perf": 2}


def is_too_small(facts: Facts) -> Any:
    """Whether PLN301 or PLN304 calls the card too small."""
    least, states, capacity = certain_peak(facts), facts["memory.states"], facts["memory.capacity"]
    if isinstance(least, Unknown) or isinstance(capacity, Unknown):
        return numpy.nan
    return (least > capacity) | (states > capacity)


def usable(table: str) -> tuple[Case, ...]:
    found = tuple(case for case in cases(table) if not case.unusable)
    return betrayed(found) if any(case.other for case in found) else found


@pytest.mark.parametrize(
    "table",
    [
        "03b_megatron_sc21_table2", "05_torchtitan", "06a_nemo_bridge_perf", "06c_dgxc_benchmarking",
        "10a_ultrascale_configs", "11_bigscience_bloom_topologies", "12_mosaic_fsdp", "13_megatron_golden_memory",
        "16_zero_bubble", "17_vtrain_multi",
    ],
)  # fmt: skip
def test_no_layout_that_fitted_is_an_error(table):
    chosen = [case for case in usable(table) if case.fits is not False]
    called = evaluate(chosen, is_too_small)
    assert 10 <= len(chosen)
    wrong = [case.row for case, said in zip(chosen, called, strict=True) if said == 1]
    assert len(wrong) <= UNSTATED.get(table, 0), wrong


def test_most_layouts_that_crashed_are_errors():
    """A tenth of the rows crashed far below the card's memory, for other reasons."""
    chosen = [case for case in usable("10a_ultrascale_configs") if case.fits is False]
    assert 0.78 <= numpy.nanmean(evaluate(chosen, is_too_small))
