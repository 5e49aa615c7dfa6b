"""The measurements that the cost model is held against, and what it predicts of them.

How to use it, for instance to fit a constant:

    from tests.accuracy.cases import cases, predict, betrayed
    from tests.accuracy.split import is_fitted

    table = betrayed(cases("10a_ultrascale_configs"))  # of two tensor modes, that whose memory is nearer the measured
    rows = [case for case in table if case.seconds and is_fitted(case.family) and TIME not in case.left_out]
    seconds = predict(rows, "step.time")  # a numpy array, NaN where a number is unknown

`left_out` says for which comparison (`MEMORY`, `TIME`, `RANK`, `FITS` of `case.py`) a row is not in the filtered
figures, and why; `unusable` rows are no plans at all, and predict to NaN. All rows of one "shape of words" (engine,
precision, schedule, ...) are evaluated at once, as columns; `batches` gives them with their `Facts`, for whoever wants
several paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy

from planc.facts.constants import WORKSPACE_BYTES
from planc.facts.facts import Facts
from planc.plan.model import Unknown
from tests.accuracy.case import Case
from tests.facts.given import facts_of

#: Reader of each table: module of `readers/` and function.
_READERS: Mapping[str, tuple[str, str]] = {
    "03a_megatron_sc21_table1": ("sc21", "read_table_1"),
    "03b_megatron_sc21_table2": ("sc21", "read_table_2"),
    "05_torchtitan": ("torchtitan", "read"),
    "06a_nemo_bridge_perf": ("nemo", "read_bridge"),
    "06c_dgxc_benchmarking": ("nemo", "read_recipes"),
    "10a_ultrascale_configs": ("nanotron", "read"),
    "11_bigscience_bloom_topologies": ("bloom", "read"),
    "12_mosaic_fsdp": ("mosaic", "read"),
    "13_megatron_golden_memory": ("golden", "read_peak"),
    "13_megatron_golden_memory/allocated": ("golden", "read_allocated"),
    "14_internevo": ("internevo", "read"),
    "16_zero_bubble": ("zero_bubble", "read"),
    "17_vtrain_multi": ("vtrain", "read_multi"),
    "17_vtrain_single": ("vtrain", "read_single"),
}

#: Numbers of which formulas ask only whether there is one.
_ALIKE = ("model.dropout", "model.mtp_layers", "model.experts.shared", "model.experts.count")

Numbers = numpy.ndarray[Any, numpy.dtype[numpy.float64]]


class Batch(NamedTuple):
    """Cases that are evaluated at once: where they stand among all, and their facts, whose numbers are columns."""

    indices: tuple[int, ...]
    facts: Facts


def tables() -> tuple[str, ...]:
    """The tables that there are readers for."""
    return tuple(_READERS)


@cache
def cases(table: str) -> tuple[Case, ...]:
    """The cases of a table, one a row."""
    module, function = _READERS[table]
    return tuple(getattr(import_module(f"tests.accuracy.readers.{module}"), function)())


def batches(chosen: Sequence[Case]) -> tuple[Batch, ...]:
    """The usable cases, those alike in all but numbers together."""
    alike: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for index, case in enumerate(chosen):
        if not case.unusable:
            given = sorted(case.given.items())
            words = tuple((path, str(value) if _is_word(path, value) else "#") for path, value in given)
            alike[case.engine, case.is_plain, words].append(index)
    found = []
    for (engine, is_plain, _), indices in alike.items():
        columns = _columns([chosen[index] for index in indices])
        facts = facts_of(engine, **columns)
        if is_plain:
            # What a fused kernel keeps in place of the scores stands for what attention keeps of them.
            kept = facts["memory.layer_statistics"] + facts["memory.layer_scores"]
            facts = facts_of(engine, **columns, **{"memory.layer_statistics": kept, "kernel.attention": "plain"})
        found.append(Batch(tuple(indices), facts))
    return tuple(found)


def betrayed(chosen: Sequence[Case]) -> tuple[Case, ...]:
    """The cases, each as that of the two plans which may have been run whose memory is nearer to the measured."""
    one, two = list(chosen), [case._replace(given={**case.given, **case.other}) for case in chosen]
    measured = numpy.array([numpy.nan if case.memory is None else case.memory for case in chosen])
    farther = numpy.abs(predict_memory(one) - measured)
    nearer = numpy.abs(predict_memory(two) - measured)
    return tuple(two[index] if nearer[index] < farther[index] else one[index] for index in range(len(one)))


def predict(chosen: Sequence[Case], path: str) -> Numbers:
    """A fact of each case; NaN where it is unknown."""
    return evaluate(chosen, lambda facts: facts[path])


def predict_memory(chosen: Sequence[Case]) -> Numbers:
    """Bytes of each case, of the stage and the quantity that were measured; NaN where they are unknown."""
    found = numpy.full(len(chosen), numpy.nan)
    kinds = [(case.stage, case.quantity) for case in chosen]
    for measured in set(kinds):
        indices = [at for at, kind in enumerate(kinds) if kind == measured]
        found[indices] = evaluate([chosen[at] for at in indices], partial(_bytes, *measured))
    return found


def _bytes(stage: str, quantity: str, facts: Facts) -> Any:
    """Bytes of one stage of all cases of a batch; for the worst, of the stage whose total is the largest."""
    if stage == "worst":
        index = facts["memory.worst_stage"]
        if isinstance(index, Unknown):
            return index
    else:
        index = 0 if stage == "first" else facts["parallel.pipeline"] - 1
    view = facts.at_stage(index)
    if quantity == "total":
        return view["stage.total"]
    if quantity == "reserved":
        return view["stage.total"] - view["stage.context"] + WORKSPACE_BYTES.value
    return view[f"stage.{quantity}"] + WORKSPACE_BYTES.value


def evaluate(chosen: Sequence[Case], value: Callable[[Facts], Any]) -> Numbers:
    """A number of each case, worked out of its facts; NaN where it is unknown."""
    found = numpy.full(len(chosen), numpy.nan)
    for batch in batches(chosen):
        result = value(batch.facts)
        if not isinstance(result, Unknown):
            found[list(batch.indices)] = numpy.asarray(result, dtype=float)
    return found


def reasons(chosen: Sequence[Case], path: str) -> Mapping[str, int]:
    """Why a fact is unknown, and for how many cases."""
    found: dict[str, int] = defaultdict(int)
    for batch in batches(chosen):
        value = batch.facts[path]
        if isinstance(value, Unknown):
            found[value.reason] += len(batch.indices)
    return found


def _is_word(path: str, value: Any) -> bool:
    """Whether a value tells batches apart, rather than being a number of a column."""
    return path in _ALIKE or isinstance(value, (bool, str, tuple))


def _columns(chosen: Sequence[Case]) -> dict[str, Any]:
    """Each field of the cases: one value where all have the same, else a column."""
    found: dict[str, Any] = {}
    for path, first in chosen[0].given.items():
        values = [case.given[path] for case in chosen]
        if all(value == first for value in values):
            found[path] = first
        else:
            whole = all(isinstance(value, int) for value in values)
            found[path] = numpy.array([value if whole else float(value) for value in values])
    return found
