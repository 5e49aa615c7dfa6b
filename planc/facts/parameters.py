"""Parameters: of the model, and of the heaviest rank once the axes have split it.

h is the hidden size, f the FFN width, V the vocabulary, a the attention heads, k the key-value heads, d the head size.
The inputs that only some models have (experts, MLA ranks) are None in the others.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, whole
from planc.facts.fact import Fact
from planc.plan.model import Unknown


def attention_parameters(
    hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, bias: Any, kind: Any,
    q_lora: Any, kv_lora: Any, nope: Any, rope: Any, v_dim: Any,
) -> Any:  # fmt: skip
    """Weights and biases of one layer's attention.

    Formula: h d (2 a + 2 k) for queries, keys, values and output; biases (a + 2 k) d with `qkv`, and h more with `all`;
        MLA: h q + q a (n + r) + h (c + r) + c a (n + v) + a v h, with the two norms q + c
    Source: Hugging Face LlamaAttention, Qwen2Attention, DeepseekV3Attention.
    """
    if kind == "mla":
        queries = hidden * heads * (nope + rope) if q_lora is None else q_lora * (hidden + 1 + heads * (nope + rope))
        keys_values = hidden * (kv_lora + rope) + kv_lora + kv_lora * heads * (nope + v_dim)
        return queries + keys_values + heads * v_dim * hidden
    weights = hidden * head_dim * (2 * heads + 2 * kv_heads)
    qkv = (heads + 2 * kv_heads) * head_dim
    return weights + {"none": 0, "qkv": qkv, "all": qkv + hidden}[bias]


def mlp_parameters(hidden: Any, ffn: Any, gated: Any, bias: Any) -> Any:
    """Weights and biases of one dense MLP.

    Formula: 3 h f if gated, else 2 h f; biases with `all`: 2 f + h if gated, else f + h
    Source: Hugging Face LlamaMLP, GPTNeoXMLP.
    """
    matrices = 3 if gated else 2
    biases = ((matrices - 1) * ffn + hidden) if bias == "all" else 0
    return matrices * hidden * ffn + biases


def moe_parameters(hidden: Any, gated: Any, count: Any, width: Any, shared: Any, active: Any) -> Any:
    """Weights of the experts and the router of one MoE layer; 0 without experts.

    Formula: (experts + shared) x (3 h f if gated, else 2 h f) + h x routed experts, with f the width of one expert
    Source: Hugging Face MixtralSparseMoeBlock, DeepseekV3MoE.
    """
    if count is None:
        return 0
    return (active + shared) * (3 if gated else 2) * hidden * width + hidden * count


def moe_layers(layers: Any, count: Any, dense: Any, every: Any) -> Any:
    """Layers with routed experts.

    Formula: (layers - dense_layers) // every; 0 without experts
    Source: Hugging Face DeepseekV3 (first_k_dense_replace), Qwen2Moe (decoder_sparse_step).
    """
    return 0 if count is None else whole(largest(layers - dense, 0), every)


def norm_parameters(hidden: Any, norm: Any) -> Any:
    """Parameters of one norm.

    Formula: h for rmsnorm, 2 h for layernorm
    Source: PyTorch RMSNorm and LayerNorm (weight, and bias).
    """
    return hidden if norm == "rmsnorm" else 2 * hidden


def embedding_parameters(hidden: Any, vocab: Any) -> Any:
    """Parameters of the token embedding; the output layer has as many unless it is tied.

    Formula: V h
    Source: Hugging Face LlamaForCausalLM.
    """
    return hidden * vocab


def position_parameters(hidden: Any, positions: Any, longest: Any) -> Any:
    """Parameters of learned positions.

    Formula: max_sequence_length x h if the positions are learned, else 0
    Source: Hugging Face GPT2Model.
    """
    if positions != "learned":
        return 0
    if longest is None:
        return Unknown("learned positions need `max_sequence_length`", ("model.max_sequence_length",))
    return longest * hidden


def layer_parameters(layers: Any, attention: Any, mlp: Any, norm: Any, moe_layers: Any, moe: Any, mtp: Any) -> Any:
    """Parameters of all layers.

    Formula: layers x (attention + 2 norms) + dense layers x MLP + MoE layers x (experts + router)
    Source: Hugging Face LlamaDecoderLayer, MixtralDecoderLayer.
    """
    if 0 < mtp:
        return Unknown("multi-token prediction layers are not counted in this version", ("model.mtp_layers",))
    return layers * (attention + 2 * norm) + (layers - moe_layers) * mlp + moe_layers * moe


def model_parameters(layers: Any, embedding: Any, position: Any, norm: Any, tied: Any) -> Any:
    """Parameters of the model.

    Formula: layers + positions + last norm + V h x (2, or 1 if the output layer is tied)
    Source: counted on Hugging Face models of the same dimensions.
    """
    return layers + position + norm + embedding * (1 if tied else 2)


def parameters_per_rank(
    layers: Any, num_layers: Any, longest: Any, norm: Any, embedding: Any, position: Any, tied: Any,
    tensor: Any, pipeline: Any, experts: Any, expert: Any, expert_tensor: Any,
) -> Any:  # fmt: skip
    """Parameters that the heaviest rank holds before sharding, N in the memory formulas.

    Formula: longest stage / layers x ((all layers - 2 norms each) / tensor + 2 norms each), plus V h / tensor for the
        embedding (twice with one stage, unless tied), the positions and the last norm
    Source: Megatron-LM: matrices are split over the tensor ranks, norms are replicated.
    Assumes: the longest stage also holds the embedding or the output layer; MoE layers are spread evenly over stages;
        biases are split as their matrices are, and a vocabulary that `tensor` does not divide is not padded.
    """
    if experts is not None and _split_apart(expert, expert_tensor, tensor):
        return Unknown(
            "what a rank holds of experts that are not split as the layers are is not derived in this version",
            ("parallel.expert", "parallel.expert_tensor"),
        )
    norms = 2 * norm * num_layers
    matrices = divide(layers - norms, tensor)
    share = divide(longest * (matrices + norms), num_layers)
    ends = 1 if tied else 1 + (pipeline == 1)
    return share + divide(ends * embedding, tensor) + position + norm


def _split_apart(expert: Any, expert_tensor: Any, tensor: Any) -> bool:
    """Whether experts are split unlike the layers; for arrays, whether any layout splits them so."""
    apart = (expert != 1) | (expert_tensor != tensor)
    return bool(apart.any()) if is_array(apart) else bool(apart)


_EXPERTS = ("model.hidden", "model.gated", "model.experts.count?", "model.experts.ffn?", "model.experts.shared?")
_LAYER = (
    "model.layers",
    "model.attention_parameters",
    "model.mlp_parameters",
    "model.norm_parameters",
    "model.moe_layers",
)
_ENDS = ("model.embedding_parameters", "model.position_parameters", "model.norm_parameters", "model.tied")

FACTS = (
    Fact("model.attention_parameters", "parameters", attention_parameters, (
        "model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.bias", "model.attention",
        "model.attention.q_lora_rank?", "model.attention.kv_lora_rank?", "model.attention.qk_nope_head_dim?",
        "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?",
    )),
    Fact("model.mlp_parameters", "parameters", mlp_parameters, ("model.hidden", "model.ffn", "model.gated", "model.bias")),
    Fact("model.moe_parameters", "parameters", moe_parameters, (*_EXPERTS, "model.experts.count?")),
    Fact("model.active_moe_parameters", "parameters", moe_parameters, (*_EXPERTS, "model.experts.top_k?")),
    Fact("model.moe_layers", "layers", moe_layers, ("model.layers", "model.experts.count?", "model.experts.dense_layers?", "model.experts.every?")),
    Fact("model.norm_parameters", "parameters", norm_parameters, ("model.hidden", "model.norm")),
    Fact("model.embedding_parameters", "parameters", embedding_parameters, ("model.hidden", "model.vocab")),
    Fact("model.position_parameters", "parameters", position_parameters, ("model.hidden", "model.positions", "model.max_sequence_length?")),
    Fact("model.layer_parameters", "parameters", layer_parameters, (*_LAYER, "model.moe_parameters", "model.mtp_layers")),
    Fact("model.active_layer_parameters", "parameters", layer_parameters, (*_LAYER, "model.active_moe_parameters", "model.mtp_layers")),
    Fact("model.total_parameters", "parameters", model_parameters, ("model.layer_parameters", *_ENDS)),
    Fact("model.active_parameters", "parameters", model_parameters, ("model.active_layer_parameters", *_ENDS)),
    Fact("parallel.parameters_per_rank", "parameters", parameters_per_rank, (
        "model.layer_parameters", "model.layers", "pipeline.longest_stage", "model.norm_parameters",
        "model.embedding_parameters", "model.position_parameters", "model.tied",
        "parallel.tensor", "parallel.pipeline", "model.experts.count?", "parallel.expert", "parallel.expert_tensor",
    )),
)  # fmt: skip
