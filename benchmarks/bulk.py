"""How many layouts a second are evaluated in bulk, memory and step time, on one core: `python -m benchmarks.bulk`."""

from __future__ import annotations

import os
import time
from pathlib import Path

COUNT = 1 << 20


def main() -> None:
    """Print layouts a second of processor time, in three runs over about a million random layouts of a plan."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import numpy

    from planc.facts import bulk
    from planc.facts.engine import engines
    from planc.facts.facts import Facts
    from tests.analysis import analysis_of_file

    (plan,) = analysis_of_file(Path(__file__).parents[1] / "examples" / "pretrain-70b.plan").plans[:1]
    engine = engines(plan)[0]
    facts, random = Facts(plan, engine), numpy.random.default_rng(0)
    tensor, pipeline, context = (2 ** random.integers(0, most, COUNT) for most in (4, 5, 2))
    data, micro = facts["world.size"] // (tensor * pipeline * context), 2 ** random.integers(0, 3, COUNT)
    columns = {
        "parallel.tensor": tensor, "parallel.pipeline": pipeline, "parallel.context": context, "parallel.data": data,
        "shard.size": data, "shard.stage": random.integers(0, 2, COUNT), "batch.micro": micro,
        "batch.accumulation": numpy.maximum(facts["batch.global"] // (micro * data), 1),
        "parallel.sequence": tensor > 1,
    }  # fmt: skip
    for _ in range(3):
        start = time.process_time()
        bulk.evaluate(plan, engine, columns, ("memory.total", "step.time"))
        print(f"{COUNT / (time.process_time() - start):,.0f} layouts a second")


if __name__ == "__main__":
    main()
