"""Bytes of activations that a card of each stage holds: of a layer after recomputation, of all its layers, of the logits.

Peaks are those of live tensors: what the allocator loses to fragments and what kernels need while they run come on top, and
so do buffers of communication. T is the tokens of a micro batch on one card, t the tensor ranks, V the vocabulary.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, largest, product, rounded_up, smallest, total, where
from planc.facts.fact import Fact
from planc.facts.layer_activations import norm_token_bytes
from planc.plan.model import Unknown


def activation_bytes_per_layer(
    kind: Any, whole: Any, layer_input: Any, selected: Any, method: Any, block: Any, layers: Any, chunks: Any, offloaded: Any,
    adapter: Any,
) -> Any:  # fmt: skip
    """Bytes of activations that a layer of the stage keeps until its backward pass, for one micro batch, on average.

    Formula: none: whole layer; selective: what is selected; full: input of the layer, with the method `uniform` / layers of a block,
        which the stage's chunk ends; `block` layers of each chunk so, the others whole
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
        return layer_input if block is None else divide(layer_input, _block(block, layers, chunks))
    if block is None:
        return Unknown("`recompute.layers` is not set", ("recompute.layers",), unset=True)
    again = block * (1 if chunks is None else chunks)
    share = divide(smallest(again, layers), largest(layers, 1))
    return share if isinstance(share, Unknown) else whole + share * (layer_input - whole)


def _block(block: Any, layers: Any, chunks: Any) -> Any:
    """Layers of one recomputed block: at most those of a chunk of the stage, and at least one."""
    of_chunk = layers if chunks is None else rounded_up(layers, chunks)
    return smallest(block, largest(of_chunk, 1))


def recomputed_bytes(kind: Any, whole: Any, method: Any, block: Any, layers: Any, chunks: Any, engine: Any) -> Any:
    """Bytes of activations that recomputation brings back at once on the stage, in the backward pass.

    Formula: full: one whole layer, or all layers of a block with the method `uniform`; selective under FSDP2: one whole layer;
        else 0
    Source: Megatron-LM, recompute_method; Chen et al., Training Deep Nets with Sublinear Memory Cost (2016), section 3.
    Assumes: what Megatron's `selective` brings back of one layer's attention is left out.
    """
    if kind == "none" or (kind == "selective" and engine == "megatron"):
        return 0
    once = whole if method == "block" or block is None else whole * _block(block, layers, chunks)
    return where(0 < layers, once, 0)


def held_layers(layers: Any, micro_batches: Any) -> Any:
    """Layers whose activations the stage holds at once, each counted once for every micro batch that it holds.

    Formula: layers of the stage x micro batches that it holds at most
    Source: Narayanan et al. (2021), section 2.2; Korthikanti et al. (2022), section 4.2.3: on the first stage L for 1F1B,
        L (1 + (p - 1) / p m) interleaved.
    Assumes: all layers of a stage are held by as many micro batches.
    """
    return product(layers, micro_batches)


def activation_bytes(per_layer: Any, held: Any, ends: Any) -> Any:
    """Bytes of activations that the stage holds at most.

    Formula: bytes of a layer x layers held, those of every micro batch in flight, + what the ends of the model keep
    Source: Korthikanti et al. (2022), section 4.2.3 and equation 5.
    Assumes: attention is one fused kernel, which keeps no scores, unless `engine` says so.
    """
    return total(product(per_layer, held), ends)


def activation_bytes_plain_attention(activations: Any, scores: Any, held: Any, kind: Any) -> Any:
    """Bytes of activations of the stage if attention keeps its scores: no fused kernel, nothing of it recomputed.

    Formula: activations + scores of a layer x layers held; the same with recomputation
    Source: Korthikanti et al. (2022), equations 1, 2 and 4.
    Assumes: with full recomputation by the method `block`, the layers that are not recomputed keep no scores.
    """
    return activations if kind != "none" else activations + product(scores, held)


