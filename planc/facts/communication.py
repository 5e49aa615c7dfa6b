"""What crosses the links inside a pass: tensor, context, expert and pipeline ranks, for one micro batch and for a step.

Numbers of a step are those of the card that has most to do. T is the tokens of a micro batch on one card, t the tensor ranks,
h the hidden size, w the bytes of an activation, m the micro batches of a step. Gradients and weights: `gradients.py`.
"""

from __future__ import annotations

from typing import Any

from planc.facts import constants
from planc.facts.arithmetic import at_largest, largest, where
from planc.facts.collectives import all_reduce_time, all_to_all_time, scatter_time
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.facts.links import links
from planc.plan.model import Unknown


@in_floats
def tensor_collectives(kind: Any, again: Any, sequence: Any) -> Any:
    """Collectives of the tensor ranks in one layer, for a micro batch: all-reduces, or gathers and scatters.

    Formula: 2 forward, 2 backward, 2 more when the layer is recomputed; twice as many with sequence parallelism, where each
        all-reduce is a reduce-scatter and an all-gather
    Source: Shoeybi et al., Megatron-LM (2019), section 3; Korthikanti et al. (2022), section 4.2.2.
    """
    return (4 + 2 * (again if kind == "full" else 0.0)) * where(sequence, 2.0, 1.0)


@in_floats
def tensor_bytes(tokens: Any, width: Any, hidden: Any, tensor: Any, collectives: Any, sequence: Any) -> Any:
    """Bytes that one card sends to its tensor ranks for a layer and micro batch.

    Formula: collectives x w h T (t - 1) / t, twice that for an all-reduce
    Source: Shoeybi et al. (2019), section 3; ring all-reduce.
    """
    return collectives * where(sequence, 1.0, 2.0) * width * hidden * tokens * (tensor - 1) / tensor


@in_floats
def tensor_time(
    tokens: Any, width: Any, hidden: Any, tensor: Any, collectives: Any, sequence: Any, domain: Any, world: Any, intra: Any,
    inter: Any, capability: Any,
) -> Any:  # fmt: skip
    """Seconds of the tensor ranks' collectives for a layer and micro batch.

    Formula: collectives x {all_reduce_time}, with sequence parallelism {scatter_time}, of S = w h T bytes in one message
    Source: definition.
    """
    group = links(tensor, 1.0, domain, world, intra, inter, capability)
    if isinstance(group, Unknown):
        return group
    num_bytes = width * hidden * tokens
    each = where(sequence, scatter_time(group, num_bytes, 1.0), all_reduce_time(group, num_bytes, 1.0))
    return where(1 < tensor, collectives * each, 0.0)


@in_floats
def tensor_exposed(seconds: Any, overlaps: Any, sequence: Any, family: Any) -> Any:
    """Seconds of the tensor ranks' collectives that computation does not hide, for a layer and micro batch.

    Formula: all of it; x (1 - {TENSOR_OVERLAP}) where Megatron overlaps gathers and scatters with the products beside them
    Source: TransformerEngine, user buffers (tp-comm-overlap), which need sequence parallelism.
    """
    if not overlaps or family != "megatron":
        return seconds
    return seconds * where(sequence, 1 - constants.TENSOR_OVERLAP.value, 1.0)


@in_floats
def context_bytes(
    kind: Any, tokens: Any, width: Any, heads: Any, kv_heads: Any, head_dim: Any, tensor: Any, context: Any, again: Any
) -> Any:
    """Bytes that one card sends to its context ranks for a layer and micro batch.

    Formula: with c context ranks: ring and all-gather: keys and values, 2 k d w T / t x (c - 1), three times: forward, and backward with
        their gradients; ulysses: queries, keys, values and output, (2 a + 2 k) d w T / t x (c - 1) / c, forward and backward;
        again when the layer is recomputed
    Source: Liu et al., Ring Attention (2023), section 3; Jacobs et al., DeepSpeed Ulysses (2023), section 3.
    Assumes: `hierarchical` sends what `ring` does.
    """
    if kind == "ulysses":
        once = (2 * heads + 2 * kv_heads) * head_dim * width * tokens / tensor * (context - 1) / context
        return once * (2 + again)
    return 2 * kv_heads * head_dim * width * tokens / tensor * (context - 1) * (3 + again)


@in_floats
def context_time(
    kind: Any, num_bytes: Any, context: Any, tensor: Any, domain: Any, world: Any, intra: Any, inter: Any, again: Any
) -> Any:
    """Seconds of the exchange of context ranks for a layer and micro batch.

    Formula: ulysses: {all_to_all_time}, 4 messages forward and 4 backward; else {scatter_time}, 1 forward and 2 backward; S = bytes x c /
        (c - 1)
    Source: as for the bytes.
    """
    group = links(context, tensor, domain, world, intra, inter, None)
    if isinstance(group, Unknown):
        return group
    if kind == "ulysses":
        found = all_to_all_time(group, num_bytes * context / largest(context - 1, 1.0), 8 + 4 * again)
    else:
        found = scatter_time(group, num_bytes * context / largest(context - 1, 1.0), 3 + again)
    return where(1 < context, found, 0.0)


