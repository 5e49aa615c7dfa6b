"""What a run reported of itself, summed up: the last value of each metric, the extremes, and what was no number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from planc.evidence.canonical import number_text
from planc.measuring.series import Faulty

#: Metrics of one file; a name that changes with every line is no name of a metric.
MOST_METRICS = 10_000

#: Words in a metric's name that say which of its values is the best; of others the record names none.
_LOW = {"loss", "perplexity", "ppl", "nll", "error", "wer", "cer", "mse", "mae", "rmse", "bpb"}
_HIGH = {"accuracy", "acc", "f1", "bleu", "rouge", "rouge1", "rouge2", "rougel", "recall", "auc", "reward"}
#: Words with which a name speaks of something else, such as a loss scale.
_OTHER = {"scale", "scaling", "weight", "margin"}


class Value(NamedTuple):
    """A number that was reported for a step; None where the report names no step."""

    metric: str
    number: float
    step: int | None


class Metric(NamedTuple):
    """All values of one metric, summed up; of equal extremes the first.

    lowest, highest: of the finite values, None if there is none.
    first_not_finite: None if all are finite.
    """

    num_values: int
    final: Value
    lowest: Value | None
    highest: Value | None
    num_not_finite: int
    first_not_finite: Value | None


def summed_up(values: Iterable[Value]) -> dict[str, Metric]:
    """Each metric by its name, in the order of the names; of any number of values in the same memory."""
    found: dict[str, Metric] = {}
    for value in values:
        before = found.get(value.metric)
        if before is None and MOST_METRICS <= len(found):
            raise Faulty(0, f"it has more than {MOST_METRICS} metrics, so its lines are none of metrics")
        found[value.metric] = _first(value) if before is None else _and(before, value)
    return dict(sorted(found.items()))


def as_data(metric: str, found: Metric) -> dict[str, Any]:
    """A metric as the record has it."""
    data: dict[str, Any] = {"count": found.num_values, "final": _value(found.final)}
    if found.lowest is not None and found.highest is not None:
        data |= {"lowest": _value(found.lowest), "highest": _value(found.highest)}
        best = best_of(metric)
        if best:
            data["best"] = data[best]
    if found.first_not_finite is not None:
        data["not_finite"] = {"count": found.num_not_finite, "first": _value(found.first_not_finite)}
    return data


def best_of(metric: str) -> str:
    """Which value of a metric is its best, as far as the name tells: `lowest`, `highest`, or nothing."""
    words = set(re.findall("[a-z0-9]+", metric.lower()))
    if words & _OTHER or (words & _LOW and words & _HIGH):
        return ""
    return "lowest" if words & _LOW else "highest" if words & _HIGH else ""


def _first(value: Value) -> Metric:
    if math.isfinite(value.number):
        return Metric(1, value, value, value, 0, None)
    return Metric(1, value, None, None, 1, value)


def _and(before: Metric, value: Value) -> Metric:
    lowest, highest = before.lowest, before.highest
    num_not_finite, first = before.num_not_finite, before.first_not_finite
    if not math.isfinite(value.number):
        num_not_finite += 1
        first = first or value
    else:
        lowest = value if lowest is None or value.number < lowest.number else lowest
        highest = value if highest is None or highest.number < value.number else highest
    return Metric(before.num_values + 1, value, lowest, highest, num_not_finite, first)


def _value(value: Value) -> dict[str, Any]:
    number = value.number if math.isfinite(value.number) else number_text(value.number)
    return {"value": number} if value.step is None else {"value": number, "step": value.step}
