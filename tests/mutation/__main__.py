"""`python -m tests.mutation`: the whole grid, which takes about half an hour, and its two counts.

Asks every consumer that is installed; Slurm too where it can be started.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import warnings
from pathlib import Path

from tests.consumers.slurm_cluster import Cluster, why_not
from tests.mutation.counting import counted, report
from tests.mutation.judging import Judge, verdicts
from tests.mutation.slurm_consumer import NODES, PARTITIONS, consumer


def main() -> int:
    """Judges every mutant and prints the counts; the status is 1 where something is missed or unexplained."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    reason = why_not()
    if reason is not None:
        print(f"Slurm is not asked: {reason}", file=sys.stderr)
        return _judged(Judge())
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), NODES, PARTITIONS)
        try:
            cluster.start()
            return _judged(Judge({"slurm": consumer(cluster, Path(folder))}))
        finally:
            cluster.stop()


def _judged(judge: Judge) -> int:
    count = counted(verdicts(judge))
    print(report(count, judge.num_answers), end="")
    return 1 if count.missed or count.unexplained or count.crashed else 0


if __name__ == "__main__":
    sys.exit(main())
