"""What a label says where one arithmetic has two readings."""

from __future__ import annotations

import pytest

from tests.analysis import analysis_of, faults

PLAN = """\
gpu card {{ memory = 80 GiB  bf16 = true  link = 450 GB/s }}
cluster one {{ gpu = card  nodes = 2  gpus_per_node = 8  inter_node = 50 GB/s }}
model small {{ layers = 24  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }}
plan run {{ model = small  cluster = one  batch {{ global = 64  micro = 1 }}  precision = bf16  {} }}
"""


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [(3, "3 ranks per replica, 1 rank left over"), (24, "24 ranks per replica, and 16 ranks in all")],
)
def test_a_replica_that_is_larger_than_the_world_leaves_nothing_over(pipeline: int, said: str) -> None:
    found = faults(analysis_of(PLAN.format(f"parallel {{ pipeline = {pipeline} }}")))
    assert [each.primary.text for each in found if each.code == "PLN101"] == [said]


@pytest.mark.parametrize(
    ("rest", "help"),
    [
        ("", "use `tensor = 8` and `pipeline = 2` to keep each group on one node"),
        ("shard { stage = 3 }  emit = [deepspeed]", "use `tensor = 8` to keep each group on one node"),
        ('shard { stage = 3 }  emit = [accelerate]  launch { script = "t.py" }',
         "use `tensor = 8` to keep each group on one node"),
    ],
)  # fmt: skip
def test_stages_are_proposed_only_where_the_trainer_has_some(rest: str, help: str) -> None:
    found = faults(analysis_of(PLAN.format(f"parallel {{ tensor = 16 }}  {rest}").replace("heads = 8", "heads = 16")))
    assert [each.help for each in found if each.code == "PLN501"] == [(help,)]
