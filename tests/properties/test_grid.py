"""Exhaustive small grids: what the plan says of ranks and batch is arithmetic, in every case."""

from __future__ import annotations

from itertools import product

from planc.facts.engine import ENGINES
from planc.facts.facts import Facts
from planc.plan.model import Unknown
from tests.analysis import analysis_of

TEXT = """\
gpu card {{ memory = 80 GiB  bf16 = true }}
cluster c {{ gpu = card  nodes = {nodes}  gpus_per_node = {gpus}  domain = 64 }}
model m {{ layers = 12  hidden = 1024  heads = 12  head_dim = 64  ffn = 4608  vocab = 32_000 }}
plan p {{
  model = m  cluster = c  precision = bf16
  parallel {{ tensor = {tensor}  pipeline = {pipeline} }}
  batch {{ global = {batch}  micro = {micro} }}
}}
"""


def test_ranks_and_batch() -> None:
    clean = 0
    for nodes, gpus, tensor, pipeline, batch, micro in product(
        (1, 2, 3), (4, 6), (1, 2, 4), (1, 2, 3), (24, 36), (1, 3)
    ):
        text = TEXT.format(nodes=nodes, gpus=gpus, tensor=tensor, pipeline=pipeline, batch=batch, micro=micro)
        analysis = analysis_of(text)
        plan = analysis.plans[0]
        codes = {diagnostic.code for diagnostic in analysis.diagnostics}
        world, replica = nodes * gpus, tensor * pipeline
        assert ("PLN101" in codes) == (world % replica != 0), text
        if world % replica:
            assert isinstance(plan["parallel.data"].value, Unknown)
            assert "PLN201" not in codes  # the batch depends on what is already reported
            continue
        data = plan["parallel.data"].value
        assert data * replica == world
        assert ("PLN201" in codes) == (batch % (micro * data) != 0), text
        if batch % (micro * data) == 0:
            assert micro * plan["batch.accumulation"].value * data == batch
            facts = Facts(plan, ENGINES["generic"])
            assert facts["world.leftover"] == facts["batch.leftover"] == 0
            clean += 1
    assert 50 < clean
