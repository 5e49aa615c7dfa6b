"""The content of gpt_neox.yml, from the plan's values and facts alone.

Keys are those of gpt-neox 2.0, main of 2025 (megatron/neox_arguments/{neox_args,deepspeed_args,arguments}.py). What the
plan does not speak of is left out, so that a second file of the user can say it: gpt-neox refuses a key twice.
"""

from __future__ import annotations

from typing import Any

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._data import real
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import option, written

#: gpt-neox scales the width of a gated MLP by two thirds and shares that out over its two halves (ParallelMLP).
GATED_WIDTHS = 3

OPTIMIZERS = {"adamw": "Adam", "lion": "Lion"}
POSITIONS = {"rope": "rotary", "learned": "learned", "alibi": "alibi"}
PRECISIONS = {"bf16": "bfloat16", "fp16": "fp16", "fp32": "fp32"}


def neox_config(plan: Plan, facts: Facts) -> dict[str, Any]:
    """The whole file as data, in the order in which it is written."""
    extra: dict[str, Any] = {}
    config = {
        **_layout(plan, facts),
        **_model(plan, facts),
        **_batch(facts),
        **_precision(plan, extra),
        "zero_optimization": _zero(plan),
        **_recompute(plan),
        **_optimizer(plan, extra),
        **_schedule(plan, facts),
        **_data(plan),
        **_checkpoint(plan),
        **_records(plan),
    }
    return {**config, "deepspeed_extra_args": extra}


def _layout(plan: Plan, facts: Facts) -> dict[str, Any]:
    pipeline = facts["parallel.pipeline"]
    layout: dict[str, Any] = {
        # 1 would be a pipeline of one stage, which DeepSpeed refuses from ZeRO stage 2 on.
        "pipe_parallel_size": 0 if pipeline == 1 else pipeline,
        "model_parallel_size": facts["parallel.tensor"],
        "num_nodes": facts["cluster.nodes"],
        "num_gpus": facts["cluster.gpus_per_node"],
        # Else gpt-neox counts all cards of the machine, also where the launcher is told to use fewer.
        "global_num_gpus": facts["world.size"],
    }
    if plan.value("parallel.sequence"):
        layout["sequence_parallel"] = True
    hostfile = option(plan, "gpt-neox", "hostfile")
    if hostfile is not None:
        layout["hostfile"] = hostfile
    return layout


def _model(plan: Plan, facts: Facts) -> dict[str, Any]:
    ffn, heads, bias = plan.value("model.ffn"), plan.value("model.heads"), plan.value("model.bias")
    model: dict[str, Any] = {
        "num_layers": plan.value("model.layers"),
        "hidden_size": plan.value("model.hidden"),
        "intermediate_size": GATED_WIDTHS * ffn if plan.value("model.gated") else ffn,
        "num_attention_heads": heads,
    }
    if plan.value("model.kv_heads") != heads:
        model["num_kv_heads"] = plan.value("model.kv_heads")
    length, longest = facts["batch.sequence_length"], written(plan, "model.max_sequence_length") or 0
    model["seq_length"] = length
    # Rows of learned positions; of others only a bound, below which gpt-neox refuses the samples.
    model["max_position_embeddings"] = max(length, longest)
    model["norm"] = plan.value("model.norm")
    model["pos_emb"] = POSITIONS[plan.value("model.positions")]
    model["no_weight_tying"] = not plan.value("model.tied")
    if plan.value("model.gated"):
        model["activation"] = "swiglu"
    model["use_bias_in_attn_linear"] = bias in ("attention", "all")
    model["use_bias_in_mlp"] = bias in ("mlp", "all")
    if plan.value("model.norms") == 1:
        model.update(gpt_j_residual=True, gpt_j_tied=True)
    if plan.value("model.attention") == "sliding":
        model["sliding_window_width"] = plan.value("model.attention.window")
        model["attention_config"] = [[["flash"], plan.value("model.layers")]]
    model["hidden_dropout"] = model["attention_dropout"] = real(plan.value("model.dropout"))
    # The vocabulary is that of the tokenizer, padded to a multiple of this and of the tensor ranks.
    model["make_vocab_size_divisible_by"] = 1
    return model


def _batch(facts: Facts) -> dict[str, Any]:
    return {
        "train_batch_size": facts["batch.global"],
        "train_micro_batch_size_per_gpu": facts["batch.micro"],
        "gradient_accumulation_steps": facts["batch.accumulation"],
    }


