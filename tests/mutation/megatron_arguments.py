"""A plan in Megatron's own words: what its user would write for it. No target of planc writes them yet.

Dtypes are their names, and what a plan does not say is left out, so that Megatron's own defaults hold.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, PLAIN, SAMPLES, STEPS, TOKENS, Amount

_CONTEXT = {"ring": "p2p", "ulysses": "a2a", "all-gather": "all_gather", "hierarchical": "a2a+p2p"}
_DISPATCH = {"all-to-all": "alltoall", "all-gather": "allgather", "deepep": "flex"}
_NORM = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}
_OPTIMIZER = {"adamw": "adam", "sgd": "sgd", "muon": "muon", "lion": "lion"}
_STYLES = {
    "constant": "constant", "linear": "linear", "cosine": "cosine", "inverse-sqrt": "inverse-square-root", "wsd": "WSD",
}  # fmt: skip

Arguments = dict[str, dict[str, Any]]


def arguments(plan: Plan) -> Arguments:
    """The arguments of Megatron's classes and functions, by what takes them."""
    said = {
        "world": {"size": _count(plan, "cluster.nodes") * _count(plan, "cluster.gpus_per_node")},
        "parallel": _parallel(plan),
        "config": {**_model(plan), **_experts(plan), **_run(plan), **_pipeline(plan)},
        "network": _network(plan),
        "batch": _batch(plan),
        "optimizer": _optimizer(plan),
        "schedule": _schedule(plan),
    }
    return {
        part: {name: _plain(value) for name, value in own.items() if value is not None} for part, own in said.items()
    }


def _plain(value: Any) -> Any:
    """The value with floats in place of fractions."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Fraction) else value


def _value(plan: Plan, path: str) -> Any:
    """The value of a field in base units; None where it is not written or not known."""
    located = plan.find(path)
    value = None if located is None else located.value
    if isinstance(value, Unknown):
        return None
    if hasattr(value, "word"):
        return value.word
    return value


def _count(plan: Plan, path: str) -> int:
    value = _value(plan, path)
    return 1 if value is None else value


def _parallel(plan: Plan) -> dict[str, Any]:
    chunks = _value(plan, "pipeline.chunks") if _value(plan, "pipeline") == "interleaved" else None
    if chunks == 1:  # its arguments take one chunk for none
        chunks = None
    return {
        "tensor_model_parallel_size": _value(plan, "parallel.tensor"),
        "pipeline_model_parallel_size": _value(plan, "parallel.pipeline"),
        "virtual_pipeline_model_parallel_size": chunks,
        "context_parallel_size": _value(plan, "parallel.context"),
        "expert_model_parallel_size": _value(plan, "parallel.expert"),
        "expert_tensor_parallel_size": _value(plan, "parallel.expert_tensor"),
        "num_distributed_optimizer_instances": _instances(plan),
    }


def _instances(plan: Plan) -> Any:
    """How often the optimizer's states are kept: Megatron counts the copies, the plan the ranks of one."""
    size, data = _value(plan, "shard.size"), _value(plan, "parallel.data")
    if not _value(plan, "shard.stage") or not size or not data:
        return None
    return data // size if data % size == 0 else data / size  # a number of copies that is none


def _model(plan: Plan) -> dict[str, Any]:
    model = {
        "num_layers": _value(plan, "model.layers"),
        "hidden_size": _value(plan, "model.hidden"),
        "num_attention_heads": _value(plan, "model.heads"),
        "ffn_hidden_size": _value(plan, "model.ffn"),
        "gated_linear_unit": _value(plan, "model.gated"),
        "add_bias_linear": _value(plan, "model.bias") in ("mlp", "all"),
        "add_qkv_bias": _value(plan, "model.bias") in ("qkv", "attention", "all"),
        "normalization": _NORM.get(_value(plan, "model.norm")),
        "hidden_dropout": _real(_value(plan, "model.dropout")),
        "attention_dropout": _real(_value(plan, "model.dropout")),
        "mtp_num_layers": _value(plan, "model.mtp_layers") or None,
    }
    kind = _value(plan, "model.attention")
    if kind == "mla":
        ranks = ("q_lora_rank", "kv_lora_rank", "v_head_dim")
        model.update({name: _value(plan, f"model.attention.{name}") for name in ranks})
        model["qk_head_dim"] = _value(plan, "model.attention.qk_nope_head_dim")
        model["qk_pos_emb_head_dim"] = _value(plan, "model.attention.qk_rope_head_dim")
        return model
    model["num_query_groups"] = _value(plan, "model.kv_heads")
    model["kv_channels"] = _value(plan, "model.head_dim") if plan.is_written("model.head_dim") else None
    if kind == "sliding" and _value(plan, "model.attention.window") is not None:
        model["window_size"] = (_value(plan, "model.attention.window"), 0)
        model["window_attn_skip_freq"] = _value(plan, "model.attention.every")
    model["qk_layernorm"] = _value(plan, "model.attention.qk_norm") == "head" or None
    model["softmax_type"] = "learnable" if _value(plan, "model.attention.sinks") else None
    return model


