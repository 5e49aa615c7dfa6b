"""Which rank is in which group: asked of Megatron, of PyTorch's device meshes and of DeepSpeed, without a cluster."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from planc.facts.groups import ORDER, Layout, Sizes, group_of, index_of, layout, members
from tests.consumers.running import PROGRAMS, environment, needs

pytestmark = [pytest.mark.consumer]

LARGEST = 1024
PIPELINE_INSIDE = ("tensor", "context", "expert", "pipeline", "data")
SHORT = {"tensor": "tp", "context": "cp", "expert": "ep", "data": "dp", "pipeline": "pp"}


def answers(program: str, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a program printed: a line of JSON for each case."""
    command = [sys.executable, str(PROGRAMS / program), json.dumps(cases)]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert len(found) == len(cases)
    return found


def random_sizes(dice: random.Random) -> Sizes:
    """Sizes of a world of at most 1,024 ranks; the experts' axes share out the ranks of a stage in their own way."""
    tensor, context, pipeline = (dice.choice((1, 2, 3, 4, 8)) for _ in range(3))
    room = LARGEST // (tensor * context * pipeline)
    data = dice.randint(1, min(room, 32)) if dice.random() < 0.5 else room
    shard = dice.choice(divisors(data))
    expert = dice.choice(divisors(tensor * context * data))
    split = dice.choice(divisors(tensor * context * data // expert))
    return Sizes(tensor, context, data, pipeline, shard, expert, split)


def divisors(number: int) -> list[int]:
    return [size for size in range(1, number + 1) if number % size == 0]


def world_of(sizes: Sizes) -> int:
    return sizes.tensor * sizes.context * sizes.data * sizes.pipeline


def for_megatron(sizes: Sizes, order: tuple[str, ...]) -> dict[str, Any]:
    return {
        "world": world_of(sizes),
        "order": "-".join(SHORT[axis] for axis in order),
        "tensor_model_parallel_size": sizes.tensor,
        "pipeline_model_parallel_size": sizes.pipeline,
        "context_parallel_size": sizes.context,
        "expert_model_parallel_size": sizes.expert,
        "expert_tensor_parallel_size": sizes.expert_tensor,
    }


def groups_of(found: Layout, rank: int, names: Any) -> dict[str, list[int]]:
    return {name: list(members(group_of(found, name, rank))) for name in names}


def every_group(found: Layout, name: str, world: int) -> list[list[int]]:
    """All groups of a name, in the order of their numbers."""
    by_index = {index_of(found, name, rank): group_of(found, name, rank) for rank in range(world)}
    return [list(members(by_index[index])) for index in range(len(by_index))]


@needs("torch", "megatron")
@pytest.mark.slow
def test_all_groups_are_those_of_megatron() -> None:
    dice = random.Random(1)
    drawn = [(random_sizes(dice), dice.choice((ORDER, PIPELINE_INSIDE))) for _ in range(100)]
    assert any(world_of(sizes) == LARGEST for sizes, _ in drawn)
    cases = [for_megatron(sizes, order) for sizes, order in drawn]
    for (sizes, order), theirs in zip(drawn, answers("groups_megatron.py", cases), strict=True):
        found = layout(sizes, order)
        for name, groups in theirs.items():
            assert every_group(found, name, world_of(sizes)) == groups, (sizes, order, name)


@needs("torch", "megatron")
@pytest.mark.slow
def test_megatron_puts_a_rank_into_those_groups_when_it_starts() -> None:
    dice = random.Random(2)
    drawn: list[tuple[Sizes, int]] = []
    while len(drawn) < 16:
        sizes = random_sizes(dice)
        stage, experts = sizes.tensor * sizes.context * sizes.data, sizes.expert * sizes.expert_tensor
        if stage // experts % (sizes.data // sizes.shard) == 0:  # it shards experts in as many copies
            drawn.append((sizes, dice.randrange(world_of(sizes))))
    cases = [
        for_megatron(sizes, ORDER) | {"rank": rank, "num_distributed_optimizer_instances": sizes.data // sizes.shard}
        for sizes, rank in drawn
    ]
    for (sizes, rank), theirs in zip(drawn, answers("groups_megatron.py", cases), strict=True):
        assert groups_of(layout(sizes), rank, theirs) == theirs, (sizes, rank)


@needs("torch")
def test_groups_are_those_of_device_meshes() -> None:
    dice = random.Random(3)
    drawn = [(sizes, dice.randrange(world_of(sizes))) for sizes in (random_sizes(dice) for _ in range(25))]
    cases = [sizes._asdict() | {"world": world_of(sizes), "rank": rank} for sizes, rank in drawn]
    for (sizes, rank), theirs in zip(drawn, answers("groups_mesh.py", cases), strict=True):
        assert groups_of(layout(sizes), rank, theirs) == theirs, (sizes, rank)


@needs("deepspeed")
def test_groups_are_those_of_deepspeed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pipeline topology, and its lists of expert groups, which keep to one place of the tensor groups."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology
    from deepspeed.utils.groups import _get_expert_parallel_ranks

    dice = random.Random(4)
    for _ in range(40):
        tensor, data, pipeline = (dice.choice((1, 2, 3, 4, 8)) for _ in range(3))
        expert = dice.choice(divisors(data))
        sizes = Sizes(tensor, 1, data, pipeline, data, expert, tensor)
        found, world = layout(sizes), world_of(sizes)
        topology = PipeModelDataParallelTopology(num_pp=pipeline, num_mp=tensor, num_dp=data)
        for name, axis in (("tensor", "model"), ("data", "data"), ("pipeline", "pipe")):
            theirs = topology.get_axis_comm_lists(axis)
            assert theirs == [] or sorted(theirs) == every_group(found, name, world), (sizes, name)
        experts, copies = _get_expert_parallel_ranks(world, tensor, expert, pipeline)
        assert sorted(experts) == every_group(found, "expert", world), sizes
        assert sorted(copies) == every_group(found, "expert_data", world), sizes
