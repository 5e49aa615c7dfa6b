"""`python -m tests.mutation [TRAINER...]`: the whole grid, or that of some trainers' plans, and its two counts.

Takes a quarter of an hour on two idle cores. Slurm is asked where it can be started, the other consumers always.
"""

from __future__ import annotations

import logging
import signal
import sys
import tempfile
import warnings
from pathlib import Path

from tests.consumers.slurm_cluster import Cluster, why_not
from tests.mutation.counting import counted, report
from tests.mutation.harm import ALL
from tests.mutation.judging import Judge, verdicts
from tests.mutation.plans import PLANS
from tests.mutation.slurm_consumer import NODES, PARTITIONS, consumer


def main() -> int:
    """Judges every mutant and prints the counts; the status is 1 where something is missed or unexplained."""
    unknown = set(sys.argv[1:]) - set(ALL)
    if unknown:
        print(f"no plans of {', '.join(sorted(unknown))}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    reason = why_not()
    if reason is not None:
        print(f"Slurm is not asked: {reason}", file=sys.stderr)
        return _judged(Judge())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # else its daemons would stay behind
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), NODES, PARTITIONS)
        try:
            cluster.start()
            return _judged(Judge({"slurm": consumer(cluster, Path(folder))}))
        finally:
            cluster.stop()


def _judged(judge: Judge) -> int:
    wanted = set(sys.argv[1:]) or set(ALL)
    count = counted(verdicts(judge, plans=[clean for clean in PLANS if clean.trainer in wanted]))
    print(report(count, judge.num_answers), end="")
    return 1 if count.missed or count.unexplained or count.crashed else 0


if __name__ == "__main__":
    sys.exit(main())
