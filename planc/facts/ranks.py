"""Ranks: how many there are and how the axes share them out.

Ranks are numbered with tensor innermost, then context, data, and pipeline outermost, the order in which Megatron, DeepSpeed
and torchtitan lay out their groups; so a group of tensor x context x data ranks is a run of consecutive ranks.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import is_array, remainder, where, whole
from planc.facts.fact import Fact


def world_size(num_nodes: Any, gpus_per_node: Any) -> Any:
    """Ranks in the job.

    Formula: nodes x gpus_per_node
    Source: torchrun, WORLD_SIZE = nnodes x nproc-per-node.
    """
    return num_nodes * gpus_per_node


def model_parallel_size(tensor: Any, pipeline: Any, context: Any) -> Any:
    """Ranks that together hold one replica of the model.

    Formula: tensor x pipeline x context
    Source: Megatron-LM, parallel_state.
    """
    return tensor * pipeline * context


def replicas(world: Any, model_parallel: Any) -> Any:
    """Whole replicas that the world holds.

    Formula: world // model_parallel, rounded down
    Source: Megatron-LM, parallel_state.
    """
    return whole(world, model_parallel)


def leftover_ranks(world: Any, model_parallel: Any) -> Any:
    """Ranks that are left over once the world is cut into replicas.

    Formula: world mod model_parallel
    Source: the remainder of the division above; every trainer refuses a world with one.
    """
    return remainder(world, model_parallel)


def shard_group(size: Any, context: Any) -> Any:
    """Ranks that share one copy of the sharded states, p in the memory formulas.

    Formula: shard.size x context
    Source: context ranks see other tokens and hold the same weights, so DeepSpeed, Megatron and torchtitan shard over data x context.
    """
    return size * context


def shard_replicas(data: Any, size: Any) -> Any:
    """Copies of the sharded states: 1 unless hybrid sharding is on.

    Formula: data // shard.size, rounded down
    Source: HSDP, PyTorch FSDP HYBRID_SHARD.
    """
    return whole(data, size)


def leftover_replicas(data: Any, size: Any) -> Any:
    """Data-parallel ranks that are left over once they are cut into shard groups.

    Formula: data mod shard.size
    Source: the remainder of the division above.
    """
    return remainder(data, size)


def straddling_tensor_ranks(tensor: Any, domain: Any, world: Any) -> Any:
    """Ranks by which the tensor groups miss a fast-interconnect domain; 0 if no group crosses one.

    Formula: 0 if the world fits in one domain; else tensor if tensor > domain, else domain mod tensor
    Source: groups are runs of `tensor` consecutive ranks, so with a domain of 8 groups of 6 straddle: ranks 6 to 11.
    """
    over = where(domain < tensor, tensor, remainder(domain, tensor))
    if is_array(tensor) or is_array(domain) or is_array(world):
        return where(world <= domain, 0, over)
    return 0 if world <= domain else over


FACTS = (
    Fact("world.size", "ranks", world_size, ("cluster.nodes", "cluster.gpus_per_node")),
    Fact(
        "world.model_parallel",
        "ranks",
        model_parallel_size,
        ("parallel.tensor", "parallel.pipeline", "parallel.context"),
    ),
    Fact("world.replicas", "count", replicas, ("world.size", "world.model_parallel")),
    Fact("world.leftover", "ranks", leftover_ranks, ("world.size", "world.model_parallel")),
    Fact("shard.group", "ranks", shard_group, ("shard.size", "parallel.context")),
    Fact("shard.replicas", "count", shard_replicas, ("parallel.data", "shard.size")),
    Fact("shard.leftover", "ranks", leftover_replicas, ("parallel.data", "shard.size")),
    Fact("parallel.straddling", "ranks", straddling_tensor_ranks, ("parallel.tensor", "cluster.domain", "world.size")),
)
