"""Parameters of the model; `stage_parameters.py` counts those of a card.

h is the hidden size, f the FFN width, V the vocabulary, a the attention heads, k the key-value heads, d the head size.
The inputs that only some models have (experts, MLA ranks) are None in the others, and so are those that are not set.
What a model has is said by its fields; only where nothing but the family decides does a table here know families.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import is_array, largest, whole
from planc.facts.fact import Fact
from planc.plan.model import Unknown

#: Rows of a family's table of learned positions beyond its longest sequence.
POSITION_ROWS = {"opt": 2}


def attention_parameters(
    hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, bias: Any, kind: Any, sinks: Any,
    q_lora: Any, kv_lora: Any, nope: Any, rope: Any, v_dim: Any,
) -> Any:  # fmt: skip
    """Weights and biases of one layer's attention.

    Formula: h d (2 a + 2 k) for queries, keys, values and output; biases (a + 2 k) d with `qkv`, and h more with
        `attention` or `all`; a sinks; MLA: h q + q a (n + r) + h (c + r) + c a (n + v) + a v h, with the two norms q + c,
        biases q + c + r and h
    Source: Hugging Face LlamaAttention, Qwen2Attention, GptOssAttention, DeepseekV3Attention.
    """
    if kind == "mla":
        rank = 0 if q_lora is None else q_lora
        queries = hidden * heads * (nope + rope) if q_lora is None else q_lora * (hidden + 1 + heads * (nope + rope))
        keys_values = hidden * (kv_lora + rope) + kv_lora + kv_lora * heads * (nope + v_dim)
        return queries + keys_values + heads * v_dim * hidden + _attention_biases(bias, rank + kv_lora + rope, hidden)
    weights = hidden * head_dim * (2 * heads + 2 * kv_heads)
    biases = _attention_biases(bias, (heads + 2 * kv_heads) * head_dim, hidden)
    return weights + biases + (heads if sinks else 0)


def _attention_biases(bias: Any, before: Any, after: Any) -> Any:
    """Biases of the projections before and after the attention itself."""
    if bias not in ("qkv", "attention", "all"):
        return 0
    return before + (0 if bias == "qkv" else after)


def qk_norm_parameters(heads: Any, kv_heads: Any, head_dim: Any, qk_norm: Any, norm: Any) -> Any:
    """Parameters of the norms of one layer's queries and keys.

    Formula: 2 d over each `head`, (a + k) d over the `full` width; twice that for layernorm
    Source: Hugging Face Qwen3Attention (head), Olmo2Attention (full).
    """
    if qk_norm not in ("head", "full"):
        return 0
    width = 2 * head_dim if qk_norm == "head" else (heads + kv_heads) * head_dim
    return norm_parameters(width, norm)


def mlp_parameters(hidden: Any, ffn: Any, gated: Any, bias: Any) -> Any:
    """Weights and biases of one dense MLP.

    Formula: 3 h f if gated, else 2 h f; biases with `mlp` or `all`: 2 f + h if gated, else f + h
    Source: Hugging Face LlamaMLP, GPTNeoXMLP.
    """
    matrices = 3 if gated else 2
    biases = ((matrices - 1) * ffn + hidden) if bias in ("mlp", "all") else 0
    return matrices * hidden * ffn + biases


def moe_parameters(
    hidden: Any, gated: Any, bias: Any, count: Any, width: Any, shared: Any, shared_width: Any, gate: Any, active: Any
) -> Any:
    """Weights and biases of the experts and the router of one MoE layer; 0 without experts.

    Formula: experts x MLP of their width + shared experts x MLP of theirs + h x routed experts for the router, with a bias
        each if MLPs have one; h for the gate of the shared experts
    Source: Hugging Face MixtralSparseMoeBlock, Qwen2MoeSparseMoeBlock, GptOssMLP, DeepseekV3MoE.
    """
    if count is None:
        return 0
    if active is None or width is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    routed = active * mlp_parameters(hidden, width, gated, bias)
    router = (hidden + 1 if bias in ("mlp", "all") else hidden) * count
    if not is_array(shared) and not shared:
        return routed + router
    width_of_shared = width if shared_width is None else shared_width
    return routed + router + shared * mlp_parameters(hidden, width_of_shared, gated, bias) + (hidden if gate else 0)


def moe_layers(layers: Any, count: Any, dense: Any, every: Any) -> Any:
    """Layers with routed experts.

    Formula: (layers - dense_layers) // every; 0 without experts
    Source: Hugging Face DeepseekV3 (first_k_dense_replace), Qwen2Moe (decoder_sparse_step).
    """
    if count is None:
        return 0
    if dense is None or every is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    return whole(largest(layers - dense, 0), every)


def norm_parameters(hidden: Any, norm: Any) -> Any:
    """Parameters of one norm.

    Formula: h for rmsnorm, 2 h for layernorm
    Source: PyTorch RMSNorm and LayerNorm (weight, and bias).
    """
    return hidden if norm == "rmsnorm" else 2 * hidden


def layer_norm_parameters(norm: Any, norms: Any, qk_norm: Any) -> Any:
    """Parameters of all norms of one layer.

    Formula: norms x one norm + norms of queries and keys
    Source: Hugging Face LlamaDecoderLayer (2), GPTJBlock (1), Gemma2DecoderLayer (4).
    """
    return (2 if norms is None else norms) * norm + qk_norm


def end_norm_parameters(norm: Any, embedding_norm: Any) -> Any:
    """Parameters of the norms outside the layers.

    Formula: one norm after the last layer, another after the embedding with `embedding_norm`
    Source: Hugging Face LlamaModel, BloomModel.
    """
    return norm * 2 if embedding_norm else norm


def embedding_parameters(hidden: Any, vocab: Any) -> Any:
    """Parameters of the token embedding; the output layer has as many unless it is tied.

    Formula: V h
    Source: Hugging Face LlamaForCausalLM.
    """
    return hidden * vocab


def position_parameters(hidden: Any, positions: Any, longest: Any, family: Any) -> Any:
    """Parameters of learned positions.

    Formula: (max_sequence_length + rows that the family adds) x h if the positions are learned, else 0
    Source: Hugging Face GPT2Model; OPTLearnedPositionalEmbedding has 2 rows more.
    """
    if positions != "learned":
        return 0
    if longest is None:
        return Unknown("learned positions need `max_sequence_length`", ("model.max_sequence_length",))
    return (longest + POSITION_ROWS.get(family, 0)) * hidden


def layer_parameters(
    layers: Any, attention: Any, mlp: Any, norms: Any, moe_layers: Any, moe: Any, mtp: Any, count: Any, hidden: Any, norm: Any
) -> Any:  # fmt: skip
    """Parameters of all layers, those for multi-token prediction as well.

    Formula: layers x (attention + norms) + dense layers x MLP + MoE layers x (experts + router); an MTP layer is one more (with experts
        if the model has), with a product of 2 h x h and three norms
    Source: Hugging Face LlamaDecoderLayer, MixtralDecoderLayer; DeepSeek-V3 (2024), section 2.2.
    """
    held = layers * (attention + norms) + (layers - moe_layers) * mlp + moe_layers * moe
    beside = (mlp if count is None else moe) + 2 * hidden * hidden + 3 * norm
    return held + mtp * (attention + norms + beside)


def output_bias_parameters(vocab: Any, output_bias: Any) -> Any:
    """Biases of the output layer.

    Formula: V with `output_bias`, else 0
    Source: Hugging Face GPTJForCausalLM.
    """
    return vocab if output_bias else 0


def model_parameters(layers: Any, embedding: Any, position: Any, norms: Any, tied: Any, output_bias: Any) -> Any:
    """Parameters of the model.

    Formula: layers + positions + norms outside them + V h x (2, or 1 if the output layer is tied) + output biases
    Source: counted on Hugging Face models of the same dimensions.
    """
    return layers + position + norms + embedding * (1 if tied else 2) + output_bias


_EXPERTS = (
    "model.hidden", "model.gated", "model.bias", "model.experts.count?", "model.experts.ffn?", "model.experts.shared?",
    "model.experts.shared_ffn?", "model.experts.shared_gate?",
)  # fmt: skip
_LAYER = (
    "model.layers", "model.attention_parameters", "model.mlp_parameters", "model.layer_norm_parameters",
    "model.moe_layers",
)  # fmt: skip
_MTP = ("model.mtp_layers", "model.experts.count?", "model.hidden", "model.norm_parameters")
_ENDS = (
    "model.embedding_parameters", "model.position_parameters", "model.end_norm_parameters", "model.tied",
    "model.output_bias_parameters",
)  # fmt: skip

FACTS = (
    Fact("model.attention_parameters", "parameters", attention_parameters, (
        "model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.bias", "model.attention",
        "model.attention.sinks?", "model.attention.q_lora_rank?", "model.attention.kv_lora_rank?",
        "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?",
    )),
    Fact("model.qk_norm_parameters", "parameters", qk_norm_parameters, ("model.heads", "model.kv_heads", "model.head_dim", "model.attention.qk_norm?", "model.norm")),
    Fact("model.mlp_parameters", "parameters", mlp_parameters, ("model.hidden", "model.ffn", "model.gated", "model.bias")),
    Fact("model.moe_parameters", "parameters", moe_parameters, (*_EXPERTS, "model.experts.count?")),
    Fact("model.active_moe_parameters", "parameters", moe_parameters, (*_EXPERTS, "model.experts.top_k?")),
    Fact("model.moe_layers", "layers", moe_layers, ("model.layers", "model.experts.count?", "model.experts.dense_layers?", "model.experts.every?")),
    Fact("model.norm_parameters", "parameters", norm_parameters, ("model.hidden", "model.norm")),
    Fact("model.layer_norm_parameters", "parameters", layer_norm_parameters, ("model.norm_parameters", "model.norms?", "model.qk_norm_parameters")),
    Fact("model.end_norm_parameters", "parameters", end_norm_parameters, ("model.norm_parameters", "model.embedding_norm?")),
    Fact("model.embedding_parameters", "parameters", embedding_parameters, ("model.hidden", "model.vocab")),
    Fact("model.position_parameters", "parameters", position_parameters, ("model.hidden", "model.positions", "model.max_sequence_length?", "model.family?")),
    Fact("model.output_bias_parameters", "parameters", output_bias_parameters, ("model.vocab", "model.output_bias?")),
    Fact("model.layer_parameters", "parameters", layer_parameters, (*_LAYER, "model.moe_parameters", *_MTP)),
    Fact("model.active_layer_parameters", "parameters", layer_parameters, (*_LAYER, "model.active_moe_parameters", *_MTP)),
    Fact("model.total_parameters", "parameters", model_parameters, ("model.layer_parameters", *_ENDS)),
    Fact("model.active_parameters", "parameters", model_parameters, ("model.active_layer_parameters", *_ENDS)),
)  # fmt: skip
