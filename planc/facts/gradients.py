"""What data-parallel ranks send each other in a step: gradients, and weights where they are sharded.

N is the parameters that the heaviest card holds, n the ranks that reduce gradients with each other, p those that share one
copy of the states, b the bytes of a gradient as it is reduced, w those of a weight in the matrix products, m the micro batches.
Experts are reduced by the ranks that hold the same ones, and are counted by themselves.
"""

from __future__ import annotations

from typing import Any

from planc.facts import buckets, constants
from planc.facts.arithmetic import largest, rounded_up, where
from planc.facts.collectives import all_reduce_time, group_members, mean_hop, scatter_time
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.facts.links import links
from planc.plan.model import Unknown


@in_floats
def most(parameters: tuple[Any, ...]) -> Any:
    """Parameters on a card of the stage with most of them, those of experts by themselves.

    Formula: the largest of all stages
    Source: definition.
    """
    found = parameters[0]
    for other in parameters[1:]:
        found = largest(found, other)
    return found


@in_floats
def reductions(stage: Any, passes: Any, family: Any, stages: Any) -> Any:
    """How often a step reduces each gradient.

    Formula: once; with every micro batch where gradients are sharded: from stage 2 on, under Megatron at stage 3; FSDP2 with a pipeline
        once
    Source: DeepSpeed, ZeRO (2020), section 7.2.1; PyTorch FSDP2 reduces after every backward pass, its pipeline schedules after the
        last; Megatron-LM, distributed optimizer.
    """
    each = where((3 if family == "megatron" else 2) <= stage, passes, 1.0)
    return where(1 < stages, 1.0, each) if family == "fsdp2" else each


@in_floats
def data_bytes(
    others: Any, experts: Any, width: Any, weight: Any, group: Any, expert_group: Any, times: Any, stage: Any, replicas: Any,
    adapter: Any,
) -> Any:  # fmt: skip
    """Bytes that one card sends in a step to reduce gradients, and to gather the weights that an optimizer's shard updated.

    Formula: stage 0: 2 N b (n - 1) / n; 1 and 2: N (b + w) (n - 1) / n; 3: N b (n - 1) / n; as often as gradients are reduced; with
        replicas of the shards 2 N / p b (r - 1) / r more
    Source: ring all-reduce: a reduce-scatter and an all-gather of N b (n - 1) / n each; ZeRO (2020), section 7.
    """
    if adapter is not None:  # only its gradients are reduced
        return Unknown("the gradients of adapters are not derived in this version", ("adapter",))
    between = where(0 < stage, 2 * (replicas - 1) / largest(replicas, 1.0), 0.0)  # of what one shard holds
    found: Any = 0.0
    for parameters, ranks in ((others, group), (experts, expert_group)):
        ranks = largest(ranks, 1.0)
        sharded = where(0 < stage, ranks / largest(replicas, 1.0), ranks)
        share = (sharded - 1) / sharded
        reduced = where(0 < stage, 1.0, 2.0) * parameters * width * share * times
        gathered = where((1 <= stage) & (stage < 3), parameters * weight * share, 0.0)
        found = found + reduced + gathered + between * parameters / sharded * width * times
    return found


