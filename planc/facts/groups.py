"""Groups: which ranks talk to each other along an axis, worked out for one rank without listing the others.

Ranks are numbered along the axes, the innermost first: tensor, context, data, pipeline for what every token passes through,
expert_tensor, expert, expert_data, pipeline for the experts. Megatron (order `tp-cp-ep-dp-pp`), DeepSpeed (its pipeline
topology and its Ulysses mesh) and torchtitan (`ParallelDims`) agree in this; what differs is said at `layout_of`.
The replicas of hybrid sharding are cut into runs: a shard group is `shard.size` consecutive data ranks with all their
context ranks, and the ranks that hold the same shard make a replicate group.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from planc.plan.model import Unknown

if TYPE_CHECKING:
    from planc.facts.facts import Facts  # which imports what a formula may want groups for

#: Megatron's default; `use_tp_pp_dp_mapping` puts pipeline before data.
ORDER = ("tensor", "context", "expert", "data", "pipeline")


class Sizes(NamedTuple):
    """Ranks along each axis; `shard` is the part of `data` that shares one copy of the states."""

    tensor: int = 1
    context: int = 1
    data: int = 1
    pipeline: int = 1
    shard: int = 1
    expert: int = 1
    expert_tensor: int = 1


class Axis(NamedTuple):
    """An axis of a grid: ranks along it, and the distance from one to the next."""

    name: str
    size: int
    stride: int


class Layout(NamedTuple):
    """The two grids over the same ranks, innermost axis first: of all layers but the experts, and of the experts."""

    dense: tuple[Axis, ...]
    experts: tuple[Axis, ...]


class Group(NamedTuple):
    """The ranks first + i stride + ..., with i below size for each of the steps (size, stride), innermost first."""

    first: int
    steps: tuple[tuple[int, int], ...]


#: The groups by name: whether they are of the experts' grid, and the axes along which their ranks differ.
GROUPS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "tensor": (False, ("tensor",)),
    "context": (False, ("context",)),
    "data": (False, ("shard", "replicate")),
    "data_context": (False, ("context", "shard", "replicate")),
    "shard": (False, ("context", "shard")),
    "replicate": (False, ("replicate",)),
    "pipeline": (False, ("pipeline",)),
    "expert": (True, ("expert",)),
    "expert_tensor": (True, ("expert_tensor",)),
    "expert_data": (True, ("expert_data",)),
}


def layout(sizes: Sizes, order: tuple[str, ...] = ORDER) -> Layout:
    """The grids of a job whose sizes fit its world: `shard` divides `data`, the experts' sizes divide the stage's ranks."""
    stage = sizes.tensor * sizes.context * sizes.data
    dense = {
        "tensor": (("tensor", sizes.tensor),),
        "context": (("context", sizes.context),),
        "expert": (),
        "data": (("shard", sizes.shard), ("replicate", sizes.data // sizes.shard)),
        "pipeline": (("pipeline", sizes.pipeline),),
    }
    experts = {
        "tensor": (("expert_tensor", sizes.expert_tensor),),
        "context": (),
        "expert": (("expert", sizes.expert),),
        "data": (("expert_data", stage // (sizes.expert * sizes.expert_tensor)),),
        "pipeline": (("pipeline", sizes.pipeline),),
    }
    return Layout(_grid(dense, order), _grid(experts, order))


def layout_of(facts: Facts) -> Layout | Unknown:
    """The layout of a plan, or why its ranks make no groups.

    DeepSpeed makes expert groups of the data ranks at one place of their tensor groups, which is what an experts' grid with
    all tensor ranks gives, whether or not it splits the experts over them.
    """
    whole = "tensor" if facts.engine.runtime == "deepspeed" else "expert_tensor"
    paths = (*(f"parallel.{name}" for name in Sizes._fields[:4]), "shard.size", "parallel.expert", f"parallel.{whole}")
    world, replica = facts["world.size"], facts["world.model_parallel"]
    if not isinstance(world, Unknown) and not isinstance(replica, Unknown):
        rest = _rest(replica, world)
        if rest is not None:
            return rest
    for _, unknown in facts.unknown(("world.size", *paths)):
        return unknown
    sizes = Sizes(*(facts[path] for path in paths))
    return _misfit(sizes, world) or layout(sizes)


def group_of(found: Layout, name: str, rank: int) -> Group:
    """The group of that name in which a rank is."""
    _, inside = _axes(found, name)
    first = rank - sum(_place(axis, rank) * axis.stride for axis in inside)
    return Group(first, _joined(inside))


def index_of(found: Layout, name: str, rank: int) -> int:
    """The number of the rank's group among those of that name, which are counted by their first ranks."""
    grid, inside = _axes(found, name)
    number, count = 0, 1
    for axis in grid:
        if axis not in inside:
            number += _place(axis, rank) * count
            count *= axis.size
    return number


