"""Bytes of activations that a layer keeps on one card for its backward pass, for one micro batch.

The count is that of Korthikanti et al., Reducing Activation Recomputation (2022), sections 4.1 and 4.2, tensor by tensor, so
that it also holds for grouped keys and values, gated MLPs and experts. Two ways of computing a layer are told apart, which
the engine decides: fused kernels (TransformerEngine under Megatron, `torch.compile`) keep the input of a norm and of the
activation function, modules run op by op (PyTorch, Hugging Face) keep what lies between as well.

T is the tokens of a micro batch on one card, t the tensor ranks, w the bytes of one activation, h the hidden size, f the FFN
width, a the attention heads, k the key-value heads and d the head size; the letters of MLA are those of `parameters.py`.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, largest, where
from planc.facts.constants import ATTENTION_COPIES_NANOTRON
from planc.facts.fact import Fact
from planc.plan.model import Unknown

_STATISTIC = 4  # bytes of one fp32 number that a kernel keeps for its backward pass


def tokens_per_card(micro: Any, sequence_length: Any, context: Any) -> Any:
    """Tokens of one micro batch on one card, before tensor ranks share them.

    Formula: micro x sequence_length / context
    Source: Megatron-LM, get_batch_on_this_cp_rank: each context rank takes an equal part of every sample.
    """
    return divide(micro * sequence_length, context)


def activation_width(precision: Any) -> Any:
    """Bytes of one activation.

    Formula: 4 for fp32, else 2
    Source: Korthikanti et al. (2022), section 4.1.
    Assumes: with fp8 and fp4, activations are kept in 16 bits, as inputs of the products are if no recipe keeps them narrower.
    """
    return 4 if precision == "fp32" else 2


def fused_kernels(fused: Any, compiled: Any) -> Any:
    """Whether norms and activation functions run as one kernel each.

    Formula: true under Megatron and with `train.compile`, else false
    Source: Megatron-LM, bias_swiglu_fusion and TransformerEngine's norms, on by default; PyTorch runs op by op.
    Assumes: `torch.compile` keeps what hand-written kernels keep.
    """
    return bool(fused or compiled)


def layer_input_bytes(tokens: Any, width: Any, hidden: Any, tensor: Any, sequence: Any) -> Any:
    """Bytes of the input of one layer.

    Formula: w h T; / t with sequence parallelism
    Source: Korthikanti et al. (2022), table 2: 2 s b h.
    """
    return divide(width * hidden * tokens, where(sequence, tensor, 1))


def norm_bytes(
    tokens: Any, width: Any, hidden: Any, tensor: Any, sequence: Any, norm: Any, norms: Any, dropout: Any, fused: Any,
    apart: Any,
) -> Any:  # fmt: skip
    """Bytes of what the norms of one layer keep, and of the masks of its dropout.

    Formula: w h T for each norm; rmsnorm op by op 8 h T + 4 T, as modules of Hugging Face 6 h T + 4 T, for it computes in fp32; with
        dropout 2 h T for the two masks; / t with sequence parallelism
    Source: Korthikanti et al. (2022), section 4.1: 4 s b h for two norms, s b h for each mask; op by op: PyTorch's FSDP2
        memory tracker on a Llama model; Hugging Face LlamaRMSNorm.
    Assumes: a mask takes one byte an element; the fp32 statistics of a fused norm (4 or 8 T) are left out.
    """
    count = 2 if norms is None else norms
    each = norm_token_bytes(width, norm, fused, apart, hidden)
    masks = 2 * hidden if dropout is not None and 0 < dropout else 0
    return divide((count * each + masks) * tokens, where(sequence, tensor, 1))


def norm_token_bytes(width: Any, norm: Any, fused: Any, apart: Any, hidden: Any) -> Any:
    """Bytes that a norm keeps of one token; `apart` are those of an element of an rmsnorm that runs op by op."""
    return _norm_width(width, norm, fused, apart) * hidden + (_STATISTIC if norm == "rmsnorm" and not fused else 0)


def projection_input_bytes(
    tokens: Any, width: Any, hidden: Any, tensor: Any, sequence: Any, norms: Any, fused: Any, engine: Any
) -> Any:
    """Bytes of the inputs of the first products of attention and MLP in one layer.

    Formula: 2 w h T, with one norm for both w h T; / t with sequence parallelism in fused kernels, and always under nanotron
    Source: Korthikanti et al. (2022), section 4.1: 4 s b h, and 4.2.2: they are gathered again in the backward pass; PyTorch's
        FSDP2 memory tracker: modules run op by op keep the gathered tensor.
    """
    shared = (tensor if engine == "nanotron" else where(sequence, tensor, 1)) if fused else 1
    return divide((1 if norms == 1 else 2) * width * hidden * tokens, shared)


def attention_bytes(
    tokens: Any, width: Any, heads: Any, kv_heads: Any, head_dim: Any, tensor: Any, sequence: Any, norm: Any, fused: Any,
    apart: Any, engine: Any, kind: Any, qk_norm: Any, q_lora: Any, kv_lora: Any, nope: Any, rope: Any, v_dim: Any,
) -> Any:  # fmt: skip
    """Bytes that the attention of one layer keeps beside its input, without its scores.

    Formula: w (2 a + 2 k) d T / t for queries, keys, values and output, under nanotron {ATTENTION_COPIES_NANOTRON} times that, for copies;
        norms of queries and keys keep their inputs; MLA: w a (2 n + 2 r + 2 v) T / t, and ranks q + c before and after their norms, / t with sequence parallelism
    Source: Korthikanti et al. (2022), section 4.1: 8 s b h; PyTorch, scaled_dot_product_attention with enable_gqa; Megatron-LM, MLASelfAttention.
    Assumes: a rank has at least one key-value head; rotations and reshaped copies keep nothing.
    """
    each = _norm_width(width, norm, fused, apart)
    if kind == "mla":
        latent = (each + width) * (kv_lora + (0 if q_lora is None else q_lora))
        whole = divide(latent * tokens, where(sequence, tensor, 1))
        return whole + divide(2 * width * heads * (nope + rope + v_dim) * tokens, tensor)
    pairs = largest(kv_heads, tensor)
    kept = width * (2 * heads + 2 * pairs) * head_dim
    if engine == "nanotron":
        kept = kept * ATTENTION_COPIES_NANOTRON.value
    if qk_norm in ("head", "full"):
        kept = kept + each * (heads + pairs) * head_dim
    return divide(kept * tokens, tensor)


def statistics_bytes(tokens: Any, heads: Any, tensor: Any) -> Any:
    """Bytes that a fused attention kernel keeps of the scores of one layer: a sum for each token and head.

    Formula: 4 a T / t
    Source: Dao, FlashAttention-2 (2023), section 3.1: the logsumexp of each row, in fp32.
    """
    return divide(_STATISTIC * heads * tokens, tensor)


def score_bytes(
    tokens: Any, width: Any, heads: Any, sequence_length: Any, tensor: Any, dropout: Any, statistics: Any
) -> Any:
    """Bytes that plain attention keeps of the scores of one layer in place of those statistics.

    Formula: w a s T / t for the softmax; with dropout (2 w + 1) a s T / t: its mask and its output as well; less the statistics
    Source: Korthikanti et al. (2022), section 4.1: 5 a s^2 b.
    Assumes: every pair of tokens has a score, whatever the mask hides.
    """
    each = 2 * width + 1 if dropout is not None and 0 < dropout else width
    return divide(each * heads * sequence_length * tokens, tensor) - statistics


def mlp_bytes(tokens: Any, width: Any, ffn: Any, gated: Any, tensor: Any, fused: Any) -> Any:
    """Bytes that the dense MLP of one layer keeps beside its input.

    Formula: 2 w f T / t for the input of the activation function and that of the last product; gated 3 w f T / t, op by op 4 w f T / t
    Source: Korthikanti et al. (2022), section 4.1: 16 s b h with f = 4 h; Megatron-LM, SwiGLUFunction: it keeps its input.
    """
    return divide(_mlp_width(width, gated, fused) * ffn * tokens, tensor)


def expert_bytes(
    tokens: Any, width: Any, hidden: Any, gated: Any, tensor: Any, sequence: Any, fused: Any, count: Any, top_k: Any,
    ffn: Any, shared: Any, shared_ffn: Any, expert_tensor: Any, capacity: Any,
) -> Any:  # fmt: skip
    """Bytes that the experts of one MoE layer keep beside its input.

    Formula: with R = T top_k e / (t with sequence parallelism, else min(t, e)) for e expert_tensor ranks, at most R times the
        capacity factor: w (h + 3 f / e) R, the inputs of both products and that of the activation function (two, gated), or
        what it gives before it is weighted; op by op w (2 h + 4 f / e) R, not gated w (2 h + 2 f / e) R, for an expert's output
        is weighted; shared experts as a dense MLP of theirs
    Source: Megatron-LM, TEGroupedMLP and MoEAlltoAllTokenDispatcher: permuted tokens are gathered over the expert-tensor ranks;
        Hugging Face MixtralSparseMoeBlock.
    Assumes: tokens are spread evenly over experts; scores and indices of the router are left out.
    """
    if count is None:
        return 0
    if top_k is None or ffn is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    fewer = where(tensor < expert_tensor, tensor, expert_tensor)
    routed = divide(top_k * tokens * expert_tensor, where(sequence, tensor, fewer))
    if capacity is not None:
        routed = routed * capacity
    ends = (1 if fused else 2) * width * hidden
    inside = divide((3 * width if fused else _mlp_width(width, gated, fused)) * ffn, expert_tensor)
    own = ffn if shared_ffn is None else shared_ffn
    beside = 0 if shared is None else mlp_bytes(tokens, width, shared * own, gated, tensor, fused)
    return routed * (ends + inside) + beside


def whole_layer_bytes(
    norms: Any, inputs: Any, attention: Any, statistics: Any, mlp: Any, layers: Any, moe_layers: Any, experts: Any
) -> Any:
    """Bytes that a layer keeps if nothing is recomputed and attention is one fused kernel.

    Formula: norms + inputs + attention + its statistics + (dense layers x MLP + MoE layers x experts) / layers
    Source: Korthikanti et al. (2022), equations 1, 2 and 4; with 5 a s^2 b of scores for plain attention.
    Assumes: an average over the layers of the stage, dense and MoE; what a kernel needs while it runs is left out.
    """
    each = divide((layers - moe_layers) * mlp + moe_layers * experts, largest(layers, 1))
    return each if isinstance(each, Unknown) else norms + inputs + attention + statistics + each


def selected_bytes(
    recompute: Any, engine: Any, modules: Any, whole: Any, statistics: Any, layer_input: Any, tokens: Any, width: Any,
    hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, ffn: Any, gated: Any, tensor: Any, sequence: Any, kind: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Bytes that a layer keeps with selective recomputation; 0 without it.

    Formula: Megatron: whole layer - statistics of the attention; FSDP2: layer input + statistics + attention output w a d T / t +
        every other product w (a d + k d + f) T / t, gated w h T more, for the sums over tensor ranks 2 w h T / t with
        sequence parallelism
    Source: Korthikanti et al. (2022), section 5; torchtitan, activation checkpointing by operator, which saves attention,
        reduce-scatters and all products but the second, fourth and sixth.
    Assumes: under FSDP2 `selective` is torchtitan's, of the layers' operators in the order of Llama.
    """
    if recompute != "selective":
        return 0
    if engine not in ("megatron", "fsdp2"):
        return Unknown("what `selective` keeps of modules of Hugging Face is not derived in this version", ("recompute",))
    if modules is not None and (engine != "megatron" or tuple(modules) != ("core_attn",)):
        return Unknown("what the recomputed modules hold is not derived in this version", ("recompute.modules",))
    if engine == "megatron":
        return whole - statistics
    if kind == "mla" or count is not None:
        return Unknown("the products of MLA and of experts are not selected in this version", ("recompute",))
    split = divide(width * ((2 * heads + largest(kv_heads, tensor)) * head_dim + ffn) * tokens, tensor)
    sums = where(tensor == 1, 0, where(sequence, 2 * layer_input, 0))
    return layer_input + statistics + split + (width * hidden * tokens if gated else 0) + sums


