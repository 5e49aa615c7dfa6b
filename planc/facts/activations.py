"""Bytes of activations that a card holds: of a layer after recomputation, of its fullest stage, of the logits, at the peak.

Peaks are those of live tensors: what the allocator loses to fragments and what kernels need while they run come on top, and
so do buffers of communication. T is the tokens of a micro batch on one card, t the tensor ranks, V the vocabulary.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, product, rounded_up, where
from planc.facts.fact import Fact
from planc.facts.pipeline import in_flight
from planc.plan.model import Unknown


def activation_bytes_per_layer(
    kind: Any, whole: Any, layer_input: Any, selected: Any, method: Any, block: Any, layers: Any, longest: Any, stages: Any,
    chunks: Any, offloaded: Any, adapter: Any,
) -> Any:  # fmt: skip
    """Bytes of activations that a layer keeps until its backward pass, for one micro batch, on average over layers.

    Formula: none: whole layer; selective: what is selected; full: input of the layer, with the method `uniform` / layers of a chunk,
        which a stage ends; `block` layers of each chunk of a stage so, the others whole
    Source: Korthikanti et al. (2022), table 2; Megatron-LM, recompute_method.
    """
    if adapter is not None:
        return Unknown("the activations of adapters are not derived in this version", ("adapter",))
    if offloaded:
        return Unknown("what offloading leaves on the card is not derived in this version", ("offload.activations",))
    if kind == "none":
        return whole
    if kind == "selective":
        return selected
    if method != "block":
        return layer_input if block is None else divide(layer_input, _smaller(block, longest))
    if block is None:
        return Unknown("`recompute.layers` is not set", ("recompute.layers",), unset=True)
    again = block * stages * (1 if chunks is None else chunks)
    share = divide(_smaller(again, layers), layers)
    return share if isinstance(share, Unknown) else whole + share * (layer_input - whole)


def recomputed_bytes(kind: Any, whole: Any, method: Any, block: Any, longest: Any, engine: Any) -> Any:
    """Bytes of activations that recomputation brings back at once, in the backward pass.

    Formula: full: one whole layer, or all layers of a chunk with the method `uniform`; selective under FSDP2: one whole layer;
        else 0
    Source: Megatron-LM, recompute_method; Chen et al., Training Deep Nets with Sublinear Memory Cost (2016), section 3.
    Assumes: what Megatron's `selective` brings back of one layer's attention is left out.
    """
    if kind == "none" or (kind == "selective" and engine == "megatron"):
        return 0
    return whole if method == "block" or block is None else whole * _smaller(block, longest)


def held_layers(
    layers: Any, stages: Any, micro_batches: Any, schedule: Any, chunks: Any, group: Any, limit: Any, first: Any,
    last: Any, stated: Any, embedding: Any, loss: Any, layout: Any,
) -> Any:  # fmt: skip
    """Layers whose activations the fullest stage holds at once, each counted once for every micro batch that it holds.

    Formula: the largest of: layers of a stage x micro batches that it holds at most
    Source: Narayanan et al. (2021), section 2.2; Korthikanti et al. (2022), section 4.2.3: L for 1F1B, L (1 + (p - 1) / p m)
        interleaved.
    Assumes: an uneven division gives the first stage one layer more; all layers of a stage are held by as many micro batches.
    """
    if layout is not None:
        return Unknown("the layers of a `layout` string are not counted in this version", ("pipeline.layout",))

    schedule_of = (stages, micro_batches, schedule, chunks, group, limit)
    if stated is not None:
        if is_array(stages):
            return Unknown("a stated split has one pipeline size", ("pipeline.layers",))
        sizes = tuple((stage, sum(stated[stage::stages])) for stage in range(min(stages, len(stated))))
    else:
        of_first, of_others, of_last = _split(layers, stages, first, last, embedding, loss)
        sizes = (0, of_first), (1, where(2 < stages, of_others, 0)), (stages - 1, of_last)
    fullest: Any = 0
    for stage, count in sizes:
        micro = in_flight(stage, *schedule_of)
        if isinstance(micro, Unknown):
            return micro
        fullest = largest(fullest, count * micro)
    return fullest


def last_held_layers(
    layers: Any, stages: Any, micro_batches: Any, schedule: Any, chunks: Any, group: Any, limit: Any, first: Any,
    last: Any, stated: Any, embedding: Any, loss: Any, layout: Any,
) -> Any:  # fmt: skip
    """Layers whose activations the last stage holds at once, each counted once for every micro batch that it holds.

    Formula: layers of the last stage x micro batches that it holds at most
    Source: as for the fullest stage.
    Assumes: as for the fullest stage; an uneven division does not shorten the last stage.
    """
    if layout is not None:
        return Unknown("the layers of a `layout` string are not counted in this version", ("pipeline.layout",))
    count = in_flight(stages - 1, stages, micro_batches, schedule, chunks, group, limit)
    if isinstance(count, Unknown):
        return count
    if stated is None:
        return _split(layers, stages, first, last, embedding, loss)[2] * count
    if is_array(stages):
        return Unknown("a stated split has one pipeline size", ("pipeline.layers",))
    return sum(stated[stages - 1 :: stages]) * count


def _smaller(left: Any, right: Any) -> Any:
    return where(left < right, left, right)


def _split(layers: Any, stages: Any, first: Any, last: Any, embedding: Any, loss: Any) -> tuple[Any, Any, Any]:
    """Layers of the first stage, of those between, and of the last one, as `pipeline.longest_stage` splits them."""
    ends = [end for end in (first, last) if end is not None]
    if ends:
        share = rounded_up(layers - sum(ends), largest(stages - len(ends), 0))
        at_start, at_end = share if first is None else first, share if last is None else last
    else:
        share = rounded_up(layers + int(embedding) + int(loss), stages)
        at_start, at_end = share - int(embedding), share - int(loss)
    alone = stages == 1
    return where(alone, layers, at_start), share, where(alone, layers, at_end)


def activation_bytes(per_layer: Any, held: Any) -> Any:
    """Bytes of activations of the layers that the fullest stage holds at most.

    Formula: bytes of a layer x layers held, those of every micro batch in flight
    Source: Korthikanti et al. (2022), section 4.2.3 and equation 5.
    Assumes: attention is one fused kernel, which keeps no scores, else see `memory.activations_plain_attention`; embedding, last norm
        and logits are not among them.
    """
    return product(per_layer, held)


def activation_bytes_plain_attention(activations: Any, scores: Any, held: Any, kind: Any) -> Any:
    """Bytes of activations on the fullest stage if attention keeps its scores: no fused kernel, nothing of it recomputed.

    Formula: activations + scores of a layer x layers held; the same with recomputation
    Source: Korthikanti et al. (2022), equations 1, 2 and 4.
    Assumes: with full recomputation by the method `block`, the layers that are not recomputed keep no scores.
    """
    return activations if kind != "none" else activations + product(scores, held)


#: Bytes that logits and loss take for an element, by engine: largest sum of copies in the loss and its gradient.
_LOGIT_WIDTH = {"megatron": 6, "fsdp2": 12}


def logit_width(engine: Any) -> Any:
    """Bytes that the loss needs for each logit.

    Formula: 6 under Megatron, a 16-bit logit and an fp32 copy that becomes its gradient; 12 under FSDP2, three fp32 copies
    Source: Megatron-LM, vocab_parallel_cross_entropy and its functional tests' peaks; PyTorch's FSDP2 memory tracker with
        cross_entropy(logits.float()).
    Assumes: the loss takes all tokens of a micro batch at once; nanotron was seen to take 12.
    """
    width = _LOGIT_WIDTH.get(engine)
    return Unknown(f"what the loss keeps of logits is not known for the engine `{engine}`") if width is None else width


def logit_bytes(tokens: Any, width: Any, vocab: Any, tensor: Any) -> Any:
    """Bytes of logits and loss on the last stage, for one micro batch.

    Formula: bytes of a logit x V T / t
    Source: Korthikanti et al. (2022), section 4.3; Megatron-LM and torchtitan compute the loss on shards of the vocabulary.
    Assumes: the vocabulary is not padded; the loss is not computed in chunks.
    """
    return divide(product(width * vocab, tokens), tensor)


def peak_bytes(per_layer: Any, held: Any, held_last: Any, recomputed: Any, logits: Any) -> Any:
    """Bytes of activations and logits on the card that needs most of them, at the peak of a forward and backward pass.

    Formula: the larger of: layers held by the fullest stage + what is recomputed at once; layers held by the last stage + the
        larger of logits and what is recomputed at once
    Source: the logits are gone before a layer's backward pass begins; PyTorch's FSDP2 memory tracker.
    Assumes: fused attention; embedding and last norm, gathered weights and gradients of activations are left out.
    """
    fullest = product(per_layer, held) + recomputed
    return largest(fullest, product(per_layer, held_last) + largest(logits, recomputed))


_STAGES = (
    "model.layers", "parallel.pipeline", "batch.accumulation", "pipeline", "pipeline.chunks?", "pipeline.group?",
    "pipeline.limit?", "pipeline.first_stage_layers?", "pipeline.last_stage_layers?", "pipeline.layers?",
    "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "pipeline.layout?",
)  # fmt: skip
_LAYER, _AGAIN = "memory.activations_per_layer", "memory.recomputed"
_HELD, _LAST = "memory.held_layers", "memory.last_held_layers"

FACTS = (
    Fact(_LAYER, "bytes", activation_bytes_per_layer, (
        "recompute", "memory.layer_whole", "memory.layer_input", "memory.layer_selected", "recompute.method?", "recompute.layers?",
        "model.layers", "pipeline.longest_stage", "parallel.pipeline", "pipeline.chunks?", "offload.activations?", "adapter?",
    )),
    Fact(_AGAIN, "bytes", recomputed_bytes, ("recompute", "memory.layer_whole", "recompute.method?", "recompute.layers?", "pipeline.longest_stage", "engine.name")),
    Fact(_HELD, "layers", held_layers, _STAGES),
    Fact(_LAST, "layers", last_held_layers, _STAGES),
    Fact("memory.activations", "bytes", activation_bytes, (_LAYER, _HELD)),
    Fact("memory.activations_plain_attention", "bytes", activation_bytes_plain_attention, ("memory.activations", "memory.layer_scores", _HELD, "recompute")),
    Fact("memory.logit_width", "bytes", logit_width, ("engine.name",)),
    Fact("memory.logits", "bytes", logit_bytes, ("batch.tokens_per_card", "memory.logit_width", "model.vocab", "parallel.tensor")),
    Fact("memory.activations_peak", "bytes", peak_bytes, (_LAYER, _HELD, _LAST, _AGAIN, "memory.logits")),
)  # fmt: skip
