"""Finds the constants of step times: `python -m tests.accuracy.fit` prints what to write into `constants.py`.

Only rows of the models that are fitted on (`split.py`) are used, without those that the notes leave out. Every
criterion weighs the same, however many rows it has. What is made small is the sum of log(predicted / measured), squared
near 0 and plain beyond about 10 %, so that single rows that nothing explains do not bend the constants; and a little of
how far each constant moves, in logarithms, from the value that the file has, for what no row decides.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy

from planc.facts import constants
from planc.facts.constants import Constant
from tests.accuracy.case import TIME, Case
from tests.accuracy.cases import betrayed, cases, predict
from tests.accuracy.criteria import CRITERIA
from tests.accuracy.split import is_fitted

_BEND = 0.1  # of a logarithm: errors beyond it count plainly
_STEP = 0.02  # of a logarithm, by which slopes are taken
_ROUNDS = 10
_STAY = 0.1  # weight of staying where the file is


def main(names: Sequence[str]) -> None:
    """Fits the named constants, all that are fitted on times if none is named."""
    chosen = list(names) or [name for name, value in vars(constants).items() if _is_of_times(value)]
    rows = _rows()
    start = _values(chosen)
    found = start.copy()
    for _ in range(_ROUNDS):
        found = _improved(chosen, rows, start, found)
    _set(chosen, found)
    for name, before, after in zip(chosen, numpy.exp(start), numpy.exp(found), strict=True):
        print(f"{name:32} {before:12.4g} -> {after:.4g}")


def _is_of_times(value: object) -> bool:
    return isinstance(value, Constant) and value.fitted_on == constants.FITTED_TIMES


def _rows() -> list[tuple[Case, ...]]:
    """The rows of each criterion that constants are fitted on."""
    found = []
    for criterion in CRITERIA:
        if criterion.kind == TIME and criterion.target:
            every = (case for table in criterion.tables for case in betrayed(cases(table)))
            found.append(
                tuple(case for case in every if not case.unusable and _counts(case) and criterion.chosen(case))
            )
    return [rows for rows in found if rows]


def _counts(case: Case) -> bool:
    measured = not case.unusable and case.seconds is not None
    return measured and is_fitted(case.family) and TIME not in case.left_out


def _values(names: Sequence[str]) -> numpy.ndarray:
    return numpy.log([getattr(constants, name).value for name in names])


def _set(names: Sequence[str], logarithms: numpy.ndarray) -> None:
    for name, value in zip(names, numpy.exp(logarithms), strict=True):
        setattr(constants, name, getattr(constants, name)._replace(value=float(value)))


def _residuals(names: Sequence[str], rows: Sequence[tuple[Case, ...]], at: numpy.ndarray) -> numpy.ndarray:
    """log(predicted / measured) of all rows, each divided by the root of the rows of its criterion."""
    _set(names, at)
    found = []
    for chosen in rows:
        measured = numpy.array([case.seconds for case in chosen])
        errors = numpy.log(predict(chosen, "step.time") / measured)
        found.append(numpy.nan_to_num(errors) / numpy.sqrt(len(chosen)))
    return numpy.concatenate(found)


def _scale(rows: Sequence[tuple[Case, ...]]) -> numpy.ndarray:
    return numpy.concatenate([numpy.full(len(chosen), numpy.sqrt(len(chosen))) for chosen in rows])


def _cost(residuals: numpy.ndarray, scale: numpy.ndarray, moved: numpy.ndarray) -> float:
    bent = _BEND * (numpy.sqrt(_BEND**2 + (residuals * scale) ** 2) - _BEND)
    return float((2 * bent / scale**2).sum() + ((_STAY * _BEND * moved) ** 2).sum())


def _improved(
    names: Sequence[str], rows: Sequence[tuple[Case, ...]], start: numpy.ndarray, at: numpy.ndarray
) -> numpy.ndarray:
    """One step of Gauss and Newton, with rows that are far off weighing less, as short as it has to be to help."""
    scale = _scale(rows)
    here = _residuals(names, rows, at)
    columns = []
    for index in range(len(names)):
        moved = at.copy()
        moved[index] += _STEP
        columns.append((_residuals(names, rows, moved) - here) / _STEP)
    slope = numpy.stack(columns, axis=1)
    weights = _BEND / numpy.sqrt(_BEND**2 + (here * scale) ** 2)
    pull = (_STAY * _BEND) ** 2
    left = slope.T @ (slope * weights[:, None]) + (pull + 1e-6) * numpy.eye(len(names))
    right = -slope.T @ (here * weights) + pull * (start - at)
    step = numpy.clip(numpy.linalg.solve(left, right), -0.5, 0.5)
    best = _cost(here, scale, at - start)
    for share in (1.0, 0.5, 0.25, 0.1):
        cost = _cost(_residuals(names, rows, at + share * step), scale, at + share * step - start)
        if cost < best:
            print(f"{best:.5f} -> {cost:.5f}", file=sys.stderr)
            return at + share * step
    return at


if __name__ == "__main__":
    main(sys.argv[1:])