@in_floats
def data_messages(
    others: Any, experts: Any, width: Any, times: Any, stage: Any, engine: Any, family: Any, bucket: Any, reduced: Any, layers: Any,
    group: Any,
) -> Any:  # fmt: skip
    """Collectives of a step that reduce gradients, and gather updated weights.

    Formula: N / bucket, rounded up, as often as gradients are reduced, twice from stage 1 to 2, where weights are gathered: buckets of
        `shard.bucket` elements, DeepSpeed `shard.reduce_bucket` and 500 million to gather, Megatron 40 million, nanotron {BUCKET}, or tensor
        by tensor from stage 1 on; FSDP2 a layer
    Source: DeepSpeed, reduce_bucket_size and allgather_bucket_size; Megatron-LM, ddp-bucket-size; PyTorch, DistributedDataParallel; nanotron, ZeroDistributedOptimizer.
    """
    both = where((1 <= stage) & (stage < 3), 2.0, 1.0)
    if family == "fsdp2":
        return where(1 < group, layers * times * both, 0.0)
    size = gathered = _BUCKETS.get(engine, 5e8) if bucket is None else bucket
    if engine in ("deepspeed", "gpt-neox"):
        size, gathered = reduced, buckets.DEFAULT
    if bucket is None and engine == "nanotron":
        sent = rounded_up(others + experts, constants.BUCKET.value / width)
        return where(1 < group, where(stage < 1, sent, 2 * _TENSORS_WITHOUT_BIAS * layers), 0.0)
    gathers = where((1 <= stage) & (stage < 3), rounded_up(others + experts, gathered), 0.0)
    return where(1 < group, (rounded_up(others + experts, size) + gathers) * times, 0.0)


_BUCKETS = {"megatron": 4e7}

#: Tensors of a layer with biases and two norms: four products, as many biases, two norms of two each.
_TENSORS = 12.0

#: The same without biases: queries with keys and values, output, gate with up, down, two norms.
_TENSORS_WITHOUT_BIAS = 6.0


@in_floats
def data_time(
    others: Any, experts: Any, width: Any, weight: Any, group: Any, expert_group: Any, times: Any, stage: Any, replicas: Any,
    messages: Any, tensor: Any, expert: Any, expert_tensor: Any, domain: Any, world: Any, intra: Any, inter: Any, capability: Any,
) -> Any:  # fmt: skip
    """Seconds that a card takes in a step to reduce gradients, and to gather the weights that an optimizer's shard updated.

    Formula: stage 0: {all_reduce_time}; 1 and 2: {scatter_time} of gradients and, in half as many messages, of weights; 3: of gradients;
        S = N w as often as they are reduced; with replicas of the shards {all_reduce_time} of one shard between them
    Source: ZeRO (2020), section 7.
    """
    found: Any = 0.0
    for parameters, ranks, stride in ((others, group, tensor), (experts, expert_group, expert * expert_tensor)):
        if isinstance(parameters, float) and parameters == 0:
            continue
        copies = where(0 < stage, replicas, 1.0)
        ranks = largest(ranks / copies, 1.0)
        near = links(ranks, stride, domain, world, intra, inter, capability)
        far = links(copies, stride * ranks, domain, world, intra, inter, capability)
        if isinstance(near, Unknown) or isinstance(far, Unknown):
            return near if isinstance(near, Unknown) else far
        gradients = parameters * width * times
        scattered = scatter_time(near, gradients, messages)
        gathered = scatter_time(near, parameters * weight, messages / 2)
        sharded = where(stage < 3, scattered + gathered, scattered)
        seconds = where(stage < 1, all_reduce_time(near, gradients, messages), sharded)
        between = all_reduce_time(far, gradients / ranks, messages)
        is_there = 0 < parameters
        found = found + where(is_there & (1 < ranks), seconds, 0.0) + where(is_there & (1 < copies), between, 0.0)
    return found


@in_floats
def shard_bytes(parameters: Any, experts: Any, weight: Any, group: Any, expert_group: Any, times: Any) -> Any:
    """Bytes that one card sends in a step to gather sharded weights.

    Formula: gathers x N w (p - 1) / p
    Source: ZeRO (2020), section 7.2.2: weights are gathered for the forward pass and again for the backward pass.
    """
    found: Any = 0.0
    for count, ranks in ((parameters, group), (experts, expert_group)):
        ranks = largest(ranks, 1.0)  # experts of no whole group are shared by nobody
        found = found + times * count * weight * (1 - 1 / ranks)
    return found


