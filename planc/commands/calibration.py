"""What `planc calibrate` found, as a table with a section to paste, and as data."""

from __future__ import annotations

from typing import Any

from planc.commands.output import quoted
from planc.diagnostics.amounts import number_text, percent_text, size_text, time_text
from planc.diagnostics.text import visible
from planc.measuring.comparison import Comparison, Row, Run
from planc.plan.model import Unknown

VERSION = 1  # of the form of the JSON; a key that is removed or changes its meaning raises it, a new key does not

_HEAD = ("", "predicted", "measured", "error", "calibrated", "error", "")


def as_text(comparison: Comparison) -> str:
    """The rows below the runs that they are of, then the section that a plan may hold."""
    lines = [_HEAD, *map(_cells, comparison.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(_HEAD) - 1)]
    text = [_laid_out(_HEAD, widths)]
    shown = None
    for row, cells in zip(comparison.rows, lines[1:], strict=True):
        if row.run is not shown:
            shown = row.run
            text.append(_title(row.run))
        text.append(_laid_out(cells, widths))
    if comparison.factors:
        width = max(len(name) for name, _ in comparison.factors)
        factors = (f"  {name:<{width}} = {number_text(factor)}" for name, factor in comparison.factors)
        text.extend(("", "calibration {", *factors, "}"))
    if comparison.notes:
        text.extend(("", *(f"note: {visible(note)}" for note in comparison.notes)))
    return "\n".join(text) + "\n"


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The outcome as data; `schemas/calibrate.schema.json` describes it."""
    return {
        "version": VERSION,
        "measurements": [_row_data(row) for row in comparison.rows],
        "calibration": dict(comparison.factors),
        "notes": list(comparison.notes),
    }


def _row_data(row: Row) -> dict[str, Any]:
    known = not isinstance(row.predicted, Unknown)
    return {
        "plan": row.run.plan.name,
        "file": row.run.plan.span.source.name,
        "engine": row.run.engine.name,
        "settings": list(row.run.series.settings),
        "source": row.run.series.source,
        "form": row.run.series.form,
        "what": row.what,
        "unit": row.unit,
        "measured": row.measured,
        "num_values": row.num_values,
        "known": known,
        "predicted": row.predicted if known else None,
        "error": row.error if known else None,
        "calibrated": row.calibrated,
        "reason": row.predicted.reason if isinstance(row.predicted, Unknown) else "",
        "missing": list(row.predicted.missing) if isinstance(row.predicted, Unknown) else [],
    }


def _cells(row: Row) -> tuple[str, ...]:
    what, measured = f"  {row.what}", _amount(row, row.measured)
    if isinstance(row.predicted, Unknown):
        needs = f"; it needs {', '.join(map(quoted, row.predicted.missing))}" if row.predicted.missing else ""
        return what, "unknown", measured, "", "", "", f"{visible(row.predicted.reason)}{needs}"
    calibrated = ("", "")
    if row.calibrated is not None:
        calibrated = _amount(row, row.calibrated), _signed(row.calibrated / row.measured - 1)
    return what, _amount(row, row.predicted), measured, _signed(row.error), *calibrated, _counted(row)


def _laid_out(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:], strict=True))
    return "  ".join((cells[0].ljust(widths[0]), *padded, cells[-1])).rstrip()


def _title(run: Run) -> str:
    settings = f" with {', '.join(run.series.settings)}" if run.series.settings else ""
    return visible(f"plan {run.plan.name}{settings}, engine {run.engine.name}; {run.series.form}: {run.series.source}")


def _amount(row: Row, value: float) -> str:
    return time_text(value) if row.unit == "s" else size_text(value, binary=True)


def _signed(share: float) -> str:
    return f"{'+' if 0 < share else ''}{percent_text(share)}"


def _counted(row: Row) -> str:
    if row.num_values == 1:
        return ""
    return f"median of {row.num_values} values" if row.unit == "s" else f"largest of {row.num_values} cards"
