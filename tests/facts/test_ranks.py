"""Ranks against numbers worked out by hand; the groups of 6 in domains of 8 are drawn out in the comment."""

import pytest

from planc.facts.ranks import (
    leftover_ranks,
    leftover_replicas,
    model_parallel_size,
    replicas,
    shard_group,
    shard_replicas,
    straddling_tensor_ranks,
    world_size,
)  # fmt: skip
from tests.facts.given import facts_of


@pytest.mark.parametrize(
    ("nodes", "gpus", "tensor", "pipeline", "context", "world", "data", "left"),
    [
        (1, 8, 1, 1, 1, 8, 8, 0),
        (64, 8, 8, 4, 1, 512, 16, 0),  # LANGUAGE: 512 / (8 x 4) = 16 replicas
        (8, 8, 8, 3, 1, 64, 2, 16),  # 24 ranks a replica, twice, and 16 ranks over
        (1, 8, 16, 1, 1, 8, 0, 8),  # one replica does not fit: all ranks are over
        (2, 8, 2, 2, 2, 16, 2, 0),
        (18, 4, 8, 1, 3, 72, 3, 0),
    ],
)
def test_world(nodes, gpus, tensor, pipeline, context, world, data, left):
    facts = facts_of(
        cluster__nodes=nodes, cluster__gpus_per_node=gpus,
        parallel__tensor=tensor, parallel__pipeline=pipeline, parallel__context=context,
    )  # fmt: skip
    assert facts["world.size"] == world == world_size(nodes, gpus)
    assert facts["world.model_parallel"] == model_parallel_size(tensor, pipeline, context)
    assert (facts["world.replicas"], facts["world.leftover"]) == (data, left)
    assert data * tensor * pipeline * context + left == world


def test_zero_divisors_leave_everything_over():
    assert (replicas(8, 0), leftover_ranks(8, 0)) == (0, 8)
    assert (shard_replicas(8, 0), leftover_replicas(8, 0)) == (0, 8)


def test_shard_group_counts_context_ranks():
    assert shard_group(16, 4) == 64
    assert facts_of(parallel__data=16, shard__size=8, parallel__context=2)["shard.group"] == 16
    facts = facts_of(parallel__data=16, shard__size=8)
    assert (facts["shard.replicas"], facts["shard.leftover"]) == (2, 0)
    assert facts_of(parallel__data=16, shard__size=6)["shard.leftover"] == 4


@pytest.mark.parametrize(
    ("tensor", "domain", "world", "over"),
    [
        (8, 8, 512, 0),
        (16, 8, 512, 16),
        (6, 8, 24, 2),  # 0-5 lie on the first node; 6-11 take two ranks of it and four of the second
        (4, 8, 512, 0),
        (16, 72, 144, 8),  # four groups fill 64 ranks of a rack of 72; the fifth takes 8 ranks of it
        (8, 72, 144, 0),
        (16, 72, 64, 0),  # the job fills less than one rack, so nothing crosses
        (1, 8, 512, 0),
        (5, 8, 5, 0),
        (8, 4, 8, 8),  # two islands of four in one node
    ],
)
def test_straddling(tensor, domain, world, over):
    assert straddling_tensor_ranks(tensor, domain, world) == over
    # By the definition: a group straddles if its first and last rank lie in different domains.
    crossing = any(rank // domain != (rank + tensor - 1) // domain for rank in range(0, world - tensor + 1, tensor))
    assert crossing == (over != 0)
