"""Elements that DeepSpeed reduces and gathers at once, which its file says for the plan's model."""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import largest, where, whole
from planc.facts.fact import Fact
from planc.plan.model import Unknown

#: DeepSpeed 0.19.8, zero_optimization.reduce_bucket_size and allgather_bucket_size, which is as large.
DEFAULT = 500_000_000


def reduce_bucket(bucket: Any, hidden: Any, sized: Any, runtime: Any) -> Any:
    """Elements of gradients that DeepSpeed reduces at once.

    Formula: `shard.bucket`; unless it is written hidden^2 where planc writes DeepSpeed's file, else DeepSpeed's 500 million; 0 under other
        trainers
    Source: transformers 5.23, integrations/deepspeed.py: what `auto` stands for; DeepSpeed 0.19.8, reduce_bucket_size.
    Assumes: where accelerate starts DeepSpeed too, its default, for no key of accelerate's file says another.
    """
    if runtime != "deepspeed":
        return 0
    if bucket is not None:
        return bucket
    if not sized:
        return DEFAULT
    return Unknown("`model.hidden` is not set", ("model.hidden",), unset=True) if hidden is None else hidden * hidden


def prefetch_bucket(hidden: Any, sized: Any, stage: Any) -> Any:
    """Elements of weights that DeepSpeed gathers at stage 3 before they are used.

    Formula: 9 hidden^2 / 10, rounded down, where planc writes DeepSpeed's file; else 0
    Source: transformers 5.23, integrations/deepspeed.py: what `auto` stands for at stage 3, in whole numbers.
    """
    return where(3 <= stage, whole(9 * hidden * hidden, 10), 0) if sized else 0


def persistence_threshold(hidden: Any, sized: Any, stage: Any) -> Any:
    """Elements up to which each card keeps a weight whole at stage 3: norms and biases.

    Formula: 10 hidden, where planc writes DeepSpeed's file; else 0
    Source: transformers 5.23, integrations/deepspeed.py: what `auto` stands for at stage 3.
    Assumes: the memory of such weights is counted as shared.
    """
    return where(3 <= stage, 10 * hidden, 0) if sized else 0


def largest_piece(embedding: Any, experts: Any, hidden: Any, ffn: Any, ranks: Any) -> Any:
    """Elements of the largest piece of one weight that a card holds at stage 3.

    Formula: max(V h, all experts of a layer, h f) / ranks that share a weight, rounded up
    Source: DeepSpeed 0.19.8, partitioned_param_swapper.py: a piece that is read from NVMe has to fit one buffer.
    Assumes: the experts of a layer are one tensor, as in transformers 5; one layer at a time is no larger.
    """
    widest = largest(largest(embedding, experts), hidden * (0 if ffn is None else ffn))
    return whole(widest + ranks - 1, ranks)


_SIZED = "engine.sizes_buckets"

FACTS = (
    Fact("shard.reduce_bucket", "count", reduce_bucket, ("shard.bucket?", "model.hidden~", _SIZED, "engine.runtime")),
    Fact("shard.prefetch_bucket", "count", prefetch_bucket, ("model.hidden", _SIZED, "shard.stage")),
    Fact("shard.persistence_threshold", "count", persistence_threshold, ("model.hidden", _SIZED, "shard.stage")),
    Fact("shard.largest_piece", "count", largest_piece, ("model.embedding_parameters", "model.moe_parameters", "model.hidden", "model.ffn?", "shard.group")),
)
