"""The table of docs/cost-model.md, made of the published measurements: `python -m tests.accuracy.page` writes it."""

from __future__ import annotations

import re

from tests.accuracy.case import FITS, MEMORY, RANK, TIME
from tests.accuracy.comparison import compare, filtered, judged, unfiltered
from tests.accuracy.criteria import CRITERIA
from tests.accuracy.report import shown
from tests.shared import ROOT

PAGE = ROOT / "docs" / "cost-model.md"

_TABLE = re.compile(r"(<!-- table: accuracy -->\n).*?(<!-- end -->)", re.S)

_KINDS = {MEMORY: "memory", FITS: "fits or not, balanced accuracy", TIME: "step time", RANK: "order, rank correlation"}


def table() -> str:
    """The figures of every comparison, as a table of Markdown."""
    lines = [
        "| what | measured by | rows | all rows | without rows that cannot be predicted | models not fitted on |",
        "|---|---|---|---|---|---|",
    ]
    for criterion in CRITERIA:
        found = compare(criterion)
        figures = (shown(criterion, part(found).values) for part in (unfiltered, filtered, judged))
        rows = f"{filtered(found).num_rows} of {unfiltered(found).num_rows}"
        lines.append(f"| {_KINDS[criterion.kind]} | {criterion.name} | {rows} | {' | '.join(figures)} |")
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """The page with the table of now."""
    return _TABLE.sub(lambda found: f"{found[1]}{table()}{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