@in_floats
def gathers(stage: Any, passes: Any, family: Any, again: Any, stages: Any) -> Any:
    """How often a step gathers each weight.

    Formula: stage 3: twice a micro batch, forward and backward, under DeepSpeed once more for what is recomputed; FSDP2 at stage 2
        once a micro batch, and with a pipeline once; else never
    Source: ZeRO (2020), section 7.2.2; PyTorch FSDP2, reshard_after_forward: a layer is recomputed between its gather and its backward
        pass; DeepSpeed gathers in the hooks of every forward pass.
    """
    each = (2 + (again if family == "deepspeed" else 0.0)) * passes
    if family != "fsdp2":
        return where(3 <= stage, each, 0.0)
    kept = where(1 < stages, 1.0, passes)  # torchtitan reshards after the forward pass only without a pipeline
    return where((3 <= stage) & (stages <= 1), each, where(2 <= stage, kept, 0.0))


@in_floats
def shard_messages(times: Any, layers: Any, group: Any, family: Any) -> Any:
    """All-gathers of sharded weights in a step.

    Formula: gathers x layers of the stage; under DeepSpeed of the tensors of a layer, about 12
    Source: PyTorch FSDP2 gathers a layer at once, DeepSpeed parameter by parameter.
    Assumes: what DeepSpeed's prefetching puts together is not known.
    """
    return where(1 < group, times * layers * (_TENSORS if family == "deepspeed" else 1.0), 0.0)


@in_floats
def shard_time(
    parameters: Any, experts: Any, weight: Any, group: Any, expert_group: Any, times: Any, messages: Any, tensor: Any, expert: Any,
    expert_tensor: Any, domain: Any, world: Any, intra: Any, inter: Any,
) -> Any:  # fmt: skip
    """Seconds that a card takes in a step to gather sharded weights.

    Formula: {scatter_time} of S = gathers x N w bytes
    Source: definition.
    """
    found: Any = 0.0
    for count, ranks, stride in ((parameters, group, tensor), (experts, expert_group, expert * expert_tensor)):
        if isinstance(count, float) and count == 0:
            continue
        near = links(largest(ranks, 1.0), stride, domain, world, intra, inter, None)
        if isinstance(near, Unknown):
            return near
        found = found + where((0 < count) & (1 < ranks) & (0 < times), scatter_time(near, times * count * weight, messages), 0.0)
    return found


def overlapped(family: Any) -> Any:
    """Whether gradients are reduced, and weights gathered, while the passes compute.

    Formula: true under FSDP2, else false
    Source: PyTorch FSDP2 reduces and gathers on streams of their own; Megatron-LM, overlap-grad-reduce, overlap-param-gather and
        tp-comm-overlap are off unless asked for; DeepSpeed reduces after the last backward pass.
    """
    return family == "fsdp2"


@in_floats
def data_exposed(
    seconds: Any, gathered: Any, computed: Any, latency: Any, overlaps: Any, engine: Any, stage: Any, each: Any
) -> Any:
    """Seconds of the exchange of gradients that computation does not hide.

    Formula: all of it, or where it overlaps, what is longer, with the gathers of weights, than the passes, shared out between both;
        and its hops; nanotron at stage 0: what is longer than the backward part of a pass, 2 / 3, and a quarter at least
    Source: see `communication.overlapped`; nanotron reduces bucket by bucket in the last backward pass, but shards after it.
    """
    if engine == "nanotron":
        return where(stage < 1, largest(seconds - each * 2 / 3, seconds / 4), seconds)
    if not overlaps:
        return seconds
    both = largest(seconds + gathered, 1e-30)
    return largest(seconds + gathered - computed, 0.0) * seconds / both + latency


@in_floats
def shard_exposed(seconds: Any, reduced: Any, computed: Any, latency: Any, overlaps: Any) -> Any:
    """Seconds of the gathers of weights that computation does not hide.

    Formula: what is longer, with the reductions of gradients, than the passes, shared out between both; and its hops; where it does not
        overlap, all of it
    Source: as for the gradients.
    """
    if not overlaps:
        return seconds
    both = largest(seconds + reduced, 1e-30)
    return largest(seconds + reduced - computed, 0.0) * seconds / both + latency