def end_bytes(
    tokens: Any, width: Any, hidden: Any, tensor: Any, sequence: Any, norm: Any, fused: Any, apart: Any, has_head: Any
) -> Any:
    """Bytes that the last norm and the output layer keep of their inputs, for one micro batch.

    Formula: with the output layer 2 w h T; op by op an rmsnorm keeps 8 h T + 4 T (Hugging Face 6 h T + 4 T); / t with sequence
        parallelism, but for the output layer's input op by op
    Source: as for the norms of a layer; PyTorch's FSDP2 memory tracker.
    Assumes: the stage holds one micro batch there; the embedding keeps the tokens alone.
    """
    divisor = where(sequence, tensor, 1)
    kept = norm_token_bytes(width, norm, fused, apart, hidden)
    of_norm, of_head = divide(kept * tokens, divisor), divide(width * hidden * tokens, divisor if fused else 1)
    return where(has_head, of_norm + of_head, 0)


#: Bytes that logits and loss take for an element, by family of engines: largest sum of copies in the loss and its gradient.
_LOGIT_WIDTH = {"megatron": 6, "fsdp2": 12, "deepspeed": 14}


def logit_width(engine: Any, family: Any) -> Any:
    """Bytes that the loss needs for each logit.

    Formula: 6 under Megatron, a 16-bit logit and an fp32 copy that becomes its gradient; 12 under FSDP2, three fp32 copies, and
        under nanotron; 14 with Hugging Face's loss, which keeps the 16-bit logits as well
    Source: Megatron-LM, vocab_parallel_cross_entropy and its functional tests' peaks; PyTorch's memory tracker with
        cross_entropy(logits.float()), and with ForCausalLMLoss of transformers 5.23.
    Assumes: the loss takes all tokens of a micro batch at once; no fused or chunked loss.
    """
    return 12 if engine == "nanotron" else _LOGIT_WIDTH[family]


def logit_bytes(tokens: Any, width: Any, vocab: Any, tensor: Any, has_head: Any, shared: Any) -> Any:
    """Bytes of logits and loss on the stage, for one micro batch: 0 without the output layer.

    Formula: bytes of a logit x V T; / t where tensor ranks compute the loss on shards of the vocabulary
    Source: Korthikanti et al. (2022), section 4.3; Megatron-LM and torchtitan share it, Hugging Face gathers the logits.
    Assumes: the loss is not computed in chunks.
    """
    return where(has_head, divide(product(width * vocab, tokens), tensor if shared else 1), 0)


_LAYER = "stage.layer_activations"
_BLOCK = ("recompute.method?", "recompute.layers?", "stage.layers", "pipeline.chunks?")
_HEAD = "stage.has_head"

FACTS = (
    Fact(_LAYER, "bytes", activation_bytes_per_layer, ("recompute", "stage.layer_whole", "memory.layer_input", "stage.layer_selected", *_BLOCK, "offload.activations?", "adapter?")),
    Fact("stage.recomputed", "bytes", recomputed_bytes, ("recompute", "stage.layer_whole", *_BLOCK, "engine.family")),
    Fact("stage.held_layers", "layers", held_layers, ("stage.layers", "stage.in_flight")),
    Fact("stage.end_activations", "bytes", end_bytes, ("batch.tokens_per_card", "memory.activation_width", "model.hidden", "parallel.tensor", "parallel.sequence", "model.norm", "memory.fused", "engine.norm_width", _HEAD)),
    Fact("stage.activations", "bytes", activation_bytes, (_LAYER, "stage.held_layers", "stage.end_activations")),
    Fact("stage.activations_plain_attention", "bytes", activation_bytes_plain_attention, ("stage.activations", "memory.layer_scores", "stage.held_layers", "recompute")),
    Fact("memory.logit_width", "bytes", logit_width, ("engine.name", "engine.family")),
    Fact("stage.logits", "bytes", logit_bytes, ("batch.tokens_per_card", "memory.logit_width", "parallel.padded_vocab", "parallel.tensor", _HEAD, "engine.loss_parallel")),
)  # fmt: skip
