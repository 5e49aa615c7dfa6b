"""What the cost model reaches, so that a worse one fails: `python -m tests.accuracy.recorded` writes `reached.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.accuracy.comparison import Comparison, compare, filtered, unfiltered
from tests.accuracy.criteria import CRITERIA, Criterion

FILE = Path(__file__).parent / "reached.json"


class Reached(NamedTuple):
    """The filtered figures of a criterion, and the rows: those that they are of, the measured, all of its tables."""

    values: tuple[float, ...]
    num_filtered: int
    num_measured: int
    num_rows: int


def key(criterion: Criterion) -> str:
    """The name under which a criterion is recorded."""
    return f"{criterion.kind}: {criterion.name}"


def reached(comparison: Comparison) -> Reached:
    """What is reached now."""
    figures = filtered(comparison)
    return Reached(figures.values, figures.num_rows, unfiltered(comparison).num_rows, comparison.num_rows)


def recorded() -> Mapping[str, Reached]:
    """What was reached when it was last recorded, by criterion."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Reached(**{**entry, "values": tuple(entry["values"])}) for name, entry in found.items()}


def main() -> None:
    """Records what is reached now."""
    entries = {}
    for criterion in CRITERIA:
        now = reached(compare(criterion))
        entries[key(criterion)] = {**now._asdict(), "values": [round(value, 4) for value in now.values]}
    FILE.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
