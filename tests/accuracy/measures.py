"""How far predictions are from measurements: one number, or two, for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy


def relative_errors(predicted: Any, measured: Any) -> Any:
    """Predicted over measured, less 1."""
    return predicted / measured - 1


def median_and_tail(errors: Any) -> tuple[float, float]:
    """Median and 90th percentile of the absolute errors; NaN where there are none."""
    if not len(errors):
        return numpy.nan, numpy.nan
    return float(numpy.median(numpy.abs(errors))), float(numpy.quantile(numpy.abs(errors), 0.9))


def mean(errors: Any) -> float:
    """Mean of the absolute errors."""
    return float(numpy.mean(numpy.abs(errors))) if len(errors) else numpy.nan


def balanced_accuracy(predicted: Any, measured: Any) -> float:
    """Mean of the shares of the fitting and of the others that are told rightly."""
    shares = [numpy.mean(predicted[measured == answer] == answer) for answer in (True, False)]
    return float(numpy.mean(shares))


def rank_correlation(left: Any, right: Any) -> float:
    """Spearman's: the correlation of the ranks, equal values sharing theirs."""
    return float(numpy.corrcoef(_ranks(left), _ranks(right))[0, 1])


def _ranks(values: Any) -> Any:
    _, where, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    last = numpy.cumsum(counts)
    return (last - (counts - 1) / 2)[where]


def rank_correlations(predicted: Any, measured: Any, groups: Sequence[str], at_least: int) -> dict[str, float]:
    """Spearman's correlation within each group that has rows enough."""
    names = numpy.array(groups)
    found = {}
    for name in sorted(set(groups)):
        chosen = names == name
        if at_least <= chosen.sum():
            found[name] = rank_correlation(predicted[chosen], measured[chosen])
    return found