@in_floats
def hop_latency(messages: Any, group: Any, domain: Any, world: Any, tensor: Any) -> Any:
    """Seconds of the hops of so many collectives over a group, which stay exposed where they overlap with the passes.

    Formula: messages x (n - 1) x {HOP_TIME}, over several domains x {mean_hop}
    Source: ranks wait for each other at each collective, longer the more there are (table 12).
    """
    members = group_members(group, tensor, domain, world)
    hop = where(group <= members, constants.HOP_TIME.value, mean_hop(members))
    return messages * largest(group - 1, 0.0) * hop


_OTHERS, _EXPERTS = "communication.data.parameters", "communication.data.expert_parameters"
_GROUPS = ("communication.data.group", "parallel.expert_data")
_WIDTH, _WEIGHT, _TIMES = "memory.gradient_width", "memory.compute_width", "communication.data.reductions"
_CLUSTER = ("cluster.domain", "world.size", "cluster.intra_node?", "cluster.inter_node?")
_STRIDES = ("parallel.tensor", "parallel.expert", "parallel.expert_tensor")
_SHARDED = ("shard.group", "shard.expert_group", "communication.shard.gathers")

FACTS = (
    Fact(_OTHERS, "parameters", most, ("stage.parameters[]",)),
    Fact(_EXPERTS, "parameters", most, ("stage.expert_parameters[]",)),
    Fact(_TIMES, "count", reductions, ("shard.stage", "batch.accumulation", "engine.family", "parallel.pipeline")),
    Fact("communication.data.bytes", "bytes", data_bytes, (_OTHERS, _EXPERTS, _WIDTH, _WEIGHT, *_GROUPS, _TIMES, "shard.stage", "shard.replicas", "adapter?")),
    Fact("communication.data.messages", "count", data_messages, (_OTHERS, _EXPERTS, _WIDTH, _TIMES, "shard.stage", "engine.name", "engine.family", "shard.bucket?", "shard.reduce_bucket", "pipeline.longest_stage", "communication.data.group")),
    Fact("communication.data.time", "s", data_time, (_OTHERS, _EXPERTS, _WIDTH, _WEIGHT, *_GROUPS, _TIMES, "shard.stage", "shard.replicas", "communication.data.messages", *_STRIDES, *_CLUSTER, "cluster.gpu.compute_capability?")),
    Fact("communication.overlapped", "word", overlapped, ("engine.family",)),
    Fact("communication.data.latency", "s", hop_latency, ("communication.data.messages", "shard.group", "cluster.domain", "world.size", "parallel.tensor")),
    Fact("communication.data.exposed", "s", data_exposed, ("communication.data.time", "communication.shard.time", "step.passes", "communication.data.latency", "communication.overlapped", "engine.name", "shard.stage", "step.pass")),
    Fact("communication.shard.gathers", "count", gathers, ("shard.stage", "batch.accumulation", "engine.family", "layer.recomputed", "parallel.pipeline")),
    Fact("communication.shard.bytes", "bytes", shard_bytes, (_OTHERS, _EXPERTS, _WEIGHT, *_SHARDED)),
    Fact("communication.shard.messages", "count", shard_messages, ("communication.shard.gathers", "pipeline.longest_stage", "shard.group", "engine.family")),
    Fact("communication.shard.time", "s", shard_time, (_OTHERS, _EXPERTS, _WEIGHT, *_SHARDED, "communication.shard.messages", *_STRIDES, *_CLUSTER)),
    Fact("communication.shard.latency", "s", hop_latency, ("communication.shard.messages", "shard.group", "cluster.domain", "world.size", "parallel.tensor")),
    Fact("communication.shard.exposed", "s", shard_exposed, ("communication.shard.time", "communication.data.time", "step.passes", "communication.shard.latency", "communication.overlapped")),
)  # fmt: skip
