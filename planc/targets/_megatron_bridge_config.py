"""Overrides of a recipe's ConfigContainer, as Megatron-Bridge 0.3.1 has its keys, from the flags of Megatron-LM.

Both run megatron-core, so what planc says to Megatron-LM by flags has a field here: of the model's provider (`model`),
of the classes of megatron/bridge/training/config.py, or of megatron-core's OptimizerConfig and
DistributedDataParallelConfig. A recipe has said nearly all of them before, so what a flag would leave at Megatron's
default is written too, where the recipe may have set something else that the plan's layout or numbers exclude.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._data import real
from planc.targets._launch import option, written
from planc.targets._megatron_flags import Flag, flags

PRETRAIN, FINETUNE = "pretrain", "finetune"

_LEFT: Any = object()  # what the recipe says stays, where there is no flag


class Key(NamedTuple):
    """Fields that stand for a flag, and their value where the flag is not due."""

    names: tuple[str, ...]
    otherwise: Any = _LEFT


class Override(NamedTuple):
    """A field of the ConfigContainer by its dotted name, its value, and the field of the plan that it says."""

    name: str
    value: Any
    path: str


def _model(*names: str, otherwise: Any = _LEFT) -> Key:
    return Key(tuple(f"model.{name}" for name in names), otherwise)


#: Flags that only a mixture of experts has: without one the recipe's values mean nothing.
_EXPERTS: dict[str, Key] = {
    "moe-router-topk": _model("moe_router_topk"),
    "moe-router-pre-softmax": _model("moe_router_pre_softmax"),
    "moe-ffn-hidden-size": _model("moe_ffn_hidden_size"),
    "moe-layer-freq": _model("moe_layer_freq", otherwise=1),
    "moe-shared-expert-intermediate-size": _model("moe_shared_expert_intermediate_size", otherwise=None),
    "moe-shared-expert-gate": _model("moe_shared_expert_gate"),
    "moe-token-dispatcher-type": _model("moe_token_dispatcher_type"),
    "moe-flex-dispatcher-backend": _model("moe_flex_dispatcher_backend"),
    "moe-expert-capacity-factor": _model("moe_expert_capacity_factor", otherwise=None),
}

KEYS: dict[str, Key] = {
    "tensor-model-parallel-size": _model("tensor_model_parallel_size"),
    "pipeline-model-parallel-size": _model("pipeline_model_parallel_size"),
    "context-parallel-size": _model("context_parallel_size"),
    "cp-comm-type": _model("cp_comm_type"),
    "sequence-parallel": _model("sequence_parallel", otherwise=False),
    "expert-model-parallel-size": _model("expert_model_parallel_size", otherwise=1),
    "expert-tensor-parallel-size": _model("expert_tensor_parallel_size", otherwise=None),
    "distributed-timeout-minutes": Key(("dist.distributed_timeout_minutes",)),
    "num-virtual-stages-per-pipeline-rank": _model("virtual_pipeline_model_parallel_size", otherwise=None),
    "microbatch-group-size-per-virtual-pipeline-stage": _model("microbatch_group_size_per_vp_stage", otherwise=None),
    "pipeline-model-parallel-layout": _model("pipeline_model_parallel_layout", otherwise=None),
    "decoder-first-pipeline-num-layers": _model("num_layers_in_first_pipeline_stage", otherwise=None),
    "decoder-last-pipeline-num-layers": _model("num_layers_in_last_pipeline_stage", otherwise=None),
    "account-for-embedding-in-pipeline-split": _model("account_for_embedding_in_pipeline_split", otherwise=False),
    "account-for-loss-in-pipeline-split": _model("account_for_loss_in_pipeline_split", otherwise=False),
    "num-layers": _model("num_layers"),
    "hidden-size": _model("hidden_size"),
    "num-attention-heads": _model("num_attention_heads"),
    "num-query-groups": _model("num_query_groups", otherwise=None),
    "kv-channels": _model("kv_channels"),
    "ffn-hidden-size": _model("ffn_hidden_size"),
    "vocab-size": _model("vocab_size"),
    "position-embedding-type": _model("position_embedding_type"),
    "normalization": _model("normalization"),
    "swiglu": _model("gated_linear_unit", otherwise=False),
    "add-qkv-bias": _model("add_qkv_bias", otherwise=False),
    "hidden-dropout": _model("hidden_dropout"),
    "attention-dropout": _model("attention_dropout"),
    "mtp-num-layers": _model("mtp_num_layers", otherwise=None),
    "multi-latent-attention": _model("multi_latent_attention"),
    "q-lora-rank": _model("q_lora_rank"),
    "kv-lora-rank": _model("kv_lora_rank"),
    "qk-head-dim": _model("qk_head_dim"),
    "qk-pos-emb-head-dim": _model("qk_pos_emb_head_dim"),
    "v-head-dim": _model("v_head_dim"),
    "window-size": _model("window_size"),
    "window-attn-skip-freq": _model("window_attn_skip_freq"),
    "qk-layernorm": _model("qk_layernorm", otherwise=False),
    "softmax-type": _model("softmax_type"),
    "num-experts": _model("num_moe_experts", otherwise=None),
    **_EXPERTS,
    "micro-batch-size": Key(("train.micro_batch_size",)),
    "global-batch-size": Key(("train.global_batch_size",)),
    "recompute-granularity": _model("recompute_granularity", otherwise=None),
    "recompute-method": _model("recompute_method", otherwise=None),
    "recompute-num-layers": _model("recompute_num_layers", otherwise=None),
    "recompute-modules": _model("recompute_modules"),
    "use-distributed-optimizer": Key(
        ("ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"), otherwise=False
    ),
    "use-megatron-fsdp": Key(("ddp.use_megatron_fsdp", "dist.use_megatron_fsdp"), otherwise=False),
    "data-parallel-sharding-strategy": Key(("ddp.data_parallel_sharding_strategy",)),
    "num-distributed-optimizer-instances": Key(("ddp.num_distributed_optimizer_instances",), otherwise=1),
    "overlap-grad-reduce": Key(("ddp.overlap_grad_reduce",)),
    "overlap-param-gather": Key(("ddp.overlap_param_gather",)),
    "ddp-bucket-size": Key(("ddp.bucket_size",)),
    "optimizer-cpu-offload": Key(("optimizer.optimizer_cpu_offload",), otherwise=False),
    "use-precision-aware-optimizer": Key(("optimizer.use_precision_aware_optimizer",), otherwise=False),
    "main-grads-dtype": Key(("optimizer.main_grads_dtype",), otherwise="fp32"),
    "main-params-dtype": Key(("optimizer.main_params_dtype",), otherwise="fp32"),
    "exp-avg-dtype": Key(("optimizer.exp_avg_dtype",), otherwise="fp32"),
    "exp-avg-sq-dtype": Key(("optimizer.exp_avg_sq_dtype",), otherwise="fp32"),
    "optimizer": Key(("optimizer.optimizer",)),
    "lr": Key(("optimizer.lr",)),
    "min-lr": Key(("optimizer.min_lr",), otherwise=0.0),
    # The scheduler sets the weight decay anew in each step, from its own two.
    "weight-decay": Key(("optimizer.weight_decay", "scheduler.start_weight_decay", "scheduler.end_weight_decay")),
    "adam-beta1": Key(("optimizer.adam_beta1",)),
    "adam-beta2": Key(("optimizer.adam_beta2",)),
    "adam-eps": Key(("optimizer.adam_eps",)),
    "sgd-momentum": Key(("optimizer.sgd_momentum",)),
    "muon-momentum": Key(("optimizer.muon_momentum",)),
    "clip-grad": Key(("optimizer.clip_grad",)),
    "train-iters": Key(("train.train_iters",)),
    "lr-decay-style": Key(("scheduler.lr_decay_style",)),
    "lr-decay-iters": Key(("scheduler.lr_decay_iters",), otherwise=None),
    "lr-warmup-iters": Key(("scheduler.lr_warmup_iters",), otherwise=0),
    "lr-warmup-fraction": Key(("scheduler.lr_warmup_fraction",), otherwise=None),
    "num-workers": Key(("dataset.num_workers",)),
    "deterministic-mode": _model("deterministic_mode", otherwise=False),
    "save": Key(("checkpoint.save",)),
    "save-interval": Key(("checkpoint.save_interval",)),
    "ckpt-format": Key(("checkpoint.ckpt_format",)),
    "async-save": Key(("checkpoint.async_save",), otherwise=False),
    "use-persistent-ckpt-worker": Key(("checkpoint.use_persistent_ckpt_worker",)),
    "load": Key(("checkpoint.load",)),
    "exit-on-missing-checkpoint": Key(("checkpoint.exit_on_missing_checkpoint",), otherwise=False),
    "ckpt-step": Key(("checkpoint.ckpt_step",)),
    "log-interval": Key(("logger.log_interval",)),
    "tensorboard-dir": Key(("logger.tensorboard_dir",)),
    "use-pytorch-profiler": Key(("profiling.use_pytorch_profiler",)),
    "profile-step-start": Key(("profiling.profile_step_start",)),
    "profile-step-end": Key(("profiling.profile_step_end",)),
    "profile-ranks": Key(("profiling.profile_ranks",)),
}

#: Flags that say the opposite of their field, or that several fields or one object say: see `_further`.
OTHERWISE_SAID = frozenset((
    "seq-length", "disable-bias-linear", "untie-embeddings-and-output-weights", "group-query-attention", "seed",
    "data-path", "bf16", "fp16", "loss-scale", "fp8-format", "fp8-recipe", "fp8-param-gather", "fp4-format",
    "fp4-recipe", "accumulate-allreduce-grads-in-fp32", "grad-reduce-in-bf16", "no-gradient-accumulation-fusion",
    "profile",
))  # fmt: skip

#: Flags whose fields a recipe has no place for: the target reports the plans that need them.
REFUSED = frozenset(("max-position-embeddings", "rampup-batch-size", "train-samples", "lr-decay-samples",
                     "lr-warmup-samples"))  # fmt: skip

_PRECISION = "megatron.bridge.training.mixed_precision.MixedPrecisionConfig"
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp8": "uint8"}
_OF_DTYPES = ("main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype")

#: Families whose recipes stretch rotary positions by a kind of their own.
_YARN = ("gpt_oss",)


def task(plan: Plan) -> str:
    """What the recipe does, which decides of which class its data set is."""
    return option(plan, "megatron-bridge", "task") or PRETRAIN


def overrides(plan: Plan, facts: Facts) -> tuple[Override, ...]:
    """Every override, in the order of the classes of ConfigContainer. What is faulty or not known is left out."""
    said = {flag.name: flag for part in flags(plan, facts).values() for flag in part}
    found = [override for name, key in KEYS.items() for override in _of_flag(plan, said, name, key)]
    found += _further(plan, said)
    order = ("model", "mixed_precision", "comm_overlap", "peft", "train", "optimizer", "scheduler", "ddp", "dist",
             "dataset", "checkpoint", "rng", "logger", "profiling")  # fmt: skip
    return tuple(sorted(found, key=lambda override: order.index(override.name.partition(".")[0])))


def _of_flag(plan: Plan, said: dict[str, Flag], name: str, key: Key) -> list[Override]:
    if name in _EXPERTS and "num-experts" not in said:
        return []
    if name == "position-embedding-type" and name in said and written(plan, "model.family") in _YARN:
        return []
    value, path = (said[name].value, said[name].path) if name in said else (key.otherwise, "")
    if value is _LEFT:
        return []
    if name in _OF_DTYPES:
        value = f"torch.{_DTYPES[value]}"
    elif name in ("window-size", "moe-layer-freq") and isinstance(value, str):
        value = [int(part) for part in value.strip("[]").split(",")]
    return [Override(field, list(value) if isinstance(value, tuple) else value, path) for field in key.names]


def _further(plan: Plan, said: dict[str, Flag]) -> list[Override]:
    """What no single flag says."""
    found = [
        Override("model.add_bias_linear", "disable-bias-linear" not in said, "model.bias"),
        Override(
            "model.share_embeddings_and_output_weights", "untie-embeddings-and-output-weights" not in said, "model.tied"
        ),
        Override("mixed_precision", _mixed_precision(said), "precision"),
        Override("scheduler.weight_decay_incr_style", "constant", "optimizer.weight_decay"),
    ]
    if "seq-length" in said:
        path, length = said["seq-length"].path, said["seq-length"].value
        name = "sequence_length" if task(plan) == PRETRAIN else "seq_length"
        found += [Override("model.seq_length", length, path), Override(f"dataset.{name}", length, path)]
    if "seed" in said:
        path, seed = said["seed"].path, said["seed"].value
        name = "random_seed" if task(plan) == PRETRAIN else "seed"
        found += [Override("rng.seed", seed, path), Override(f"dataset.{name}", seed, path)]
    if "data-path" in said and task(plan) == PRETRAIN:  # recipes that finetune name a data set of the Hub
        found.append(Override("dataset.blend", [[said["data-path"].value], None], said["data-path"].path))
    return [*found, *_required(plan, said), *_kept(plan), *_adapter(plan)]


def _required(plan: Plan, said: dict[str, Flag]) -> list[Override]:
    """What Bridge asserts beside other fields, where recipes have it otherwise."""
    found = []
    if "use-distributed-optimizer" not in said and "overlap-param-gather" not in said:
        found.append(Override("ddp.overlap_param_gather", False, "shard.stage"))
    if written(plan, "optimizer") == "muon":
        found.append(Override("ddp.overlap_grad_reduce", False, "optimizer"))
    if "ddp-bucket-size" in said:
        found.append(Override("comm_overlap", None, "shard.bucket"))  # it would set a bucket of its own
    if "deterministic-mode" in said:
        found.append(Override("model.cross_entropy_loss_fusion", False, "train.deterministic"))
    if "no-gradient-accumulation-fusion" in said:
        found.append(Override("model.gradient_accumulation_fusion", False, "shard.stage"))
    if task(plan) == FINETUNE and "cp-comm-type" in said:
        found.append(Override("model.calculate_per_token_loss", True, "parallel.context"))
        found.append(Override("ddp.average_in_collective", False, "parallel.context"))
    return found


def _kept(plan: Plan) -> list[Override]:
    keep = written(plan, "checkpoint.keep")
    return [] if keep is None else [Override("checkpoint.most_recent_k", keep, "checkpoint.keep")]


def _adapter(plan: Plan) -> list[Override]:
    if written(plan, "adapter") != "lora":
        return []
    found = {"dim": "rank", "alpha": "alpha", "dropout": "dropout", "target_modules": "modules"}
    values = {name: (written(plan, f"adapter.{field}"), f"adapter.{field}") for name, field in found.items()}
    return [
        Override(f"peft.{name}", list(value) if isinstance(value, tuple) else _number(value), path)
        for name, (value, path) in values.items()
        if value is not None
    ]


def _number(value: Any) -> Any:
    return value if isinstance(value, int) else real(value)


def _mixed_precision(said: dict[str, Flag]) -> dict[str, Any]:
    """The object that sets the dtypes of model, gradients and optimizer: named recipes of Bridge say more than that."""
    values = {name: said[name].value if name in said else None for name in OTHERWISE_SAID}
    half = "bfloat16" if values["bf16"] else "float16" if values["fp16"] else "float32"
    dtype = {"_target_": f"torch.{half}", "_call_": False}
    gathers = bool(values["fp8-param-gather"])
    recipe = values["fp8-recipe"] or "delayed"  # as Megatron has it where nothing is said
    return {
        "_target_": _PRECISION,
        "fp32": half == "float32",
        "fp16": bool(values["fp16"]),
        "bf16": bool(values["bf16"]),
        "params_dtype": dtype,
        "pipeline_dtype": dict(dtype),
        "autocast_dtype": None,
        "autocast_enabled": False,
        "grad_reduce_in_fp32": half == "float32" or bool(values["accumulate-allreduce-grads-in-fp32"]),
        "fp8": values["fp8-format"],
        "fp8_recipe": recipe,
        "fp8_param": gathers,
        "fp8_param_gather": gathers,
        "first_last_layers_bf16": False,
        "reuse_grad_buf_for_mxfp8_param_ag": gathers and recipe == "mxfp8",
        "fp4": values["fp4-format"],
        "fp4_recipe": values["fp4-recipe"] or "nvfp4",
        "loss_scale": values["loss-scale"],
    }