@in_floats
def context_exposed(kind: Any, seconds: Any, scores: Any, kernel: Any) -> Any:
    """Seconds of the exchange of context ranks that computation does not hide, for a layer and micro batch.

    Formula: ring: what is longer than scores and values take, forward and backward; else all of it
    Source: Liu et al. (2023), section 3: blocks are sent while others are computed; TransformerEngine gathers before.
    """
    if kind in ("ulysses", "all-gather"):
        return seconds
    return largest(seconds - scores * (3.5 if kernel == "fused" else 3.0), 0.0)


@in_floats
def expert_bytes(
    tokens: Any, width: Any, hidden: Any, top_k: Any, expert: Any, tensor: Any, dispatch: Any, count: Any, again: Any
) -> Any:
    """Bytes that one card sends to its expert ranks for an MoE layer and micro batch; 0 without experts.

    Formula: with e expert ranks: all-to-all: w h T / t top_k (e - 1) / e, out and back, forward and backward, again when the layer is
        recomputed; all-gather: w h T / t (e - 1) in place of top_k (e - 1) / e
    Source: Lepikhin et al., GShard (2020), section 3.2; Megatron-LM, token dispatchers.
    Assumes: tokens are spread evenly; tensor ranks share them out.
    """
    if count is None:
        return 0.0
    if top_k is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    copies = expert - 1 if dispatch == "all-gather" else top_k * (expert - 1) / expert
    return width * hidden * tokens / tensor * copies * (4 + 2 * again)


@in_floats
def expert_time(
    num_bytes: Any, expert: Any, expert_tensor: Any, domain: Any, world: Any, intra: Any, inter: Any, again: Any
) -> Any:
    """Seconds of the exchange of expert ranks for an MoE layer and micro batch.

    Formula: {all_to_all_time} of S = bytes x e / (e - 1), 2 messages forward and 2 backward
    Source: as for the bytes.
    Assumes: none of it is hidden.
    """
    group = links(expert, expert_tensor, domain, world, intra, inter, None)
    if isinstance(group, Unknown):
        return group
    found = all_to_all_time(group, num_bytes * expert / largest(expert - 1, 1.0), 4 + 2 * again)
    return where(1 < expert, found, 0.0)


@in_floats
def pipeline_bytes(
    tokens: Any, width: Any, hidden: Any, tensor: Any, name: Any, stages: Any, passes: Any, chunks: Any
) -> Any:
    """Bytes that one card sends to the next and the previous stage in a step.

    Formula: 2 m v w h T, v the chunks of a rank (1 unless interleaved): activations on, gradients back; / t but where
        DeepSpeed's pipeline runs; 0 with one stage
    Source: Narayanan et al. (2021), section 4.1: each tensor rank sends its part, which is gathered on the other side.
    """
    part = 1.0 if name in ("deepspeed", "gpt-neox") else tensor
    sent = 2 * passes * (1.0 if chunks is None else chunks) * width * hidden * tokens / part
    return where(1 < stages, sent, 0.0)


@in_floats
def pipeline_time(num_bytes: Any, bandwidth: Any, stages: Any, passes: Any, chunks: Any, domain: Any, world: Any) -> Any:
    """Seconds that a card takes in a step to send to other stages; all of it is exposed.

    Formula: bytes / (bandwidth x {SEND_SHARE}) + messages x {HOP_TIME}, over several domains x {FAR_HOP_TIME}
    Source: definition.
    Assumes: a stage waits for what it receives: sends are not hidden.
    """
    far = domain < world
    hop = where(far, constants.FAR_HOP_TIME.value, constants.HOP_TIME.value)
    messages = 2 * passes * (1.0 if chunks is None else chunks)
    return where(1 < stages, num_bytes / (bandwidth * constants.SEND_SHARE.value) + messages * hop, 0.0)


@in_floats
def pipeline_messages(stages: Any, passes: Any, chunks: Any) -> Any:
    """Messages that one card sends to other stages in a step.

    Formula: 2 m v
    Source: as for the bytes.
    """
    return where(1 < stages, 2 * passes * (1.0 if chunks is None else chunks), 0.0)


@in_floats
def of_layers(each: Any, passes: Any, layers: tuple[Any, ...], size: Any) -> Any:
    """What one card sends to the other ranks of the axis in a step: its bytes, or how many messages.

    Formula: m x layers x that of a layer, on the stage with most of them; 0 with one rank on the axis
    Source: definition.
    """
    most = layers[0]
    for other in layers[1:]:
        most = largest(most, other)
    return where(1 < size, passes * most * each, 0.0)


