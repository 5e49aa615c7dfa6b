"""Time that a card computes for one micro batch: of a layer, forward, backward and again, and of the output layer.

A product of matrices takes its FLOPs at the rate that large ones reach, and a share of the traffic of its three matrices,
by which thin ones are slower. Norms, residuals, activation functions and the loss are traffic alone. The backward pass of a
product is two products. T is the tokens of a micro batch on one card, t the tensor ranks, w the bytes of an activation, h the
hidden size, f the FFN width, V the vocabulary, a the attention heads, k the key-value heads, d the head size.
"""

from __future__ import annotations

from typing import Any

from planc.facts import constants
from planc.facts.arithmetic import largest, smallest, where
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.plan.model import Unknown


@in_floats
def projection_time(
    tokens: Any, width: Any, weights: Any, hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, kind: Any, nope: Any,
    rope: Any, v_dim: Any, tensor: Any, rate: Any, memory: Any,
) -> Any:  # fmt: skip
    """Seconds of the attention's projections in one layer, forward.

    Formula: 2 T N / rate + {MATMUL_TRAFFIC} w (N + T (2 h in and out + (2 a + 2 k) d / t between)) / memory rate
    Source: `kernel.matmul_rate`; N as in `parallel.attention_parameters`.
    """
    inner = 2 * heads * (nope + rope + v_dim) if kind == "mla" else 2 * (heads + kv_heads) * head_dim
    return _products(tokens, width, weights, 2 * hidden + inner / tensor, rate, memory)


@in_floats
def score_time(
    kernel: Any, tokens: Any, causal: Any, full: Any, layers: Any, mtp: Any, heads: Any, head_dim: Any, sequence_length: Any,
    tensor: Any, fused_rate: Any, plain_rate: Any, memory: Any,
) -> Any:  # fmt: skip
    """Seconds of scores and values in one layer, forward, on average over layers.

    Formula: fused: causal FLOPs / t / attention rate; plain: FLOPs without the mask / t / matmul rate, x {UNALIGNED_SLOWDOWN} where 8 does
        not divide d, + {SCORE_TRAFFIC} T s a / t / memory rate
    Source: `kernel.attention_rate`; `flops.attention` and `flops.full_attention` are those of all layers for a token.
    """
    per_layer = tokens / (tensor * largest(layers + mtp, 1.0))
    if kernel == "fused":
        return causal * per_layer / fused_rate
    slowdown = where(head_dim % 8 == 0, 1.0, constants.UNALIGNED_SLOWDOWN.value)
    traffic = constants.SCORE_TRAFFIC.value * tokens * sequence_length * heads / tensor
    return full * per_layer * slowdown / plain_rate + traffic / memory


@in_floats
def mlp_time(
    tokens: Any, width: Any, weights: Any, hidden: Any, ffn: Any, gated: Any, tensor: Any, rate: Any, memory: Any
) -> Any:
    """Seconds of the dense MLP's products in one layer, forward.

    Formula: 2 T N / rate + {MATMUL_TRAFFIC} w (N + T (2 h in and out + f / t between, three times if gated, else twice)) / memory rate
    Source: `kernel.matmul_rate`; N as in `parallel.mlp_parameters`.
    """
    return _products(tokens, width, weights, 2 * hidden + (3 if gated else 2) * ffn / tensor, rate, memory)


