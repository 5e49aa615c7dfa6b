"""The cost model comes no farther from what was measured than it has come, and no row is lost on the way."""

from __future__ import annotations

from importlib import import_module

import numpy
import pytest

from tests.accuracy import measures
from tests.accuracy.case import FITS, MEMORY, RANK, TIME, each
from tests.accuracy.cases import betrayed, cases, predict, tables
from tests.accuracy.comparison import compare, num_unknown
from tests.accuracy.criteria import CRITERIA
from tests.accuracy.exact import EXACT
from tests.accuracy.recorded import key, reached, recorded
from tests.accuracy.report import residuals, summary
from tests.accuracy.split import FIT, is_fitted
from tests.shared import shared

#: How much worse than recorded a figure may be: errors by a share of themselves, shares and correlations by so much.
_MARGIN = 0.1
_MARGIN_OF_SHARES = 0.01


@pytest.fixture(autouse=True)
def _tables() -> None:
    shared("facts/tables")


@pytest.mark.parametrize("criterion", CRITERIA, ids=key)
def test_no_figure_is_worse_than_recorded(criterion):
    now, then = reached(compare(criterion)), recorded()[key(criterion)]
    assert len(now.values) == len(then.values)
    for value, bound in zip(now.values, then.values, strict=True):
        if criterion.kind in (FITS, RANK):
            assert bound - _MARGIN_OF_SHARES <= value
        else:
            assert value <= bound * (1 + _MARGIN)


@pytest.mark.parametrize("criterion", CRITERIA, ids=key)
def test_no_row_vanishes(criterion):
    now, then = reached(compare(criterion)), recorded()[key(criterion)]
    if now.num_rows == then.num_rows:
        assert (now.num_filtered, now.num_measured) == (then.num_filtered, then.num_measured)
    else:  # the tables have other rows than those that were recorded
        assert then.num_filtered / then.num_rows - 0.1 <= now.num_filtered / now.num_rows


def test_every_measured_row_is_predicted():
    assert {key(criterion): unknown for criterion in CRITERIA if (unknown := num_unknown(compare(criterion)))} == {}


@pytest.mark.parametrize("exact", EXACT, ids=lambda exact: exact.name)
def test_tables_that_have_to_be_exact(exact):
    getattr(import_module(exact.module), exact.function)(*exact.arguments)


def test_both_halves_have_rows_of_every_criterion_that_has_to_be_reached():
    for criterion in CRITERIA:
        families = {case.family for case in compare(criterion).cases}
        if 1 < len(families) and criterion.target:
            assert {is_fitted(family) for family in families} == {True, False}, (criterion.name, families)


def test_every_model_that_is_fitted_on_is_in_a_table():
    assert FIT <= {case.family for table in tables() for case in cases(table)}


def test_rows_are_the_plans_that_they_say():
    """A row of each sort, read by hand."""
    nanotron = next(case for case in cases("10a_ultrascale_configs") if case.row == "3")
    assert nanotron.given["parallel.pipeline"] == 2
    assert (nanotron.given["parallel.data"], nanotron.given["batch.accumulation"]) == (4, 16)
    assert nanotron.memory == 41.8 * 2**30
    assert nanotron.seconds == pytest.approx(256 * 4096 / 311_156)
    bloom = next(case for case in cases("11_bigscience_bloom_topologies") if case.row == "145")
    assert bloom.given["pipeline.loss_as_layer"]
    assert (bloom.given["precision"], bloom.given["batch.accumulation"], bloom.memory) == ("bf16", 128, 52e9)
    zero_bubble = cases("16_zero_bubble")[1]
    assert (zero_bubble.given["pipeline"], zero_bubble.given["pipeline.chunks"]) == ("interleaved", 3)
    assert zero_bubble.seconds == pytest.approx(144 / (13.1 * 8))


def test_models_have_the_parameters_that_their_tables_count():
    for table, column in (("10a_ultrascale_configs", "params"), ("12_mosaic_fsdp", "params_formula")):
        counted = [int(row[column]) for row in import_module("tests.accuracy.case").rows(table)]
        # The sweep's count leaves the norms out.
        assert predict(cases(table), "model.total_parameters") == pytest.approx(counted, rel=2e-3)


def test_the_mode_of_a_row_is_that_whose_memory_is_nearer():
    chosen = [case for case in cases("10a_ultrascale_configs") if case.memory and case.other][:40]
    modes = {case.given["parallel.sequence"] for case in betrayed(chosen)}
    assert modes == {True, False}
    assert not any(case.given["parallel.sequence"] for case in chosen)


def test_a_row_that_cannot_be_read_says_so():
    found = each(({"row_id": "x:7", "model": "m"},), "table", lambda row: row["seq"])  # type: ignore[arg-type, return-value]
    assert found[0].unusable == "not read: KeyError 'seq'"
    assert (found[0].row, found[0].family) == ("x:7", "m")


def test_no_row_of_the_tables_is_unread():
    assert [case for table in tables() for case in cases(table) if case.unusable.startswith("not read")] == []


def test_filters_name_their_comparison():
    for table in tables():
        for case in cases(table):
            assert set(case.left_out) <= {MEMORY, TIME, RANK, FITS}


def test_the_printed_table_names_every_criterion():
    text = "\n".join(summary())
    assert all(criterion.name in text for criterion in CRITERIA)
    assert "NOT EXACT" not in text


def test_residuals_are_sorted_by_what_they_are_off():
    lines = list(residuals("16_zero_bubble"))
    assert len(lines) == 2 * 36 + 2
    off = [abs(float(line.partition(" % ")[0].split()[-1])) for line in lines[1:37]]
    assert off == sorted(off)


def test_rank_correlation():
    assert measures.rank_correlation(numpy.array([1.0, 2.0, 3.0]), numpy.array([10.0, 20.0, 15.0])) == pytest.approx(
        0.5
    )
    assert measures.rank_correlation(numpy.array([1.0, 1.0, 2.0]), numpy.array([1.0, 1.0, 5.0])) == pytest.approx(1)
    groups = measures.rank_correlations(numpy.arange(5.0), numpy.arange(5.0)[::-1], list("aaabb"), 3)
    assert groups == {"a": pytest.approx(-1)}


def test_balanced_accuracy():
    measured = numpy.array([True, True, True, False])
    assert measures.balanced_accuracy(numpy.array([True, True, False, False]), measured) == pytest.approx(5 / 6)
