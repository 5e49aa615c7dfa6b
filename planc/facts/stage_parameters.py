"""Parameters that a card holds, of each stage of the pipeline, before data-parallel ranks share them.

Two kinds are told apart, because other ranks share them: those of the experts, and all others. t is the tensor ranks, h the
hidden size, f the FFN width, V the vocabulary, a the attention heads, k the key-value heads, d the head size; the letters of
MLA are those of `parameters.py`. Matrices are split over the tensor ranks by columns or by rows: what is added after a
product by rows, norms, the router and MLA's products down to its ranks are whole on each.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, rounded_up, where, whole
from planc.facts.fact import Fact
from planc.facts.parameters import mlp_parameters
from planc.plan.model import Unknown

#: What Megatron-LM makes the vocabulary of each tensor rank divisible by (make-vocab-size-divisible-by).
_VOCAB_MULTIPLE = 128


def padded_vocab(vocab: Any, tensor: Any, engine: Any) -> Any:
    """Rows of the embedding over all tensor ranks.

    Formula: V, rounded up to a multiple of t; under Megatron of 128 t
    Source: Megatron-LM, make-vocab-size-divisible-by = 128; PyTorch DTensor: the largest shard.
    """
    multiple = tensor * (_VOCAB_MULTIPLE if engine == "megatron" else 1)
    return rounded_up(vocab, multiple) * multiple


def attention_per_card(
    hidden: Any, heads: Any, kv_heads: Any, head_dim: Any, bias: Any, kind: Any, sinks: Any,
    q_lora: Any, kv_lora: Any, nope: Any, rope: Any, v_dim: Any, tensor: Any,
) -> Any:  # fmt: skip
    """Weights and biases of one layer's attention on a card.

    Formula: (h d (2 a + 2 k) + biases (a + 2 k) d + sinks a) / t, and the output's bias h; MLA: (queries, and keys
        and values up from their rank, and output) / t, with the products down to the ranks and their norms whole
    Source: Megatron-LM, SelfAttention (fewer key-value heads than ranks are split and gathered as well) and MLASelfAttention (its
        down projections are duplicated).
    """
    has_bias, has_last_bias = bias in ("qkv", "attention", "all"), bias in ("attention", "all")
    last = hidden if has_last_bias else 0
    if kind == "mla":
        rank = 0 if q_lora is None else q_lora
        down = hidden * (rank + kv_lora + rope) + rank + kv_lora + (rank + kv_lora + rope if has_bias else 0)
        up = (hidden if q_lora is None else q_lora) * heads * (nope + rope)
        up = up + kv_lora * heads * (nope + v_dim) + heads * v_dim * hidden
        return divide(up, tensor) + down + last
    split = hidden * head_dim * (2 * heads + 2 * kv_heads) + ((heads + 2 * kv_heads) * head_dim if has_bias else 0)
    return divide(split + (heads if sinks else 0), tensor) + last


def mlp_per_card(hidden: Any, ffn: Any, gated: Any, bias: Any, tensor: Any) -> Any:
    """Weights and biases of one dense MLP on a card.

    Formula: MLP / t, with the bias of its last product, h, whole
    Source: Megatron-LM, MLP: linear_fc1 by columns, linear_fc2 by rows.
    """
    last = hidden if bias in ("mlp", "all") else 0
    return divide(mlp_parameters(hidden, ffn, gated, bias) - last, tensor) + last


def router_per_card(
    hidden: Any, gated: Any, bias: Any, count: Any, width: Any, shared: Any, shared_width: Any, gate: Any, tensor: Any
) -> Any:
    """Parameters of one MoE layer on a card that are not routed experts: router and shared experts; 0 without experts.

    Formula: h x routed experts for the router, with a bias each if MLPs have one; shared experts / t; h for their gate
    Source: Megatron-LM, TopKRouter and SharedExpertMLP.
    """
    if count is None:
        return 0
    if width is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    router = (hidden + 1 if bias in ("mlp", "all") else hidden) * count
    if shared is None or (not is_array(shared) and not shared):
        return router
    own = width if shared_width is None else shared_width
    return router + shared * mlp_per_card(hidden, own, gated, bias, tensor) + (hidden if gate else 0)


def experts_per_card(
    hidden: Any, gated: Any, bias: Any, count: Any, width: Any, expert: Any, expert_tensor: Any, tensor: Any, engine: Any
) -> Any:
    """Parameters of the routed experts of one MoE layer on a card; 0 without experts.

    Formula: experts / expert x (MLP of their width / expert_tensor, with the bias of its last product whole); DeepSpeed splits every
        expert over its t tensor ranks if both are 1
    Source: Megatron-LM, TEGroupedMLP; DeepSpeed, AutoTP splits the products of experts as all others.
    """
    if count is None:
        return 0
    if width is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    split = _expert_split(expert, expert_tensor, tensor, engine)
    each = mlp_per_card(hidden, width, gated, bias, split)
    return divide(count * each, expert) if not isinstance(each, Unknown) else each


def stage_parameters(
    layers: Any, moe_layers: Any, attention: Any, mlp: Any, norms: Any, router: Any, has_embedding: Any, has_head: Any,
    vocab: Any, hidden: Any, tensor: Any, position: Any, norm: Any, embedding_norm: Any, tied: Any,
    output_bias: Any, mtp: Any, mtp_beside: Any, has_experts: Any,
) -> Any:  # fmt: skip
    """Parameters on a card of the stage, without routed experts.

    Formula: layers x (attention + norms) + dense layers x MLP + MoE layers x (router + shared experts); with the embedding V h / t,
        positions and their norm; with the output layer V h / t unless it is the same tensor as that embedding, its bias / t and the
        last norm; for each MTP layer a product of 2 h x h / t and three norms
    Source: Megatron-LM, GPTModel; tied embeddings are kept on the first and on the last stage.
    """
    held = layers * (attention + norms) + (layers - moe_layers) * mlp + moe_layers * router
    rows = divide(vocab * hidden, tensor)
    if isinstance(rows, Unknown):
        return rows
    first = rows + position + (norm if embedding_norm else 0)
    alone = has_embedding & has_head
    own = where(alone, 0, rows) if tied else rows
    beside = mtp * (attention + norms + (router if has_experts else mlp) + mtp_beside)
    last = own + norm + divide(output_bias, tensor)
    return held + where(has_embedding, first, 0) + where(has_head, last, 0) + beside


def mtp_beside(hidden: Any, norm: Any, tensor: Any) -> Any:
    """Parameters of an MTP layer on a card beside those of a layer of the model.

    Formula: 2 h h / t for the product that joins token and hidden state, and three norms
    Source: DeepSeek-V3 (2024), section 2.2; Megatron-LM, MultiTokenPredictionLayer.
    Assumes: embedding and output layer are those of the model.
    """
    return divide(2 * hidden * hidden, tensor) + 3 * norm


def largest_layer(
    attention: Any, norms: Any, mlp: Any, router: Any, experts: Any, moe_layers: Any, layers: Any
) -> Any:
    """Parameters of the largest layer of the stage on a card.

    Formula: attention + norms + the larger of the MLP and of router and experts, of those that the stage has
    Source: definition.
    """
    sparse, dense = where(0 < moe_layers, router + experts, 0), where(moe_layers < layers, mlp, 0)
    return where(0 < layers, attention + norms + largest(sparse, dense), 0)


def end_parameters(
    parameters: Any, layers: Any, moe_layers: Any, attention: Any, mlp: Any, norms: Any, router: Any
) -> Any:
    """Parameters of the stage on a card that are in no layer: embedding, output layer, their norms, MTP layers.

    Formula: parameters of the stage - layers x (attention + norms) - dense layers x MLP - MoE layers x (router + shared experts)
    Source: definition.
    """
    return parameters - layers * (attention + norms) - (layers - moe_layers) * mlp - moe_layers * router


def stage_expert_parameters(moe_layers: Any, experts: Any, mtp: Any) -> Any:
    """Parameters of routed experts on a card of the stage.

    Formula: MoE layers x experts on the card; MTP layers have experts if the model has
    Source: Megatron-LM, TEGroupedMLP.
    """
    return (moe_layers + mtp) * experts


def parameters_per_rank(others: tuple[Any, ...], experts: tuple[Any, ...]) -> Any:
    """Parameters that the heaviest rank holds before sharding.

    Formula: the largest of all stages: `stage.parameters` + `stage.expert_parameters`
    Source: definition.
    """
    found: Any = 0
    for other, expert in zip(others, experts, strict=True):
        found = largest(found, other + expert)
    return found


def expert_data(world: Any, pipeline: Any, expert: Any, expert_tensor: Any, tensor: Any, engine: Any) -> Any:
    """Ranks that hold the same experts.

    Formula: ranks // (pipeline x expert x expert_tensor), rounded down; DeepSpeed splits experts over its tensor ranks if both are 1
    Source: Megatron-LM, parallel_state: the expert-data-parallel size.
    """
    split = _expert_split(expert, expert_tensor, tensor, engine)
    return whole(world, pipeline * expert * split)


def _expert_split(expert: Any, expert_tensor: Any, tensor: Any, engine: Any) -> Any:
    """Ranks that split one expert."""
    if engine != "deepspeed":
        return expert_tensor
    return where((expert == 1) & (expert_tensor == 1), tensor, expert_tensor)


def expert_shard_group(expert_data: Any, replicas: Any) -> Any:
    """Ranks that share one copy of the sharded states of experts.

    Formula: expert data / shard.replicas
    Source: Megatron-LM, expert-data-parallel groups of its distributed optimizer; torchtitan, ParallelDims (efsdp).
    """
    return divide(expert_data, replicas)


_WIDTHS = ("model.hidden", "model.gated", "model.bias", "model.experts.count?", "model.experts.ffn?")
_T = "parallel.tensor"

FACTS = (
    Fact("parallel.padded_vocab", "count", padded_vocab, ("model.vocab", _T, "engine.name")),
    Fact("parallel.attention_parameters", "parameters", attention_per_card, (
        "model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.bias", "model.attention",
        "model.attention.sinks?", "model.attention.q_lora_rank?", "model.attention.kv_lora_rank?",
        "model.attention.qk_nope_head_dim?", "model.attention.qk_rope_head_dim?", "model.attention.v_head_dim?", _T,
    )),
    Fact("parallel.mlp_parameters", "parameters", mlp_per_card, ("model.hidden", "model.ffn", "model.gated", "model.bias", _T)),
    Fact("parallel.router_parameters", "parameters", router_per_card, (*_WIDTHS, "model.experts.shared?", "model.experts.shared_ffn?", "model.experts.shared_gate?", _T)),
    Fact("parallel.expert_parameters", "parameters", experts_per_card, (*_WIDTHS, "parallel.expert", "parallel.expert_tensor", _T, "engine.family")),
    Fact("parallel.mtp_parameters", "parameters", mtp_beside, ("model.hidden", "model.norm_parameters", _T)),
    Fact("parallel.expert_data", "ranks", expert_data, ("world.size", "parallel.pipeline", "parallel.expert", "parallel.expert_tensor", _T, "engine.family")),
    Fact("shard.expert_group", "ranks", expert_shard_group, ("parallel.expert_data", "shard.replicas")),
    Fact("stage.parameters", "parameters", stage_parameters, (
        "stage.layers", "stage.moe_layers", "parallel.attention_parameters", "parallel.mlp_parameters", "model.layer_norm_parameters",
        "parallel.router_parameters", "stage.has_embedding", "stage.has_head", "parallel.padded_vocab", "model.hidden", _T,
        "model.position_parameters", "model.norm_parameters", "model.embedding_norm?", "model.tied",
        "model.output_bias_parameters", "stage.mtp_layers", "parallel.mtp_parameters", "model.experts.count?",
    )),
    Fact("stage.largest_layer", "parameters", largest_layer, (
        "parallel.attention_parameters", "model.layer_norm_parameters", "parallel.mlp_parameters", "parallel.router_parameters",
        "parallel.expert_parameters", "stage.moe_layers", "stage.layers",
    )),
    Fact("stage.end_parameters", "parameters", end_parameters, (
        "stage.parameters", "stage.layers", "stage.moe_layers", "parallel.attention_parameters", "parallel.mlp_parameters",
        "model.layer_norm_parameters", "parallel.router_parameters",
    )),
    Fact("stage.expert_parameters", "parameters", stage_expert_parameters, ("stage.moe_layers", "parallel.expert_parameters", "stage.mtp_layers")),
    Fact("parallel.parameters_per_rank", "parameters", parameters_per_rank, ("stage.parameters[]", "stage.expert_parameters[]")),
)  # fmt: skip
