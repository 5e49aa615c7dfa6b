"""Measurements written down by hand or by a script: CSV with a head, or a JSON object a line.

Columns: `step_time`, `memory_allocated`, `memory_reserved` and `memory_used` are measured (at least one of them),
`step` numbers the steps of a run, `plan` and `engine` name what was run, and every other column is a path of the plan
that the row sets, such as `parallel.tensor`. An empty cell, null or a missing key says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import nearest
from planc.measuring.series import (
    ALLOCATED,
    LEAST_VALUE,
    MOST_VALUE,
    RESERVED,
    SECONDS,
    USED,
    Faulty,
    Peak,
    Point,
    Series,
    largest_peaks,
)  # fmt: skip
from planc.plan.quantities import amount
from planc.plan.schema import SECTIONS
from planc.plan.units import BYTES, PLAIN, TIME, Dimension, name_of
from planc.source import Source, Span
from planc.syntax.nodes import Number

#: Columns of memory, and what they count.
MEMORY = {"memory_allocated": ALLOCATED, "memory_reserved": RESERVED, "memory_used": USED}

#: Columns that mean something by themselves.
COLUMNS = ("plan", "engine", "step", "step_time", *MEMORY)

#: Layouts that one file may measure; each is analysed.
MAX_LAYOUTS = 1000

_PLAN_FIELDS = tuple(field.name for field in SECTIONS["plan"])


class _Layout(NamedTuple):
    """What the rows of one layout say."""

    points: list[Point]
    steps: list[bool]
    peaks: list[Peak]


def read_csv(name: str, lines: Iterable[tuple[int, str]]) -> tuple[Series, ...]:
    """The measurements of a CSV file, a series for each plan and set of fields; Faulty where one cannot be read."""
    import csv

    numbers: list[int] = []

    def texts() -> Iterator[str]:
        for number, text in lines:
            numbers[:] = [number]
            yield text

    reader = csv.reader(texts(), strict=True)
    try:
        head = next((row for row in reader if any(map(str.strip, row))), None)
        if head is None:
            raise Faulty(0, "the table is empty")
        names = [column.strip() for column in head]
        _check_head(names, numbers[0])

        def rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
            for row in reader:
                if not any(map(str.strip, row)):
                    continue
                if len(row) != len(names):
                    raise Faulty(numbers[0], f"the row has {len(row)} cells, the head {len(names)}")
                yield numbers[0], {column: cell.strip() for column, cell in zip(names, row, strict=True)}

        return _series(name, rows())
    except csv.Error as error:
        raise Faulty(numbers[0] if numbers else 0, f"the CSV cannot be read: {error}") from error


def read_jsonl(name: str, lines: Iterable[tuple[int, str]]) -> tuple[Series, ...]:
    """The measurements of a file with a JSON object in each line; Faulty where one cannot be read."""
    import json

    def rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, text in lines:
            if not text.strip():
                continue
            try:
                row = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            except (json.JSONDecodeError, RecursionError):
                raise Faulty(number, "the line is no JSON object") from None
            if not isinstance(row, dict):
                raise Faulty(number, "the line is no JSON object")
            for column, value in row.items():
                _check_column(column, number)
                if isinstance(value, dict | list):
                    raise Faulty(number, f"`{column[:40]}` is no single value")
            yield number, row

    return _series(name, rows())


def _series(name: str, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[Series, ...]:
    layouts: dict[tuple[str, str, tuple[str, ...]], _Layout] = {}
    for line, row in rows:
        given = {column: _text(value) for column, value in row.items() if value is not None and _text(value)}
        measured = [column for column in given if column == "step_time" or column in MEMORY]
        if not measured:
            raise Faulty(line, "the row measures nothing: it has no `step_time` and no memory")
        settings = tuple(f"{column}={value}" for column, value in given.items() if column not in COLUMNS)
        key = given.get("plan", ""), given.get("engine", ""), settings
        if key not in layouts and MAX_LAYOUTS <= len(layouts):
            raise Faulty(line, f"there are more than {MAX_LAYOUTS:,} layouts")
        layout = layouts.setdefault(key, _Layout([], [], []))
        for column in measured:
            value = _amount(given[column], TIME if column == "step_time" else BYTES, column, line)
            if column == "step_time":
                layout.points.append(Point(_steps_before(given.get("step"), line), value))
                layout.steps.append("step" in given)
            else:
                layout.peaks.append(Peak(MEMORY[column], value, None))
    if not layouts:
        raise Faulty(0, "the table has no row")
    return tuple(
        Series(
            name,
            "table",
            plan,
            settings,
            SECONDS,
            _from_first(each),
            all(each.steps),
            largest_peaks(each.peaks),
            engine,
        )
        for (plan, engine, settings), each in layouts.items()
    )


def _from_first(layout: _Layout) -> tuple[Point, ...]:
    """The points with their steps counted from the first that the table has: a run may go on from a checkpoint."""
    first = min((point.before for point in layout.points), default=0)
    return tuple(Point(point.before - first, point.value) for point in layout.points)


def _steps_before(step: str | None, line: int) -> int:
    if step is None:
        return 0
    if not step.isdecimal() or 15 < len(step):
        raise Faulty(line, f"`step` is no whole number: `{step[:40]}`")
    return int(step)


def _amount(text: str, dimension: Dimension, column: str, line: int) -> float:
    """Seconds or bytes, written with a unit of the language or without."""
    example = "`12.5` (seconds) or `350 ms`" if dimension == TIME else "`61.2 GiB`, or a number of bytes"
    found = amount(Number(Span(Source(column, text), 0, len(text)), text))
    if isinstance(found, Diagnostic):
        raise Faulty(line, f"`{column}` is `{text[:40]}`; write it as in {example}")
    if found.dimension not in (PLAIN, dimension):
        raise Faulty(line, f"`{column}` is {name_of(found.dimension)}: `{text[:40]}`; write it as in {example}")
    try:
        value = float(found.value)
    except OverflowError:
        value = 0
    if not LEAST_VALUE <= value <= MOST_VALUE:
        raise Faulty(line, f"`{column}` is `{text[:40]}`")
    return value


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value).strip()


def _check_head(names: list[str], line: int) -> None:
    for name in names:
        _check_column(name, line)
        if 1 < names.count(name):
            raise Faulty(line, f"the column `{name[:40]}` stands there twice")
    if "step_time" not in names and not set(MEMORY) & set(names):
        raise Faulty(line, f"no column measures anything; name one of {', '.join(f'`{name}`' for name in COLUMNS[3:])}")


def _check_column(name: str, line: int) -> None:
    if name in COLUMNS or name.partition(".")[0] in _PLAN_FIELDS:
        return
    near = nearest(name, (*COLUMNS, *_PLAN_FIELDS))
    guess = f"; did you mean `{near}`?" if near else ""
    raise Faulty(line, f"`{name[:40]}` is no column and no field of a plan{guess}")
