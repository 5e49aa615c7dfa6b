"""What a card holds for a while to work with: weights gathered for use, their gradients, temporaries, buffers of collectives.

Three moments of a step are told apart, of which one is the peak: the loss, when all activations and the logits are there; the
backward pass of a layer, with what is gathered and recomputed for it; and the end of the backward pass, when the gradients of
embedding and output layer are reduced. T is the tokens of a micro batch on one card, t the tensor ranks, w the bytes of one
activation, h the hidden size, f the FFN width; N is the parameters of a card of the stage, P those of its largest layer.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import at_largest, divide, is_array, largest, product, smallest, total, where
from planc.facts.fact import Fact
from planc.plan.model import Unknown

#: DeepSpeed 0.19.8, zero_optimization: weights that stage 3 keeps gathered at most (stage3_max_live_parameters).
_MOST_GATHERED = 1_000_000_000


def gradients_at_loss(gradients: Any, accumulation: Any, family: Any) -> Any:
    """Bytes of gradients that are there when the loss is computed.

    Formula: all; with one micro batch a step under FSDP2 none, as they are made in the backward pass
    Source: PyTorch's FSDP2 memory tracker; Megatron-LM and DeepSpeed keep their buffers of gradients.
    Assumes: the optimizer's zero_grad sets gradients to none, which is its default.
    """
    return where(accumulation <= 1, 0, gradients) if family == "fsdp2" else gradients


def gradients_in_backward(
    gradients: Any, accumulation: Any, family: Any, layer: Any, others: Any, experts: Any
) -> Any:  # fmt: skip
    """Bytes of gradients that are there in the backward pass of the last layer but one.

    Formula: all; with one micro batch a step under FSDP2 those of one layer, gradients x P / N
    Source: as for the loss.
    """
    if family != "fsdp2":
        return gradients
    share = divide(layer, largest(others + experts, 1))
    return share if isinstance(share, Unknown) else where(accumulation <= 1, product(gradients, share), gradients)


def gradients_at_end(gradients: Any, accumulation: Any, family: Any, ends: Any, others: Any, experts: Any) -> Any:
    """Bytes of gradients that are there when those of embedding and output layer are reduced.

    Formula: all; with one micro batch a step under FSDP2 those of the layers, gradients x (1 - parameters of the ends / N)
    Source: as for the loss.
    """
    if family != "fsdp2":
        return gradients
    share = divide(ends, largest(others + experts, 1))
    return share if isinstance(share, Unknown) else where(accumulation <= 1, product(gradients, 1 - share), gradients)


def working_set_bytes(
    layer: Any, ends: Any, others: Any, experts: Any, layers: Any, stage: Any, family: Any, compute: Any, reduced: Any, rows: Any,
    hidden: Any, tensor: Any, has_head: Any,
) -> Any:  # fmt: skip
    """Bytes of weights gathered at once in the backward pass of a layer, and of gradients that are not shared out yet.

    Formula: below stage 2 nothing; FSDP2: gradients of a layer as they are reduced and of the output layer, at stage 3 two gathered
        layers and embedding and output layer with them; DeepSpeed at stage 3: N weights, at most 1e9, and a layer's gradients
    Source: PyTorch's FSDP2 memory tracker: the next layer is gathered while one computes, and its root, which is reduced last,
        stays gathered; DeepSpeed, stage3_max_live_parameters.
    """
    if family == "megatron" or (not is_array(stage) and stage < 2):
        return 0
    if family == "deepspeed":
        needed = product(smallest(others + experts, _MOST_GATHERED) + layer, compute)
        return where(3 <= stage, needed, 0)
    head = where(has_head, divide(rows * hidden, tensor), 0)
    gathered = where(3 <= stage, ends + where(1 < layers, 2, 1) * layer, 0)
    needed = total(product(gathered, compute), product(head, compute), product(layer, reduced))
    return where(2 <= stage, needed, 0)


def ends_working_set_bytes(
    ends: Any, layer: Any, stage: Any, family: Any, compute: Any, reduced: Any, rows: Any, hidden: Any, tensor: Any,
    has_head: Any, has_embedding: Any,
) -> Any:  # fmt: skip
    """Bytes of weights and gradients of embedding and output layer at the end of the backward pass, before they are shared out.

    Formula: FSDP2 from stage 2 on, the larger of: their parameters x (bytes in the products + bytes as they are reduced); while the
        embedding's gradient is made, w (V h + 2 V h / t), w (V h + V h) for t = 1, with the output layer's, their parameters gathered
        at stage 3, and the gradients of the first layer as they are reduced; else 0
    Source: PyTorch's FSDP2 memory tracker: the gradient of an embedding that is split over tensor ranks is made whole.
    """
    if family != "fsdp2":
        return 0
    part = divide(rows * hidden, tensor)
    if isinstance(part, Unknown):
        return part
    made = where(has_embedding, rows * hidden + where(tensor == 1, 0, part), 0) + where(has_head, part, 0)
    made = made + where(3 <= stage, ends, 0)
    embedding = where(has_embedding, product(made, compute) + product(layer, reduced), 0)
    return where(2 <= stage, largest(product(ends, compute + reduced), embedding), 0)


def backward_activations(activations: Any, per_layer: Any, ends: Any, layers: Any, family: Any) -> Any:
    """Bytes of activations that are there in the backward pass of a layer.

    Formula: those of the layers that are held; under FSDP2, of the last layer but one, a layer less
    Source: PyTorch's FSDP2 memory tracker; the ends of the model are done with by then.
    """
    return activations - ends - (where(0 < layers, per_layer, 0) if family == "fsdp2" else 0)


def temporary_bytes(
    recomputed: Any, family: Any, tokens: Any, width: Any, hidden: Any, ffn: Any, tensor: Any, sequence: Any, layer: Any, compute: Any,
    layers: Any,
) -> Any:  # fmt: skip
    """Bytes that the backward pass of a layer makes and drops, with what is recomputed for it.

    Formula: recomputed + the largest of: w (h f + 2 f T) / t + w h T, before the MLP is done; 3 w h f / t + 8 w h T - 4 w f T / t, in its
        norm; gradients of P and w h T, at the end; h T / t with sequence parallelism; under Megatron only what is recomputed
    Source: PyTorch's FSDP2 memory tracker; Megatron-LM's functional tests, whose peak is the loss.
    """
    if family == "megatron":
        return recomputed
    inputs = divide(width * hidden * tokens, where(sequence, tensor, 1))
    inside = divide(width * ffn * (hidden + 2 * tokens), tensor)
    norm = divide(width * ffn * (3 * hidden - 4 * tokens), tensor)
    if isinstance(inputs, Unknown) or isinstance(inside, Unknown) or isinstance(norm, Unknown):
        return next(value for value in (inputs, inside, norm) if isinstance(value, Unknown))
    made = largest(largest(inside + inputs, norm + 8 * inputs), product(layer, compute) + inputs)
    return recomputed + where(0 < layers, made, 0)


def buffer_bytes(others: Any, experts: Any, stage: Any, engine: Any, bucket: Any, width: Any, data: Any) -> Any:
    """Bytes of the buffers in which gradients are gathered and reduced.

    Formula: with several replicas from stage 1 on, DeepSpeed: `shard.reduce_bucket` elements, as they are reduced; gpt-neox: as many for the reduction and for the gather, at most N each; else 0, for gradients are reduced where they are kept
    Source: DeepSpeed 0.19.8, reduce_bucket_size: the buffer is made whole, however small the model is; as of 2022 its
        allgather_bucket_size beside it; Megatron-LM, _ParamAndGradBuffer; PyTorch FSDP2.
    Assumes: overlap_comm is left at its default, by which stages 1 and 2 have one buffer.
    """
    if engine not in ("deepspeed", "gpt-neox"):
        return 0
    elements = 2 * smallest(others + experts, bucket) if engine == "gpt-neox" else bucket
    return where((1 <= stage) & (1 < data), product(elements, width), 0)


def moment_bytes(gradients: Any, *others: Any) -> Any:
    """Bytes of what is there at this moment of the step beside weights and optimizer states.

    Formula: the sum of gradients, working set, activations and what comes and goes
    Source: definition.
    """
    return total(gradients, *others)


def peak_moment(loss: Any, backward: Any, end: Any) -> Any:
    """The moment of a step at which the stage holds most: 0 the loss, 1 the backward pass of a layer, 2 its end.

    Formula: the largest of the three
    Source: definition.
    """
    return at_largest((loss, backward, end), (0, 1, 2))


def gradients_at_peak(moment: Any, loss: Any, backward: Any, end: Any, gradients: Any) -> Any:
    """Bytes of gradients at the peak of the step.

    Formula: those of the moment at which the stage holds most; all, where that is not known
    Source: definition.
    """
    return gradients if moment is None else _at_moment(moment, loss, backward, end)


def working_set_at_peak(moment: Any, backward: Any, end: Any) -> Any:
    """Bytes of gathered weights, and of gradients that are not shared out yet, at the peak of the step.

    Formula: those of the moment at which the stage holds most; at the loss none
    Source: definition.
    """
    return _at_moment(moment, 0, backward, end)


def activations_at_peak(moment: Any, loss: Any, backward: Any) -> Any:
    """Bytes of activations at the peak of the step.

    Formula: those of the moment at which the stage holds most; at the end of the backward pass none
    Source: definition.
    """
    return _at_moment(moment, loss, backward, 0)


def transient_at_peak(moment: Any, logits: Any, temporary: Any) -> Any:
    """Bytes that come and go within a pass, at the peak of the step: logits, or what the backward pass of a layer makes.

    Formula: those of the moment at which the stage holds most; at the end of the backward pass none
    Source: definition.
    """
    return _at_moment(moment, logits, temporary, 0)


def _at_moment(moment: Any, loss: Any, backward: Any, end: Any) -> Any:
    return where(moment == 0, loss, where(moment == 1, backward, end))


_N = ("stage.parameters", "stage.expert_parameters")

FACTS = (
    Fact("stage.loss_gradients", "bytes", gradients_at_loss, ("stage.gradients", "batch.accumulation", "engine.family")),
    Fact("stage.backward_gradients", "bytes", gradients_in_backward, ("stage.gradients", "batch.accumulation", "engine.family", "stage.largest_layer", *_N)),
    Fact("stage.end_gradients", "bytes", gradients_at_end, ("stage.gradients", "batch.accumulation", "engine.family", "stage.end_parameters", *_N)),
    Fact("stage.gathered", "bytes", working_set_bytes, (
        "stage.largest_layer", "stage.end_parameters", *_N, "stage.layers", "shard.stage", "engine.family", "memory.compute_width",
        "memory.gradient_width", "parallel.padded_vocab", "model.hidden", "parallel.tensor", "stage.has_head",
    )),
    Fact("stage.ends_gathered", "bytes", ends_working_set_bytes, (
        "stage.end_parameters", "stage.largest_layer", "shard.stage", "engine.family", "memory.compute_width", "memory.gradient_width",
        "parallel.padded_vocab", "model.hidden", "parallel.tensor", "stage.has_head", "stage.has_embedding",
    )),
    Fact("stage.backward_activations", "bytes", backward_activations, ("stage.activations", "stage.layer_activations", "stage.end_activations", "stage.layers", "engine.family")),
    Fact("stage.temporary", "bytes", temporary_bytes, (
        "stage.recomputed", "engine.family", "batch.tokens_per_card", "memory.activation_width", "model.hidden", "model.ffn",
        "parallel.tensor", "parallel.sequence", "stage.largest_layer", "memory.compute_width", "stage.layers",
    )),
    Fact("stage.at_loss", "bytes", moment_bytes, ("stage.loss_gradients", "stage.activations", "stage.logits")),
    Fact("stage.in_backward", "bytes", moment_bytes, ("stage.backward_gradients", "stage.gathered", "stage.backward_activations", "stage.temporary")),
    Fact("stage.at_end", "bytes", moment_bytes, ("stage.end_gradients", "stage.ends_gathered")),
    Fact("stage.moment", "count", peak_moment, ("stage.at_loss", "stage.in_backward", "stage.at_end")),
    Fact("stage.live_gradients", "bytes", gradients_at_peak, ("stage.moment~", "stage.loss_gradients~", "stage.backward_gradients~", "stage.end_gradients~", "stage.gradients")),
    Fact("stage.working_set", "bytes", working_set_at_peak, ("stage.moment", "stage.gathered", "stage.ends_gathered")),
    Fact("stage.live_activations", "bytes", activations_at_peak, ("stage.moment", "stage.activations", "stage.backward_activations")),
    Fact("stage.transient", "bytes", transient_at_peak, ("stage.moment", "stage.logits", "stage.temporary")),
    Fact("stage.buffers", "bytes", buffer_bytes, (*_N, "shard.stage", "engine.name", "shard.reduce_bucket", "memory.gradient_width", "parallel.data")),
)  # fmt: skip