def _precision(plan: Plan, extra: dict[str, Any]) -> dict[str, Any]:
    precision, gradients = plan.value("precision"), plan.value("precision.gradients")
    config: dict[str, Any] = {"precision": PRECISIONS[precision]}
    if precision == "bf16":
        config["bf16"] = {"enabled": True}
    elif precision == "fp16":
        scale = written(plan, "precision.loss_scale")
        config["fp16"] = {"enabled": True, "loss_scale": 0 if scale in (None, "dynamic") else real(scale)}
    if gradients != precision:
        config["data_types"] = {"grad_accum_dtype": gradients}
        # gpt-neox declares its own key of this name a flag, and refuses a word there.
        extra["communication_data_type"] = gradients
    return config


def _zero(plan: Plan) -> dict[str, Any]:
    zero: dict[str, Any] = {"stage": plan.value("shard.stage")}
    for key, path in (("reduce_bucket_size", "shard.bucket"), ("zero_hpz_partition_size", "shard.secondary_size")):
        if written(plan, path) is not None:
            zero[key] = written(plan, path)
    for key, path in (("offload_optimizer", "offload.optimizer"), ("offload_param", "offload.weights")):
        device = written(plan, path)
        if device is not None:
            zero[key] = {"device": device}
            if device == "nvme":
                zero[key]["nvme_path"] = plan.value("offload.path")
    return zero


def _recompute(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {"checkpoint_activations": plan.value("recompute") == "full"}
    if config["checkpoint_activations"]:
        config["checkpoint_num_layers"] = written(plan, "recompute.layers") or 1
    if written(plan, "offload.activations"):
        config["checkpoint_in_cpu"] = True
    return config


def _optimizer(plan: Plan, extra: dict[str, Any]) -> dict[str, Any]:
    name = "CPU_Adam" if written(plan, "offload.optimizer") is not None else OPTIMIZERS[plan.value("optimizer")]
    params: dict[str, Any] = {"lr": real(plan.value("optimizer.learning_rate"))}
    betas, epsilon = written(plan, "optimizer.betas"), written(plan, "optimizer.epsilon")
    if betas is not None:
        params["betas"] = [real(beta) for beta in betas]
    if epsilon is not None:
        params["eps"] = real(epsilon)
    config: dict[str, Any] = {"optimizer": {"type": name, "params": params}}
    decay, clip = written(plan, "optimizer.weight_decay"), written(plan, "optimizer.clip")
    if decay is not None:
        config["weight_decay"] = real(decay)
    config["gradient_clipping"] = 0.0 if clip is None else real(clip)
    # gpt-neox passes on only what differs from its own default of 1.0, and DeepSpeed's default depends on its version.
    extra["gradient_clipping"] = config["gradient_clipping"]
    return config


def _schedule(plan: Plan, facts: Facts) -> dict[str, Any]:
    kind, iterations = course(plan), facts["train.steps"]
    schedule: dict[str, Any] = {"train_iters": iterations, "lr_decay_style": kind or "constant"}
    total = iterations if kind in (None, "constant") else steps_of(plan, facts, "schedule.total")
    warmup = 0 if kind is None else steps_of(plan, facts, "schedule.warmup")
    assert isinstance(total, int)
    assert isinstance(warmup, int)
    schedule["lr_decay_iters"] = total
    schedule["warmup"] = warmup / total  # gpt-neox multiplies it by the steps of the decay
    minimum = written(plan, "schedule.minimum")
    if minimum is not None:
        schedule["min_lr"] = real(minimum)
    return schedule


def _data(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, path in (("data_path", "dataset.path"), ("num_workers", "dataset.workers"), ("seed", "train.seed")):
        if written(plan, path) is not None:
            found[key] = written(plan, path)
    if plan.is_written("dataset.packed"):
        found["pack_impl"] = "packed" if plan.value("dataset.packed") else "unpacked"
    return found


def _checkpoint(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    every = written(plan, "checkpoint.every")
    if every is not None:
        found["save"] = plan.value("checkpoint.directory")
        found["checkpoint_factor"] = int(every.value)
    for key, path in (("keep_last_n_checkpoints", "checkpoint.keep"), ("load", "resume.directory")):
        if written(plan, path) is not None:
            found[key] = written(plan, path)
    if written(plan, "checkpoint.format") == "universal" and "load" in found:
        found["load_universal"] = True
    return found


def _records(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, path in (("log_interval", "log.every"), ("log_dir", "log.directory")):
        if written(plan, path) is not None:
            found[key] = written(plan, path)
    receivers = written(plan, "log.to") or ()
    if "wandb" in receivers:
        found["use_wandb"] = True
    if "tensorboard" in receivers:
        found["tensorboard_dir"] = plan.value("log.directory")
    start, length = written(plan, "profile.start"), written(plan, "profile.length")
    if start is not None and length is not None:
        found.update(profile=True, profile_step_start=start, profile_step_stop=start + length)
    return found
