"""Groups against ranks listed by hand, and what holds for every layout: each rank is in one group of each kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.facts.groups import GROUPS, Group, Layout, Sizes, group_of, index_of, layout, layout_of, members, size_of
from planc.plan.model import Unknown
from tests.facts.given import facts_of


def ranks(found: Layout, name: str, rank: int) -> list[int]:
    return list(members(group_of(found, name, rank)))


def test_sixteen_ranks_as_megatron_writes_them_out() -> None:
    """The example in the docstring of `initialize_model_parallel`: tensor 2, pipeline 4, so data 2."""
    found = layout(Sizes(tensor=2, data=2, pipeline=4))
    assert ranks(found, "tensor", 7) == [6, 7]
    assert ranks(found, "data", 1) == [1, 3]
    assert ranks(found, "data", 14) == [12, 14]
    assert ranks(found, "pipeline", 6) == [2, 6, 10, 14]
    assert [index_of(found, "pipeline", rank) for rank in range(6)] == [0, 1, 2, 3, 0, 1]


def test_context_stands_between_tensor_and_data() -> None:
    found = layout(Sizes(tensor=2, context=2, data=4, pipeline=1, shard=2))
    assert ranks(found, "context", 5) == [5, 7]
    assert ranks(found, "data", 3) == [3, 7, 11, 15]
    assert ranks(found, "data_context", 3) == [1, 3, 5, 7, 9, 11, 13, 15]
    assert ranks(found, "shard", 0) == [0, 2, 4, 6]  # two replicas and all their context ranks
    assert ranks(found, "shard", 9) == [9, 11, 13, 15]
    assert ranks(found, "replicate", 6) == [6, 14]


def test_experts_have_a_grid_of_their_own() -> None:
    """The example in the docstring of DeepSpeed's `_get_expert_parallel_ranks`: 16 ranks, tensor 2, expert 4."""
    found = layout(Sizes(tensor=2, data=8, expert=4, expert_tensor=2))
    assert ranks(found, "expert", 8) == [8, 10, 12, 14]
    assert ranks(found, "expert", 3) == [1, 3, 5, 7]
    assert ranks(found, "expert_data", 6) == [6, 14]
    whole = layout(Sizes(tensor=2, data=8, expert=4))  # experts that are not split take all ranks, tensor ranks too
    assert ranks(whole, "expert", 5) == [4, 5, 6, 7]
    assert ranks(whole, "expert_data", 5) == [1, 5, 9, 13]


def test_data_may_stand_outside_the_pipeline() -> None:
    found = layout(Sizes(tensor=2, context=2, data=2, pipeline=2), ("tensor", "context", "expert", "pipeline", "data"))
    assert ranks(found, "pipeline", 0) == [0, 4]
    assert ranks(found, "data_context", 0) == [0, 2, 8, 10]  # which is no longer one step between all ranks
    assert group_of(found, "data_context", 15) == Group(5, ((2, 2), (2, 8)))


def test_a_million_ranks_are_not_listed() -> None:
    found = layout(Sizes(tensor=8, data=2**17, pipeline=2**10, shard=2**17))
    group = group_of(found, "data", 2**30 - 1)
    assert (group, size_of(group)) == (Group(2**30 - 2**20 + 7, ((2**17, 8),)), 2**17)


sizes = st.integers(1, 3)


@given(sizes, sizes, sizes, sizes, sizes, st.data())
def test_every_kind_of_group_is_a_partition(
    tensor: int, context: int, shard: int, replicate: int, pipeline: int, data: st.DataObject
) -> None:
    stage = tensor * context * shard * replicate
    divisors = st.sampled_from([size for size in range(1, stage + 1) if stage % size == 0])
    expert = data.draw(divisors)
    split = data.draw(divisors.filter(lambda size: stage // expert % size == 0))
    found = layout(Sizes(tensor, context, shard * replicate, pipeline, shard, expert, split))
    world = range(stage * pipeline)
    for name in GROUPS:
        groups = {rank: group_of(found, name, rank) for rank in world}
        by_index = {index_of(found, name, rank): groups[rank] for rank in world}
        listed = [list(members(by_index[index])) for index in range(len(by_index))]
        assert sorted(rank for group in listed for rank in group) == list(world)
        assert all(groups[rank] == by_index[index] for index, group in enumerate(listed) for rank in group)
        assert listed == sorted(listed)
        assert {size_of(group) for group in groups.values()} == {len(listed[0])}


SIXTEEN = {
    "cluster__nodes": 2, "cluster__gpus_per_node": 8,
    "parallel__tensor": 2, "parallel__data": 4, "parallel__pipeline": 2, "shard__size": 2,
}  # fmt: skip


def test_the_layout_of_a_plan() -> None:
    found = layout_of(facts_of(**SIXTEEN))
    assert found == layout(Sizes(tensor=2, data=4, pipeline=2, shard=2, expert_tensor=2))
    assert layout_of(facts_of("megatron", **SIXTEEN)) == layout(Sizes(tensor=2, data=4, pipeline=2, shard=2))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"parallel__tensor": 32}, "a replica takes 64 ranks, and the world has 16"),
        ({"parallel__tensor": 3}, "replicas of 6 ranks leave 4 of 16 over"),
        ({"parallel__data": 2}, "2 replicas of 4 ranks are not the 16 of the world"),
        ({"shard__size": 3}, "shard groups of 3 leave 1 of 4 replicas over"),
        ({"parallel__expert": 3}, "expert groups of 3 ranks leave 2 of a stage's 8 over"),
        ({"parallel__data": 0}, "a size is zero"),
        ({"parallel__data": Unknown("it is not known")}, "it is not known"),
    ],
)
def test_a_layout_that_does_not_fit_says_why(changed: dict[str, object], reason: str) -> None:
    found = layout_of(facts_of("megatron", **{**SIXTEEN, **changed}))
    assert isinstance(found, Unknown)
    assert found.reason == reason