@in_floats
def expert_time(
    tokens: Any, width: Any, router: Any, experts: Any, count: Any, top_k: Any, hidden: Any, ffn: Any, gated: Any, expert: Any,
    expert_tensor: Any, tensor: Any, rate: Any, memory: Any,
) -> Any:  # fmt: skip
    """Seconds of the experts' products in one MoE layer, forward; 0 without experts.

    Formula: each token passes top_k experts, r = T top_k e / t rows, e the expert tensor ranks: 2 r N / count x expert / rate, N the
        weights of the experts on the card, + {MATMUL_TRAFFIC} w (N + r (2 h + f / e between, three times if gated, else twice)) / memory
        rate + 4 w r h / memory rate to sort them and back + 2 T / rate x weights of router and shared experts
    Source: `kernel.matmul_rate`; `parallel.expert_parameters`, `parallel.router_parameters`.
    Assumes: tokens are spread evenly over experts.
    """
    if count is None:
        return 0.0
    if top_k is None or ffn is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    routed = tokens * top_k  # rows of all experts together, of the tensor ranks' common tokens
    rows = routed * expert_tensor / tensor
    per_row = experts * expert / largest(count, 1.0)  # weights that a row meets
    between = 2 * hidden + (3 if gated else 2) * ffn / expert_tensor
    own = 2 * rows * per_row / rate + constants.MATMUL_TRAFFIC.value * width * (rows * between + experts) / memory
    moved = 4 * width * rows * hidden / memory  # sorted by expert, and back
    return own + moved + 2 * tokens * router / rate


@in_floats
def elementwise_time(
    tokens: Any, hidden: Any, ffn: Any, gated: Any, count: Any, top_k: Any, expert_ffn: Any, tensor: Any, sequence: Any,
    layers: Any, moe_layers: Any, fused: Any, precision: Any, memory: Any,
) -> Any:  # fmt: skip
    """Seconds of norms, residuals, rotations and activation functions of one layer, forward, and of its many small kernels.

    Formula: T ({HIDDEN_TRAFFIC} h + {FFN_TRAFFIC} f (2 if gated) / t) / memory rate, x {FUSED_TRAFFIC_SHARE} where they are fused,
        + {KERNEL_TIME}; h / t with sequence parallelism; in MoE layers top_k experts' f; with fp8 and fp4 {CAST_TRAFFIC} T (3 h + f) / t /
        memory rate more, to quantize what products take
    Source: measured steps, see `docs/cost-model.md`.
    """
    dense = where(layers <= moe_layers, 0.0, ffn)
    wide = dense if count is None or top_k is None or expert_ffn is None else largest(dense, top_k * expert_ffn)
    split = where(sequence, tensor, 1.0)
    traffic = constants.HIDDEN_TRAFFIC.value * hidden / split
    traffic = traffic + constants.FFN_TRAFFIC.value * wide * (2 if gated else 1) / tensor
    traffic = traffic * (constants.FUSED_TRAFFIC_SHARE.value if fused else 1.0)
    if precision in ("fp8", "fp4"):
        traffic = traffic + constants.CAST_TRAFFIC.value * (3 * hidden + wide) / tensor
    return tokens * traffic / memory + constants.KERNEL_TIME.value


@in_floats
def recomputed_share(kind: Any, method: Any, block: Any, layers: Any, stages: Any, chunks: Any) -> Any:
    """Share of the layers that run forward again in the backward pass, for full recomputation.

    Formula: full: 1, with the method `block` layers x pipeline x chunks / L at most; else 0
    Source: Megatron-LM, recompute_method.
    """
    if kind != "full":
        return 0.0
    if method != "block":
        return 1.0
    if block is None:
        return Unknown("`recompute.layers` is not set", ("recompute.layers",), unset=True)
    return smallest(block * stages * (1.0 if chunks is None else chunks) / largest(layers, 1.0), 1.0)


@in_floats
def layer_compute(
    projections: Any, scores: Any, mlp: Any, elementwise: Any, again: Any, kind: Any, kernel: Any, engine: Any, gated: Any
) -> Any:
    """Seconds that one layer computes for a micro batch: forward, backward, and what is recomputed.

    Formula: 3 x (projections + MLP + the rest) + scores x (3.5 for a fused kernel, which computes them again, else 3) + again: full, a
        forward pass, but for the last product with FSDP2; selective, the scores, with FSDP2 half of the products and the rest
    Source: two products for the gradients of each; Dao, FlashAttention-2 (2023), section 3; PyTorch, torch.utils.checkpoint: early stop.
    """
    products = projections + mlp
    once = products + elementwise
    backward = 2.5 if kernel == "fused" else 2.0
    found = 3 * once + scores * (1 + backward)
    if kind == "full":
        spared = mlp / (3 if gated else 2) if engine == "fsdp2" else 0.0
        return found + again * (once + scores - spared)
    if kind == "selective":
        return found + (products / 2 + elementwise if engine == "fsdp2" else scores)
    return found


