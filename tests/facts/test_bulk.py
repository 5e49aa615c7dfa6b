"""Many layouts at once give what each gives alone, by the same formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planc.facts import bulk
from planc.facts.engine import ENGINES, engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from tests.analysis import analysis_of, analysis_of_file

numpy = pytest.importorskip("numpy", reason="numpy is not installed")

EXAMPLE = Path(__file__).parents[2] / "examples" / "pretrain-70b.plan"
PATHS = (
    "memory.total", "memory.states", "memory.worst_stage", "step.time", "step.mfu", "pipeline.bubble", "world.leftover",
)  # fmt: skip

MIXTURE = """\
gpu card { memory = 80 GiB  bf16 = 989 TFLOPS  memory_bandwidth = 3.35 TB/s  link = 450 GB/s  compute_capability = 9.0 }
cluster c { gpu = card  nodes = 16  gpus_per_node = 8  inter_node = 50 GB/s }
model m {
  layers = 27  hidden = 2048  heads = 16  ffn = 10_944  vocab = 102_400
  experts { count = 64  top_k = 6  ffn = 1408  shared = 2  dense_layers = 1 }
}
plan run {
  model = m  cluster = c  precision = bf16  parallel { expert = 8 }
  batch { global = 1024  micro = 1  sequence_length = 4096 }  emit = [megatron]
}
"""


def plan(name: str) -> Plan:
    analysis = analysis_of_file(EXAMPLE) if name == "dense" else analysis_of(MIXTURE)
    return analysis.plans[0]


def layouts(of: Plan, count: int) -> dict[str, Any]:
    """Random layouts of the plan's cards, some of which do not divide what they should."""
    random = numpy.random.default_rng(0)
    facts = Facts(of, engines(of)[0])
    tensor, pipeline = random.choice([1, 2, 4, 6, 8], count), random.choice([1, 2, 3, 4, 8, 16], count)
    context, micro = random.choice([1, 2], count), random.choice([1, 2, 3, 4], count)
    data = numpy.maximum(facts["world.size"] // (tensor * pipeline * context), 1)
    return {
        "parallel.tensor": tensor, "parallel.pipeline": pipeline, "parallel.context": context, "parallel.data": data,
        "shard.size": data, "shard.stage": random.choice([0, 1, 2, 3], count), "batch.micro": micro,
        "batch.accumulation": numpy.maximum(facts["batch.global"] // (micro * data), 1),
        "parallel.sequence": random.choice([True, False], count), "recompute": random.choice(["none", "full"], count),
        "batch.sequence_length": random.integers(1, 64, count) * 512,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["dense", "mixture"])
def test_bulk_equals_one_by_one(name, engine):
    of = plan(name)
    columns = layouts(of, 60)
    found = bulk.evaluate(of, ENGINES[engine], columns, PATHS)
    compared = 0
    for at in range(60):
        facts = Facts(of, ENGINES[engine], {path: column[at].item() for path, column in columns.items()})
        for path in PATHS:
            value = facts[path]
            if isinstance(value, Unknown):
                assert not numpy.isfinite(found[path][at]), (path, at, found[path][at])
            else:
                assert found[path][at] == pytest.approx(float(value), rel=1e-9), (path, at)
                compared += 1
    assert 200 < compared


def test_large_groups_and_small_ones():
    """As many layouts as make groups of one size each, of which one is alone, equal what they give in parts."""
    of = plan("dense")
    columns = layouts(of, 20_000)
    columns["parallel.pipeline"][7] = 5
    whole = bulk.evaluate(of, ENGINES["megatron"], columns, ("memory.total", "step.time"))
    for start in (0, 6, 7, 8, 19_990):
        part = {path: column[start : start + 10] for path, column in columns.items()}
        for path, values in bulk.evaluate(of, ENGINES["megatron"], part, ("memory.total", "step.time")).items():
            assert values == pytest.approx(whole[path][start : start + 10], rel=1e-9, nan_ok=True)


def test_shared_values_and_none():
    of = plan("dense")
    columns = {"batch.micro": numpy.array([1, 2])}
    engine, paths = ENGINES["megatron"], ["memory.total"]
    full, none = (bulk.evaluate(of, engine, columns, paths, {"recompute": word}) for word in ("full", "none"))
    assert (full["memory.total"] < none["memory.total"]).all()
    assert len(bulk.evaluate(of, engine, {"batch.micro": numpy.array([], int)}, paths)["memory.total"]) == 0
    with pytest.raises(ValueError, match="unlike length"):
        bulk.evaluate(of, engine, {"batch.micro": [1], "parallel.tensor": [1, 2]}, paths)