def _norm_width(width: Any, norm: Any, fused: Any, apart: Any) -> Any:
    """Bytes that a norm keeps of one element; `apart` are those of an rmsnorm that runs op by op on 16-bit inputs."""
    if fused or norm != "rmsnorm":
        return width
    return apart if width < _STATISTIC else 2 * width


def _mlp_width(width: Any, gated: Any, fused: Any) -> Any:
    """Bytes that an MLP keeps for one element of its width."""
    matrices = 2 if not gated else 3 if fused else 4
    return matrices * width


_T, _W = "batch.tokens_per_card", "memory.activation_width"
_SPLIT = ("parallel.tensor", "parallel.sequence")
_FUSED = "memory.fused"


FACTS = (
    Fact(_T, "tokens", tokens_per_card, ("batch.micro", "batch.sequence_length", "parallel.context")),
    Fact(_W, "bytes", activation_width, ("precision",)),
    Fact(_FUSED, "word", fused_kernels, ("engine.fused", "train.compile?")),
    Fact("memory.layer_input", "bytes", layer_input_bytes, (_T, _W, "model.hidden", *_SPLIT)),
    Fact("memory.layer_norms", "bytes", norm_bytes, (_T, _W, "model.hidden", *_SPLIT, "model.norm", "model.norms?", "model.dropout?", _FUSED, "engine.norm_width")),
    Fact("memory.layer_projection_inputs", "bytes", projection_input_bytes, (_T, _W, "model.hidden", *_SPLIT, "model.norms?", _FUSED, "engine.name")),
    Fact("memory.layer_attention", "bytes", attention_bytes, (
        _T, _W, "model.heads", "model.kv_heads", "model.head_dim", *_SPLIT, "model.norm", _FUSED, "engine.norm_width", "engine.name", "model.attention",
        "model.attention.qk_norm?", "model.attention.q_lora_rank?", "model.attention.kv_lora_rank?",
        "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?",
    )),
    Fact("memory.layer_statistics", "bytes", statistics_bytes, (_T, "model.heads", "parallel.tensor")),
    Fact("memory.layer_scores", "bytes", score_bytes, (_T, _W, "model.heads", "batch.sequence_length", "parallel.tensor", "model.dropout?", "memory.layer_statistics")),
    Fact("memory.layer_mlp", "bytes", mlp_bytes, (_T, _W, "model.ffn", "model.gated", "parallel.tensor", _FUSED)),
    Fact("memory.layer_experts", "bytes", expert_bytes, (
        _T, _W, "model.hidden", "model.gated", *_SPLIT, _FUSED, "model.experts.count?", "model.experts.top_k?",
        "model.experts.ffn?", "model.experts.shared?", "model.experts.shared_ffn?", "parallel.expert_tensor", "expert.capacity_factor?",
    )),
    Fact("stage.layer_whole", "bytes", whole_layer_bytes, (
        "memory.layer_norms", "memory.layer_projection_inputs", "memory.layer_attention", "memory.layer_statistics",
        "memory.layer_mlp", "stage.layers", "stage.moe_layers", "memory.layer_experts",
    )),
    Fact("stage.layer_selected", "bytes", selected_bytes, (
        "recompute", "engine.family", "recompute.modules?", "stage.layer_whole", "memory.layer_statistics", "memory.layer_input",
        _T, _W, "model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.ffn", "model.gated", *_SPLIT,
        "model.attention", "model.experts.count?",
    )),
)  # fmt: skip
