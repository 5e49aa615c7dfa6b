"""FLOPs of training: what the model needs for a token and for a step, and what the hardware does beside it.

One convention throughout, that of Megatron-LM (num_floating_point_operations) and Megatron-Bridge from 2025 on: a product of an
m x n and an n x k matrix is 2 m n k FLOPs; only matrix products count; attention is causal, so a token looks at half of its
sequence on average; the output layer counts, while the lookup of the embedding, norms, biases, positions and the router do
not; the backward pass takes twice the forward pass. PaLM (2022), torchtitan, MosaicML and Korthikanti et al. (2022) count
the whole square of scores instead: `flops.per_token_full_attention` is for comparison with their figures.

h is the hidden size, f the FFN width, V the vocabulary, a the attention heads, k the key-value heads, d the head size, L the
layers and s the sequence length; the letters of MLA are those of `parameters.py`.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, product, total, where, whole, wide
from planc.facts.fact import Fact
from planc.facts.parameters import attention_parameters, mlp_parameters
from planc.plan.model import Unknown

#: Modules of Megatron-LM's recompute_modules, and whether to run them again is to run the scores and values again; the
#: others of these hold no matrix product.
_SELECTED = {"core_attn": True, "layernorm": False, "moe_act": False}


def projection_flops(
    layers: Any, mtp: Any, hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, kind: Any,
    q_lora: Any, kv_lora: Any, nope: Any, rope: Any, v_dim: Any,
) -> Any:  # fmt: skip
    """FLOPs of the attention projections of all layers, for a token, forward.

    Formula: 2 (L + MTP layers) x weights of one layer's attention: h d (2 a + 2 k); MLA: h q + q a (n + r) + h (c + r) + c a (n + v) + a v h
    Source: Megatron-LM, num_floating_point_operations.
    """
    weights = attention_parameters(
        hidden, heads, kv_heads, head_dim, "none", kind, None, q_lora, kv_lora, nope, rope, v_dim
    )
    if kind == "mla":
        weights = weights - kv_lora - (0 if q_lora is None else q_lora)  # without the norms
    return 2 * wide(layers + mtp) * weights


def causal_attention_flops(
    layers: Any, mtp: Any, sequence_length: Any, heads: Any, head_dim: Any, kind: Any,
    nope: Any, rope: Any, v_dim: Any, window: Any, every: Any,
) -> Any:  # fmt: skip
    """FLOPs of the scores and of their product with the values, all layers, for a token, forward.

    Formula: 2 x 2 a d x s / 2 for a layer; in a layer with a window of w tokens, w < s, w - w^2 / 2 s in place of s / 2; MLA: a (n + r + v)
        in place of 2 a d
    Source: Megatron-Bridge, num_floating_point_operations: a causal token looks at half of the sequence.
    Assumes: one document a sample; a kernel that skips what the mask hides.
    """
    if kind == "sliding" and window is None:
        return _missing_window()
    full, sliding = _kinds_of_layers(layers, mtp, kind, every)
    width = wide(_width(heads, head_dim, kind, nope, rope, v_dim))
    seen = _seen(sequence_length, window)
    beside = 0 if kind != "sliding" else divide(width * sliding * seen * (2 * sequence_length - seen), sequence_length)
    return beside if isinstance(beside, Unknown) else total(width * full * sequence_length, beside)


def full_attention_flops(
    layers: Any, mtp: Any, sequence_length: Any, heads: Any, head_dim: Any, kind: Any,
    nope: Any, rope: Any, v_dim: Any, window: Any, every: Any,
) -> Any:  # fmt: skip
    """FLOPs of the scores and of their product with the values if no mask is taken account of, for a token, forward.

    Formula: 2 x 2 a d x s for a layer; in a layer with a window of w tokens, w < s, w in place of s; MLA: a (n + r + v) in place of 2 a d
    Source: PaLM (2022), appendix B; Korthikanti et al. (2022), appendix A.
    """
    if kind == "sliding" and window is None:
        return _missing_window()
    full, sliding = _kinds_of_layers(layers, mtp, kind, every)
    width = wide(_width(heads, head_dim, kind, nope, rope, v_dim))
    return 2 * width * (full * sequence_length + sliding * _seen(sequence_length, window))


def _missing_window() -> Unknown:
    return Unknown("`model.attention.window` is not set", ("model.attention.window",), unset=True)


def _kinds_of_layers(layers: Any, mtp: Any, kind: Any, every: Any) -> tuple[Any, Any]:
    """Layers that look back to the start (those for multi-token prediction do), and layers with a window."""
    if kind != "sliding":
        return layers + mtp, 0
    full = 0 if every is None else whole(layers, every)
    return full + mtp, layers - full


def _width(heads: Any, head_dim: Any, kind: Any, nope: Any, rope: Any, v_dim: Any) -> Any:
    """Width of the queries and of the values together."""
    return heads * (nope + rope + v_dim) if kind == "mla" else 2 * heads * head_dim


def _seen(sequence_length: Any, window: Any) -> Any:
    """Tokens that a layer with a window sees at most; without one, all."""
    return sequence_length if window is None else where(window < sequence_length, window, sequence_length)


def mlp_flops(
    layers: Any, mtp: Any, moe_layers: Any, hidden: Any, ffn: Any, gated: Any,
    count: Any, top_k: Any, width: Any, shared: Any, shared_width: Any,
) -> Any:  # fmt: skip
    """FLOPs of the MLPs of all layers, for a token, forward: with the experts that it passes through.

    Formula: 2 x (3 if gated, else 2) x h x (f, or top_k x expert width + shared experts x theirs) for a layer; MTP layers have
        experts if the model has
    Source: Megatron-LM, num_floating_point_operations; the router and the gate of shared experts are left out there.
    """
    dense = mlp_parameters(hidden, ffn, gated, "none")
    if count is None:
        return 2 * wide(layers + mtp) * dense
    if top_k is None or width is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    own = width if shared_width is None else shared_width
    beside = 0 if shared is None else shared * mlp_parameters(hidden, own, gated, "none")
    experts = top_k * mlp_parameters(hidden, width, gated, "none") + beside
    return 2 * (wide(layers - moe_layers) * dense + wide(moe_layers + mtp) * experts)


def output_flops(hidden: Any, vocab: Any, mtp: Any) -> Any:
    """FLOPs of the output layer, for a token, forward; for multi-token prediction it runs again.

    Formula: 2 V h; for each MTP layer 2 V h more, and 2 x 2 h h for the product that joins token and hidden state
    Source: Megatron-LM, num_floating_point_operations.
    Assumes: the vocabulary is not padded.
    """
    return 2 * wide(hidden) * (vocab * (1 + mtp) + 2 * hidden * mtp)


def forward_flops(projections: Any, attention: Any, mlp: Any, output: Any) -> Any:
    """Model FLOPs of the forward pass for a token.

    Formula: projections + scores and values + MLPs + output layer
    Source: Megatron-LM, num_floating_point_operations; causal attention, no embedding, no router.
    """
    return total(projections, attention, mlp, output)


def flops_per_token(forward: Any, adapter: Any) -> Any:
    """Model FLOPs for a token, forward and backward.

    Formula: 3 x forward: each product again for the gradient of its input and for that of its weight
    Source: Narayanan et al. (2021), appendix; Megatron-LM, num_floating_point_operations.
    """
    if adapter is not None:  # frozen weights have no gradient
        return Unknown("the FLOPs of adapters are not derived in this version", ("adapter",))
    return 3 * forward


def flops_per_token_full_attention(per_token: Any, causal: Any, full: Any) -> Any:
    """Model FLOPs for a token as those count them who take no account of the mask.

    Formula: model FLOPs + 3 x (scores and values without a mask - those with the causal one)
    Source: PaLM (2022), appendix B, 12 L a d s for a token; Korthikanti et al. (2022), 72 B L s h^2 (1 + s / 6 h + V / 12 h L).
    """
    return total(per_token, 3 * full, -3 * causal)


def recomputed_flops(
    kind: Any, forward: Any, output: Any, causal: Any, modules: Any, method: Any, block: Any, layers: Any, stages: Any, chunks: Any
) -> Any:  # fmt: skip
    """FLOPs of the forward pass that run again in the backward pass, for a token.

    Formula: full: forward - output layer, x min(1, block x pipeline x chunks / L) with the method `block`; selective: scores and
        values; none: 0
    Source: Narayanan et al. (2021), appendix: 4 passes over the layers in place of 3; Korthikanti et al. (2022), section 5.
    Assumes: `selective` is Megatron-LM's, which runs the attention between the projections again; what a fused attention
        kernel does again by itself is not counted.
    """
    if kind == "none":
        return 0
    if kind == "selective":
        chosen = ("core_attn",) if modules is None else modules
        if not all(name in _SELECTED for name in chosen):
            return Unknown("what the recomputed modules hold is not derived in this version", ("recompute.modules",))
        return causal if any(_SELECTED[name] for name in chosen) else 0
    inside = total(forward, -output)
    if method != "block":
        return inside
    if block is None:
        return Unknown("`recompute.layers` is not set", ("recompute.layers",), unset=True)
    again = block * stages * (1 if chunks is None else chunks)
    share = divide(where(again < layers, again, layers), layers)
    return share if isinstance(share, Unknown) else product(inside, share)


def hardware_flops_per_token(per_token: Any, recomputed: Any) -> Any:
    """FLOPs that the hardware does for a token: model FLOPs and what is recomputed.

    Formula: model FLOPs + recomputed FLOPs
    Source: Korthikanti et al. (2022), section 6.3: model and hardware FLOPs.
    """
    return total(per_token, recomputed)


def step_flops(per_token: Any, tokens: Any) -> Any:
    """Model FLOPs of a step, whole job.

    Formula: model FLOPs for a token x tokens of a step
    Source: definition.
    Assumes: every sample is one document of the whole sequence length.
    """
    return product(per_token, tokens)


def hardware_step_flops(per_token: Any, tokens: Any) -> Any:
    """FLOPs that the hardware does in a step, whole job: model FLOPs and what is recomputed.

    Formula: hardware FLOPs for a token x tokens of a step
    Source: definition.
    Assumes: as for the model FLOPs.
    """
    return product(per_token, tokens)


_ATTENTION = (
    "model.layers", "model.mtp_layers", "batch.sequence_length", "model.heads", "model.head_dim", "model.attention",
    "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?",
    "model.attention.window?", "model.attention.every?",
)  # fmt: skip

FACTS = (
    Fact("flops.projections", "FLOP", projection_flops, (
        "model.layers", "model.mtp_layers", "model.hidden", "model.heads", "model.kv_heads", "model.head_dim",
        "model.attention", "model.attention.q_lora_rank?", "model.attention.kv_lora_rank?",
        "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?",
    )),
    Fact("flops.attention", "FLOP", causal_attention_flops, _ATTENTION),
    Fact("flops.full_attention", "FLOP", full_attention_flops, _ATTENTION),
    Fact("flops.mlp", "FLOP", mlp_flops, (
        "model.layers", "model.mtp_layers", "model.moe_layers", "model.hidden", "model.ffn", "model.gated",
        "model.experts.count?", "model.experts.top_k?", "model.experts.ffn?", "model.experts.shared?",
        "model.experts.shared_ffn?",
    )),
    Fact("flops.output", "FLOP", output_flops, ("model.hidden", "model.vocab", "model.mtp_layers")),
    Fact("flops.forward", "FLOP", forward_flops, ("flops.projections", "flops.attention", "flops.mlp", "flops.output")),
    Fact("flops.per_token", "FLOP", flops_per_token, ("flops.forward", "adapter?")),
    Fact("flops.per_token_full_attention", "FLOP", flops_per_token_full_attention, ("flops.per_token", "flops.attention", "flops.full_attention")),
    Fact("flops.recomputed", "FLOP", recomputed_flops, (
        "recompute", "flops.forward", "flops.output", "flops.attention", "recompute.modules?", "recompute.method?", "recompute.layers?",
        "model.layers", "parallel.pipeline", "pipeline.chunks?",
    )),
    Fact("flops.hardware_per_token", "FLOP", hardware_flops_per_token, ("flops.per_token", "flops.recomputed")),
    Fact("step.flops", "FLOP", step_flops, ("flops.per_token", "batch.tokens")),
    Fact("step.hardware_flops", "FLOP", hardware_step_flops, ("flops.hardware_per_token", "batch.tokens")),
)  # fmt: skip