def _experts(plan: Plan) -> dict[str, Any]:
    if _value(plan, "model.experts.count") is None:
        return {}
    layers, dense = _count(plan, "model.layers"), _value(plan, "model.experts.dense_layers") or 0
    every = _count(plan, "model.experts.every")
    shared, width = _value(plan, "model.experts.shared"), _value(plan, "model.experts.shared_ffn")
    pattern = [int(dense <= layer and (layer + 1) % every == 0) for layer in range(layers)] if 0 < every else every
    return {
        "num_moe_experts": _value(plan, "model.experts.count"),
        "moe_router_topk": _value(plan, "model.experts.top_k"),
        "moe_router_pre_softmax": _value(plan, "model.experts.top_k") == 1,  # it asks for that then
        "moe_ffn_hidden_size": _value(plan, "model.experts.ffn"),
        "moe_layer_freq": pattern if dense or every != 1 else None,
        "moe_shared_expert_intermediate_size": shared * width if shared and width else None,
        "moe_shared_expert_gate": _value(plan, "model.experts.shared_gate") if shared else None,
        "moe_token_dispatcher_type": _DISPATCH.get(_value(plan, "expert.dispatch") or "all-to-all"),
        "moe_expert_capacity_factor": _real(_value(plan, "expert.capacity_factor")),
        "moe_router_load_balancing_type": "aux_loss",
    }


def _run(plan: Plan) -> dict[str, Any]:
    precision, recompute = _value(plan, "precision"), _value(plan, "recompute")
    modules = _value(plan, "recompute.modules")
    tensor = _count(plan, "parallel.tensor")
    return {
        "precision": precision,
        "fp8": (_value(plan, "precision.format") or "hybrid") if precision == "fp8" else None,
        "fp8_recipe": _value(plan, "precision.recipe") if precision == "fp8" else None,
        "fp4": "e2m1" if precision == "fp4" else None,
        # its arguments turn it off beside one tensor rank
        "sequence_parallel": bool(_value(plan, "parallel.sequence")) and 1 < tensor,
        "cp_comm_type": _CONTEXT.get(_value(plan, "context")) if 1 < _count(plan, "parallel.context") else None,
        "recompute_granularity": recompute if recompute in ("full", "selective") else None,
        # Megatron asks for both; its users take these where they have no other wish.
        "recompute_method": (_value(plan, "recompute.method") or "uniform") if recompute == "full" else None,
        "recompute_num_layers": _layers_again(plan) if recompute == "full" else None,
        "recompute_modules": list(modules) if recompute == "selective" and modules else None,
        "deterministic_mode": _value(plan, "train.deterministic"),
    }


def _layers_again(plan: Plan) -> int:
    layers = _value(plan, "recompute.layers")
    return 1 if layers is None else layers


def _pipeline(plan: Plan) -> dict[str, Any]:
    return {
        "num_layers_in_first_pipeline_stage": _value(plan, "pipeline.first_stage_layers"),
        "num_layers_in_last_pipeline_stage": _value(plan, "pipeline.last_stage_layers"),
        "account_for_embedding_in_pipeline_split": _value(plan, "pipeline.embedding_as_layer"),
        "account_for_loss_in_pipeline_split": _value(plan, "pipeline.loss_as_layer"),
        "pipeline_model_parallel_layout": _layout(plan),
        "microbatch_group_size_per_vp_stage": _value(plan, "pipeline.group"),
    }


def _layout(plan: Plan) -> str | None:
    """The layout string: as it is written, or that of a list of layers, the embedding before and the loss after."""
    layout, listed = _value(plan, "pipeline.layout"), _value(plan, "pipeline.layers")
    if layout is not None or listed is None:
        return None if layout is None else str(layout)
    stages = ["t" * count for count in listed]
    return f"E{'|'.join(stages)}L"