@in_floats
def of_slowest(each: Any, passes: Any, seconds: tuple[Any, ...], layers: tuple[Any, ...], size: Any) -> Any:
    """Seconds that a card takes in a step for what it sends along the axis; `exposed`: those that computation does not hide.

    Formula: m x layers x those of a layer, on the slowest stage; 0 with one rank on the axis
    Source: definition.
    """
    return where(1 < size, passes * at_largest(seconds, layers) * each, 0.0)


@in_floats
def context_messages(kind: Any, context: Any, again: Any) -> Any:
    """Messages that one card sends to its context ranks for a layer and micro batch.

    Formula: ring and all-gather: c - 1, three times; ulysses: all-to-alls of c - 1, 4 forward and 4 backward
    Source: as for the bytes.
    """
    return (context - 1) * (8 + 4 * again if kind == "ulysses" else 3 + again)


@in_floats
def expert_messages(expert: Any, again: Any) -> Any:
    """Messages that one card sends to its expert ranks for an MoE layer and micro batch.

    Formula: all-to-alls of e - 1, 2 forward and 2 backward
    Source: as for the bytes.
    """
    return (expert - 1) * (4 + 2 * again)


_T, _W, _H, _TENSOR = "batch.tokens_per_card", "memory.activation_width", "model.hidden", "parallel.tensor"
_AGAIN, _PASSES, _LAYERS, _MOE = "layer.recomputed", "batch.accumulation", "stage.layers[]", "stage.moe_layers[]"
_CLUSTER = ("cluster.domain", "world.size", "cluster.intra_node?", "cluster.inter_node?")
_CHUNKED = ("parallel.pipeline", _PASSES, "pipeline.chunks?")


def _axis(name: str, layers: str, exposed: str) -> tuple[Fact, ...]:
    """The facts of a step of an axis, from those of a layer."""
    size = f"parallel.{name}"
    step, layer = f"communication.{name}", f"layer.{name}"
    return (
        Fact(f"{step}.bytes", "bytes", of_layers, (f"{layer}_bytes", _PASSES, layers, size)),
        Fact(f"{step}.messages", "count", of_layers, (f"{layer}_messages", _PASSES, layers, size)),
        Fact(f"{step}.time", "s", of_slowest, (f"{layer}_time", _PASSES, "stage.pass[]", layers, size)),
        Fact(f"{step}.exposed", "s", of_slowest, (exposed, _PASSES, "stage.pass[]", layers, size)),
    )


FACTS = (
    Fact("layer.tensor_messages", "count", tensor_collectives, ("recompute", _AGAIN, "parallel.sequence")),
    Fact("layer.tensor_bytes", "bytes", tensor_bytes, (_T, _W, _H, _TENSOR, "layer.tensor_messages", "parallel.sequence")),
    Fact("layer.tensor_time", "s", tensor_time, (_T, _W, _H, _TENSOR, "layer.tensor_messages", "parallel.sequence", *_CLUSTER, "cluster.gpu.compute_capability?")),
    Fact("layer.tensor_exposed", "s", tensor_exposed, ("layer.tensor_time", "communication.overlapped", "parallel.sequence", "engine.family")),
    Fact("layer.context_bytes", "bytes", context_bytes, ("context?", _T, _W, "model.heads", "model.kv_heads", "model.head_dim", _TENSOR, "parallel.context", _AGAIN)),
    Fact("layer.context_messages", "count", context_messages, ("context?", "parallel.context", _AGAIN)),
    Fact("layer.context_time", "s", context_time, ("context?", "layer.context_bytes", "parallel.context", _TENSOR, *_CLUSTER, _AGAIN)),
    Fact("layer.context_exposed", "s", context_exposed, ("context?", "layer.context_time", "layer.scores", "kernel.attention")),
    Fact("layer.expert_bytes", "bytes", expert_bytes, (_T, _W, _H, "model.experts.top_k?", "parallel.expert", _TENSOR, "expert.dispatch?", "model.experts.count?", _AGAIN)),
    Fact("layer.expert_messages", "count", expert_messages, ("parallel.expert", _AGAIN)),
    Fact("layer.expert_time", "s", expert_time, ("layer.expert_bytes", "parallel.expert", "parallel.expert_tensor", *_CLUSTER, _AGAIN)),
    *_axis("tensor", _LAYERS, "layer.tensor_exposed"),
    *_axis("context", _LAYERS, "layer.context_exposed"),
    *_axis("expert", _MOE, "layer.expert_time"),
    Fact("communication.pipeline.bytes", "bytes", pipeline_bytes, (_T, _W, _H, _TENSOR, "engine.name", *_CHUNKED)),
    Fact("communication.pipeline.messages", "count", pipeline_messages, _CHUNKED),
    Fact("communication.pipeline.time", "s", pipeline_time, ("communication.pipeline.bytes", "communication.pipeline.bandwidth", *_CHUNKED, "cluster.domain", "world.size")),
    Fact("communication.pipeline.exposed", "s", pipeline_time, ("communication.pipeline.bytes", "communication.pipeline.bandwidth", *_CHUNKED, "cluster.domain", "world.size")),
)  # fmt: skip