def members(group: Group) -> Iterator[int]:
    """The ranks of a group, in their order."""
    outer, (size, stride) = group.steps[1:], group.steps[0] if group.steps else (1, 1)
    for offsets in product(*(range(0, count * step, step) for count, step in reversed(outer))):
        first = group.first + sum(offsets)
        yield from range(first, first + size * stride, stride)


def size_of(group: Group) -> int:
    """The number of ranks in a group."""
    count = 1
    for size, _ in group.steps:
        count *= size
    return count


def _grid(parts: dict[str, tuple[tuple[str, int], ...]], order: tuple[str, ...]) -> tuple[Axis, ...]:
    found: list[Axis] = []
    stride = 1
    for part in order:
        for name, size in parts[part]:
            found.append(Axis(name, size, stride))
            stride *= size
    return tuple(found)


def _axes(found: Layout, name: str) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The grid of the groups of that name, and those of its axes along which their ranks differ."""
    of_experts, names = GROUPS[name]
    grid = found.experts if of_experts else found.dense
    return grid, tuple(axis for axis in grid if axis.name in names)


def _place(axis: Axis, rank: int) -> int:
    return rank // axis.stride % axis.size


def _joined(axes: tuple[Axis, ...]) -> tuple[tuple[int, int], ...]:
    """The steps of a group, where those that go on from one another are one."""
    steps: list[tuple[int, int]] = []
    for axis in axes:
        if axis.size == 1:
            continue
        if steps and steps[-1][0] * steps[-1][1] == axis.stride:
            size, stride = steps.pop()
            steps.append((size * axis.size, stride))
        else:
            steps.append((axis.size, axis.stride))
    return tuple(steps)


def _rest(replica: Any, world: Any) -> Unknown | None:
    """Why a world holds no whole replicas; None if it does."""
    if replica < 1 or world < 1:
        return Unknown("a size is zero")
    if world < replica:
        return Unknown(f"a replica takes {replica} ranks, and the world has {world}")
    if world % replica != 0:
        return Unknown(f"replicas of {replica} ranks leave {world % replica} of {world} over")
    return None


def _misfit(sizes: Sizes, world: Any) -> Unknown | None:
    """Why sizes do not fill a world that holds whole replicas; None if they do."""
    if min(sizes) < 1:
        return Unknown("a size is zero")
    replica = sizes.tensor * sizes.context * sizes.pipeline
    stage = world // sizes.pipeline
    experts = sizes.expert * sizes.expert_tensor
    if replica * sizes.data != world:
        return Unknown(f"{sizes.data} replicas of {replica} ranks are not the {world} of the world")
    if sizes.data % sizes.shard != 0:
        return Unknown(f"shard groups of {sizes.shard} leave {sizes.data % sizes.shard} of {sizes.data} replicas over")
    if stage % experts != 0:
        return Unknown(f"expert groups of {experts} ranks leave {stage % experts} of a stage's {stage} over")
    return None
