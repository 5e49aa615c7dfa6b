"""What a row of a table of measurements says: the plan that was run, and what was measured of it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.shared import SHARED

TABLES = SHARED / "facts" / "tables"

Row = Mapping[str, str]

#: For which comparison a row may be left out.
MEMORY, TIME, RANK, FITS = "memory", "time", "rank", "fits"


class Case(NamedTuple):
    """A row: the plan, as values of its fields by path, and the measurement.

    table, row: where it stands; `row` is the row's own name.
    family: the model, for the split into rows that constants are fitted on and rows that they are judged by.
    memory: bytes, of the stage `stage` ("first", "last", or the "worst"); `quantity` says what they hold: "states", the
        "peak" of live tensors, what the allocator has "reserved" for them, or the "total" that the card has in use.
    is_plain: attention keeps its scores, for no fused kernel computes it.
    seconds: a step. fits: whether the run found memory enough. group: rows whose order is of interest among each other.
    other: fields of a second plan that may as well have been run, where the table does not say which one was.
    left_out: for which comparisons (MEMORY, ...) the filtered figures leave the row out, by what test on its columns.
    unusable: why the row is no plan at all.
    """

    table: str
    row: str
    family: str
    engine: str
    given: Mapping[str, Any]
    memory: float | None = None
    stage: str = "worst"
    quantity: str = "total"
    seconds: float | None = None
    fits: bool | None = None
    group: str = ""
    other: Mapping[str, Any] = {}
    left_out: Mapping[str, str] = {}
    is_plain: bool = False
    unusable: str = ""


def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a table of the shared facts, `03a_megatron_sc21_table1`, each with its name in `row_id`."""
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def each(found: Sequence[Row], table: str, case: Callable[[Row], Case]) -> tuple[Case, ...]:
    """The case of each row; a row that cannot be read, for it names what is not known here, is unusable and says so."""
    return tuple(_tried(row, table, case) for row in found)


def _tried(row: Row, table: str, case: Callable[[Row], Case]) -> Case:
    try:
        return case(row)
    except (KeyError, ValueError, ZeroDivisionError) as error:
        return unusable(table, row, row.get("model", ""), f"not read: {type(error).__name__} {error}")


def unusable(table: str, row: Row, family: str, reason: str) -> Case:
    """A row that is no plan, and why."""
    return Case(table, row["row_id"], family, "generic", {}, unusable=reason)


def number(row: Row, *names: str) -> tuple[int, ...]:
    """Whole numbers of the row's columns."""
    return tuple(int(float(row[name])) for name in names)
