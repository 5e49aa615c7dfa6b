"""How long a plan takes to be explained inside the process, once it is read: `python -m benchmarks.explain`."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planc.plan.model import Plan

RUNS = 50


def main() -> None:
    """Print for each example's first plan the best of many runs: the page, all numbers, and all of it as data."""
    from planc.explanation import explain
    from planc.showing.page import page_text
    from tests.analysis import analysis_of_file

    gc.disable()  # as `planc` does
    print(f"{'ms':<16} {'page':>8} {'numbers':>8} {'data':>8}")
    for path in sorted((Path(__file__).parents[1] / "examples").glob("*.plan")):
        for plan in analysis_of_file(path).plans[:1]:
            runs = (partial(page_text, plan, {}, 100), partial(explain, plan, None), partial(_data, plan))
            print(f"{path.stem:<16}", *(f"{1000 * best(run):8.2f}" for run in runs))


def _data(plan: Plan) -> object:
    from planc.explanation import explain
    from planc.showing.document import plan_data

    return plan_data(explain(plan, None))


def best(run: Callable[[], object]) -> float:
    """Processor seconds of the fastest of many runs."""
    found = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


if __name__ == "__main__":
    main()
