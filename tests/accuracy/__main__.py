"""Prints how near the cost model comes to what was measured: `python -m tests.accuracy`.

`--rows TABLE` prints every row of a table instead, the worst last.
"""

from __future__ import annotations

import argparse
import sys

from tests.accuracy.case import TABLES
from tests.accuracy.cases import tables
from tests.accuracy.report import residuals, summary


def main() -> int:
    """Prints the table, or the rows of one of the sources; 1 where the measurements are not on this machine."""
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy", description=__doc__)
    parser.add_argument("--rows", metavar="TABLE", choices=tables(), help="print every row of a table, the worst last")
    chosen = parser.parse_args()
    if not TABLES.is_dir():
        print("the shared material (facts/tables) is not on this machine", file=sys.stderr)
        return 1
    for line in summary() if chosen.rows is None else residuals(chosen.rows):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