def _network(plan: Plan) -> dict[str, Any]:
    positions = {"rope": "rope", "learned": "learned_absolute"}.get(_value(plan, "model.positions"), "none")
    vocab, multiple = _value(plan, "model.vocab"), 128 * _count(plan, "parallel.tensor")
    return {
        # its arguments pad the vocabulary to a multiple of this
        "vocab_size": vocab if vocab is None or multiple < 1 or vocab < 1 else -(-vocab // multiple) * multiple,
        "max_sequence_length": _value(plan, "model.max_sequence_length") or _value(plan, "batch.sequence_length") or 1,
        "share_embeddings_and_output_weights": bool(_value(plan, "model.tied")),
        "position_embedding_type": positions,
    }


def _batch(plan: Plan) -> dict[str, Any]:
    ramp = None
    if _value(plan, "batch.ramp") == "linear":
        over = _number(_value(plan, "batch.ramp.over"))
        ramp = [_value(plan, "batch.ramp.start"), _value(plan, "batch.ramp.increment"), over]
    return {
        "global_batch_size": _samples(plan, _value(plan, "batch.global")),
        "micro_batch_size": _value(plan, "batch.micro"),
        "data_parallel_size": _value(plan, "parallel.data"),
        "rampup_batch_size": ramp,
        "sequence_length": _value(plan, "batch.sequence_length"),
    }


def _optimizer(plan: Plan) -> dict[str, Any]:
    betas = _value(plan, "optimizer.betas") or ()
    kind = _value(plan, "optimizer")
    half = {name: _value(plan, path) for name, path in (
        ("main_params_dtype", "precision.master"),
        ("exp_avg_dtype", "optimizer.states"), ("exp_avg_sq_dtype", "optimizer.states"),
    )}  # fmt: skip
    return {
        "optimizer": _OPTIMIZER.get(kind, kind),
        "lr": _real(_value(plan, "optimizer.learning_rate")),
        "min_lr": _real(_value(plan, "schedule.minimum")),
        "weight_decay": _real(_value(plan, "optimizer.weight_decay")),
        "adam_beta1": _real(betas[0]) if len(betas) == 2 else None,
        "adam_beta2": _real(betas[1]) if len(betas) == 2 else None,
        "adam_eps": _real(_value(plan, "optimizer.epsilon")),
        "sgd_momentum": _real(_value(plan, "optimizer.momentum")),
        "clip_grad": _real(_value(plan, "optimizer.clip")),
        "use_distributed_optimizer": 1 <= (_value(plan, "shard.stage") or 0),
        "optimizer_cpu_offload": True if _value(plan, "offload.optimizer") == "cpu" else None,
        **{name: dtype for name, dtype in half.items() if dtype not in (None, "fp32")},
    }


def _schedule(plan: Plan) -> dict[str, Any]:
    rate, kind = _real(_value(plan, "optimizer.learning_rate")), _value(plan, "schedule")
    total, warmup = _value(plan, "schedule.total"), _value(plan, "schedule.warmup")
    if kind not in _STYLES or rate is None or total is None:
        return {}
    steps = _steps(plan, total)
    share = isinstance(warmup, Amount) and warmup.dimension == PLAIN
    warm = 0 if warmup is None else _number(warmup) * steps if share else _steps(plan, warmup)
    return {
        "lr_decay_style": _STYLES[kind], "max_lr": rate, "init_lr": 0.0,
        "min_lr": _real(_value(plan, "schedule.minimum")) or 0.0,
        "lr_decay_steps": float(steps), "lr_warmup_steps": float(warm),
    }  # fmt: skip


def _steps(plan: Plan, amount: Any) -> Any:
    """A length in steps; of samples, tokens and epochs as many as the batch makes of them."""
    if not isinstance(amount, Amount) or amount.dimension in (STEPS, PLAIN, EPOCHS):
        return _number(amount)
    batch = _samples(plan, _value(plan, "batch.global")) or 1
    length = _count(plan, "batch.sequence_length") if amount.dimension == TOKENS else 1
    return amount.value / (batch * length)


def _samples(plan: Plan, amount: Any) -> Any:
    if not isinstance(amount, Amount) or amount.dimension in (PLAIN, SAMPLES):
        return _number(amount)
    return amount.value / _count(plan, "batch.sequence_length")


def _number(amount: Any) -> Any:
    return amount.value if isinstance(amount, Amount) else amount


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