@in_floats
def head_time(
    tokens: Any, width: Any, hidden: Any, vocab: Any, tensor: Any, rate: Any, memory: Any, kept: Any
) -> Any:  # fmt: skip
    """Seconds of output layer and loss for a micro batch, forward and backward.

    Formula: 3 x (2 T h V / t / rate + {MATMUL_TRAFFIC} w (h V / t + T (h + V / t)) / memory rate) + {LOGIT_TRAFFIC} x bytes that the loss
        keeps for a logit (12 if that is not known) x T V / t / memory rate
    Source: `kernel.wide_matmul_rate`; `memory.logit_width`.
    """
    rows = vocab / tensor
    product = _products(tokens, width, rows * hidden, hidden + rows, rate, memory)
    copies = constants.LOGIT_TRAFFIC.value * (12 if kept is None else kept)
    return 3 * product + copies * tokens * rows / memory


def _products(tokens: Any, width: Any, weights: Any, beside: Any, rate: Any, memory: Any) -> Any:
    """Seconds of products with so many weights, which read and write `beside` numbers a token."""
    traffic = constants.MATMUL_TRAFFIC.value * width * (tokens * beside + weights)
    return 2 * tokens * weights / rate + traffic / memory


_T, _W, _RATE, _MEMORY = "batch.tokens_per_card", "memory.activation_width", "kernel.matmul_rate", "kernel.memory_rate"
_TENSOR = "parallel.tensor"

FACTS = (
    Fact("layer.projections", "s", projection_time, (
        _T, _W, "parallel.attention_parameters", "model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.attention",
        "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?", _TENSOR, _RATE, _MEMORY,
    )),
    Fact("layer.scores", "s", score_time, (
        "kernel.attention", _T, "flops.attention", "flops.full_attention", "model.layers", "model.mtp_layers", "model.heads",
        "model.head_dim", "batch.sequence_length", _TENSOR, "kernel.attention_rate", "kernel.wide_matmul_rate", _MEMORY,
    )),
    Fact("layer.mlp", "s", mlp_time, (_T, _W, "parallel.mlp_parameters", "model.hidden", "model.ffn", "model.gated", _TENSOR, _RATE, _MEMORY)),
    Fact("layer.experts", "s", expert_time, (
        _T, _W, "parallel.router_parameters", "parallel.expert_parameters", "model.experts.count?", "model.experts.top_k?", "model.hidden",
        "model.experts.ffn?", "model.gated", "parallel.expert", "parallel.expert_tensor", _TENSOR, _RATE, _MEMORY,
    )),
    Fact("layer.elementwise", "s", elementwise_time, (
        _T, "model.hidden", "model.ffn", "model.gated", "model.experts.count?", "model.experts.top_k?", "model.experts.ffn?", _TENSOR,
        "parallel.sequence", "model.layers", "model.moe_layers", "memory.fused", "precision", _MEMORY,
    )),
    Fact("layer.recomputed", "share", recomputed_share, ("recompute", "recompute.method?", "recompute.layers?", "model.layers", "parallel.pipeline", "pipeline.chunks?")),
    Fact("layer.compute", "s", layer_compute, (
        "layer.projections", "layer.scores", "layer.mlp", "layer.elementwise", "layer.recomputed", "recompute", "kernel.attention",
        "engine.family", "model.gated",
    )),
    Fact("layer.expert_compute", "s", layer_compute, (
        "layer.projections", "layer.scores", "layer.experts", "layer.elementwise", "layer.recomputed", "recompute", "kernel.attention",
        "engine.family", "model.gated",
    )),
    Fact("layer.head", "s", head_time, (_T, _W, "model.hidden", "parallel.padded_vocab", _TENSOR, "kernel.wide_matmul_rate", _MEMORY, "memory.logit_width~")),
)  # fmt: skip
