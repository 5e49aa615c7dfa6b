"""Predictions beside measurements, criterion by criterion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

from planc.facts.facts import Facts
from planc.plan.model import Unknown
from tests.accuracy import measures
from tests.accuracy.case import FITS, MEMORY, RANK, Case
from tests.accuracy.cases import betrayed, cases, evaluate, predict, predict_memory
from tests.accuracy.criteria import Criterion
from tests.accuracy.split import is_fitted

#: Rows that a group has to have for its order to say something: runs of one layout differ by 13 % among themselves.
_ROWS_TO_ORDER = 10


class Comparison(NamedTuple):
    """The measured rows of a criterion, with what is predicted of them; `num_rows` counts all rows of its tables."""

    criterion: Criterion
    cases: tuple[Case, ...]
    predicted: Any
    measured: Any
    num_rows: int


class Figures(NamedTuple):
    """How near predictions come on some rows: as many numbers as the criterion's target has, of `num_rows` rows."""

    values: tuple[float, ...]
    num_rows: int


@cache
def compare(criterion: Criterion) -> Comparison:
    """Every measured row of a criterion; what is unknown is predicted as NaN."""
    found = [case for table in criterion.tables for case in _resolved(table)]
    chosen = tuple(
        case
        for case in found
        if not case.unusable and _measurement(case, criterion.kind) is not None and criterion.chosen(case)
    )
    measured = numpy.array([float(_measurement(case, criterion.kind) or 0) for case in chosen])
    return Comparison(criterion, chosen, _prediction(chosen, criterion.kind), measured, len(found))


def unfiltered(comparison: Comparison) -> Figures:
    """The figures of all rows that were measured and could be predicted."""
    return _figures(comparison, [True] * len(comparison.cases))


def filtered(comparison: Comparison) -> Figures:
    """The figures without the rows that the notes' tests leave out."""
    return _figures(comparison, [_is_kept(comparison, case) for case in comparison.cases])


def fitted(comparison: Comparison) -> Figures:
    """The filtered figures of the models that constants may be fitted on."""
    return _figures(comparison, [_is_kept(comparison, case) and is_fitted(case.family) for case in comparison.cases])


def judged(comparison: Comparison) -> Figures:
    """The filtered figures of the models that no constant is fitted on."""
    return _figures(
        comparison, [_is_kept(comparison, case) and not is_fitted(case.family) for case in comparison.cases]
    )


def num_unknown(comparison: Comparison) -> int:
    """Measured rows of which nothing can be predicted."""
    return int(numpy.isnan(comparison.predicted).sum())


def errors(comparison: Comparison) -> Any:
    """Relative errors, row by row."""
    return measures.relative_errors(comparison.predicted, comparison.measured)


def _is_kept(comparison: Comparison, case: Case) -> bool:
    return comparison.criterion.kind not in case.left_out


@cache
def _resolved(table: str) -> tuple[Case, ...]:
    """The cases of a table, each in the mode in which it ran as far as its memory tells."""
    found = cases(table)
    return betrayed(found) if any(case.other for case in found) else found


def _measurement(case: Case, kind: str) -> float | None:
    if kind == FITS:
        return case.fits
    return case.memory if kind == MEMORY else case.seconds


def _prediction(chosen: Sequence[Case], kind: str) -> Any:
    if kind == MEMORY:
        return predict_memory(chosen)
    if kind == FITS:
        return _fitting(chosen)
    return predict(chosen, "step.time")


def _fitting(chosen: Sequence[Case]) -> Any:
    """Whether each case is predicted to fit the card: where two plans may have been run, it is enough if one does."""
    first = [case._replace(given={**case.given, **dict.fromkeys(case.other, False)}) for case in chosen]
    second = [case._replace(given={**case.given, **case.other}) for case in chosen]
    share = numpy.minimum(evaluate(first, _filled), evaluate(second, _filled))
    return numpy.where(numpy.isnan(share), numpy.nan, share <= 1)


def _filled(facts: Facts) -> Any:
    """Share of the card that the fullest stage needs."""
    needed, capacity = facts["memory.total"], facts["memory.capacity"]
    if isinstance(needed, Unknown):
        return needed
    return capacity if isinstance(capacity, Unknown) else needed / capacity


def _figures(comparison: Comparison, kept: Sequence[bool]) -> Figures:
    known = numpy.array(kept, dtype=bool) & ~numpy.isnan(comparison.predicted)
    predicted, measured = comparison.predicted[known], comparison.measured[known]
    criterion = comparison.criterion
    if criterion.kind == FITS:
        both = len(set(measured)) == 2
        values = (measures.balanced_accuracy(predicted, measured) if both else numpy.nan,)
    elif criterion.kind == RANK:
        groups = [case.group for case, is_known in zip(comparison.cases, known, strict=True) if is_known]
        found = list(measures.rank_correlations(predicted, measured, groups, _ROWS_TO_ORDER).values())
        values = (float(numpy.median(found)), min(found)) if found else (numpy.nan, numpy.nan)
    elif criterion.is_mean:
        values = (measures.mean(predicted / measured - 1),)
    else:
        values = measures.median_and_tail(predicted / measured - 1)
    return Figures(values, int(known.sum()))
