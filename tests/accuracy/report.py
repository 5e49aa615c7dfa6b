"""The accuracy of the cost model as text: one line a criterion, or one line a row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy

from tests.accuracy.case import FITS, MEMORY, RANK, Case, rows
from tests.accuracy.cases import cases
from tests.accuracy.comparison import (
    Comparison,
    Figures,
    compare,
    errors,
    filtered,
    fitted,
    judged,
    num_unknown,
    unfiltered,
)
from tests.accuracy.criteria import CRITERIA, Criterion
from tests.accuracy.exact import judgements
from tests.accuracy.oracles import tracker_lines
from tests.accuracy.split import is_fitted

_TITLES = {
    MEMORY: "memory of a card: median / 90th percentile of |error|",
    FITS: "fits or not: balanced accuracy",
    "time": "time of a step: median / 90th percentile of |error|, or their mean",
    RANK: "order of layouts by time, within a model and number of cards: Spearman's median / worst",
}

#: Fields that stand in a row's line, unless they are 1.
_SIZES = {
    "t": "parallel.tensor", "p": "parallel.pipeline", "d": "parallel.data", "c": "parallel.context",
    "e": "parallel.expert", "m": "batch.accumulation", "v": "pipeline.chunks",
}  # fmt: skip

#: Fields by which the worst kind of row is looked for.
_KINDS = (
    "family", "parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.expert", "parallel.sequence",
    "shard.stage", "batch.micro", "batch.sequence_length", "pipeline", "pipeline.limit", "recompute", "precision",
    "cluster.nodes",
    "cluster.gpu.memory", "model.hidden", "model.layers",
)  # fmt: skip

#: Rows that a kind of row has to have to be called one.
_ROWS_OF_A_KIND = 3


def summary() -> Iterator[str]:
    """The lines of the whole table."""
    kind = ""
    for criterion in CRITERIA:
        if criterion.kind != kind:
            kind = criterion.kind
            yield ""
            yield _TITLES[kind]
            yield _line("", "all rows", "rows", "filtered", "rows", "fit half", "judged half", "target", "")
        yield _criterion_line(compare(criterion))
        worst = _worst(compare(criterion))
        if worst:
            yield f"    worst: {worst}"
    yield ""
    yield "exact: every cell to its last printed digit"
    for exact, fault in judgements():
        yield f"  {exact.name:28}{len(rows(exact.table)):5} rows  {f'NOT EXACT: {fault}' if fault else 'exact'}"
    yield ""
    yield from tracker_lines()
    yield ""
    yield from _left_out()


def residuals(table: str) -> Iterator[str]:
    """A line for every row of a table, for each criterion that it takes part in, the worst last."""
    for criterion in CRITERIA:
        if table not in criterion.tables or criterion.kind in (FITS, RANK):
            continue
        comparison = compare(criterion)
        yield f"{criterion.name}, {criterion.kind}: row, family, predicted, measured, error, plan"
        found = errors(comparison)
        for index in numpy.argsort(numpy.nan_to_num(numpy.abs(found), nan=numpy.inf)):
            yield _row_line(comparison, int(index), float(found[index]))


def is_reached(criterion: Criterion, figures: Figures) -> bool:
    """Whether the figures are as good as the target."""
    if any(map(numpy.isnan, figures.values)):
        return False
    pairs = zip(figures.values, criterion.target, strict=False)
    if criterion.kind in (FITS, RANK):
        return all(target <= value for value, target in pairs)
    return all(value <= target for value, target in pairs)


def shown(criterion: Criterion, values: tuple[float, ...]) -> str:
    """Figures as they are printed: per cent, or correlations."""
    if criterion.kind == RANK:
        return " / ".join(f"{value:.2f}" for value in values)
    return ("mean " if criterion.is_mean else "") + " / ".join(f"{100 * value:.1f}" for value in values)


def _criterion_line(comparison: Comparison) -> str:
    criterion = comparison.criterion
    everything, kept = unfiltered(comparison), filtered(comparison)
    verdict = "" if not criterion.target else "reached" if is_reached(criterion, kept) else "NOT REACHED"
    if num_unknown(comparison):
        verdict += f" ({num_unknown(comparison)} unknown)"
    halves = (shown(criterion, part(comparison).values) for part in (fitted, judged))
    target = shown(criterion, criterion.target) if criterion.target else "reported"
    return _line(
        criterion.name, shown(criterion, everything.values), f"{everything.num_rows} of {comparison.num_rows}",
        shown(criterion, kept.values), str(kept.num_rows), *halves, target, verdict,
    )  # fmt: skip


def _line(name: str, *cells: str) -> str:
    widths = (14, 13, 14, 5, 14, 14, 14, 0)
    return f"  {name:28}" + "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _worst(comparison: Comparison) -> str:
    """The kind of row that is farthest off in the filtered figures."""
    if comparison.criterion.kind in (FITS, RANK):
        return ""
    found: dict[tuple[str, Any], list[float]] = defaultdict(list)
    for case, error in zip(comparison.cases, errors(comparison), strict=True):
        if comparison.criterion.kind not in case.left_out and not numpy.isnan(error):
            for name in _KINDS:
                value = case.family if name == "family" else case.given.get(name)
                if value is not None:
                    found[name, value].append(float(error))
    kinds = [(numpy.median(numpy.abs(rows)), kind) for kind, rows in found.items() if _ROWS_OF_A_KIND <= len(rows)]
    if not kinds:
        return ""
    _, (name, value) = max(kinds, key=lambda kind: float(kind[0]))
    those = found[name, value]
    return f"{name} {value}, {len(those)} rows, median error {100 * numpy.median(those):+.1f} %"


def _row_line(comparison: Comparison, index: int, error: float) -> str:
    case, kind = comparison.cases[index], comparison.criterion.kind
    scale, unit = (2**30, "GiB") if kind == MEMORY else (1, "s")
    predicted, measured = comparison.predicted[index] / scale, comparison.measured[index] / scale
    half = "fit" if is_fitted(case.family) else "judged"
    reason = f"; left out: {case.left_out[kind]}" if kind in case.left_out else ""
    figures = f"{predicted:9.3f} {measured:9.3f} {unit:3} {100 * error:+7.1f} %"
    return f"{case.row:>5} {case.family:18} {half:6} {figures}  {_plan(case)}{reason}"


def _plan(case: Case) -> str:
    """The layout of a case in a few words."""
    given = case.given
    sizes = " ".join(f"{letter}{given[path]}" for letter, path in _SIZES.items() if given.get(path, 1) != 1)
    words = " ".join(str(given[path]) for path in ("precision", "recompute", "pipeline") if path in given)
    marks = f"{' sequence' if given.get('parallel.sequence') else ''}{' plain' if case.is_plain else ''}"
    return f"{sizes} zero{given.get('shard.stage', 0)} micro {given['batch.micro']} {words}{marks}".strip()


def _left_out() -> Iterator[str]:
    """Why rows of each table are no plans, or are left out of filtered figures, and how many."""
    yield "rows left out"
    for table in dict.fromkeys(table for criterion in CRITERIA for table in criterion.tables):
        found = cases(table)
        counts = Counter(f"unusable: {case.unusable}" for case in found if case.unusable)
        counts.update(f"{kind}: {reason}" for case in found for kind, reason in case.left_out.items())
        for reason, count in counts.items():
            yield f"  {table}: {count} of {len(found)}, {reason}"
