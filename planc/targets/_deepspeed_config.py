"""The content of ds_config.json, from the plan's values alone.

Keys and defaults are those of DeepSpeed 0.19.8 (deepspeed/runtime/config.py and the models that it reads). What equals
DeepSpeed's default is left out, but for `gradient_clipping`, whose default is 1.0 there and was 0 before. Buckets are
those that `auto` stands for with the Trainer.
"""

from __future__ import annotations

from typing import Any

from planc.facts.engine import SIZED
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.targets._data import real
from planc.targets._deepspeed_schedule import OPTIMIZERS, scheduler_block
from planc.targets._launch import option, written

#: Optimizers of which DeepSpeed has a form for the host; it refuses to offload another of the program unless told to.
_ON_HOST = ("adamw", "lion")

#: Elements of a buffer for what is read from NVMe, where the file does not say (DeepSpeed 0.19.8, offload_config.py).
_SWAP_BUFFER = 100_000_000


def ds_config(plan: Plan, facts: Facts) -> dict[str, Any]:
    """The whole file as data, in the order in which it is written."""
    config: dict[str, Any] = {}
    config.update(_batch(plan))
    config.update(_parallel(plan))
    config.update(_precision(plan))
    config["zero_optimization"] = _zero(plan, facts)
    config.update(_optimizer(plan))
    scheduler = scheduler_block(plan, facts)
    if scheduler is not None:
        config["scheduler"] = scheduler
    config["gradient_clipping"] = _clipping(plan)
    config.update(_rest(plan))
    return config


def in_code(plan: Plan) -> bool:
    """Whether the layout is built by the program (PipelineModule with its topology), tensor ranks included."""
    pipeline = written(plan, "parallel.pipeline")
    return pipeline is not None and 1 < pipeline


def saves_whole_weights(plan: Plan) -> bool:
    """Whether the Trainer has to be told to gather the weights when it saves, for a checkpoint that is one file."""
    return (
        option(plan, "deepspeed", "trainer") == "hf"
        and written(plan, "shard.stage") == 3
        and written(plan, "checkpoint.format") in ("full", "safetensors")
    )


def _batch(plan: Plan) -> dict[str, Any]:
    micro, accumulation = plan.value("batch.micro"), plan.value("batch.accumulation")
    batch: dict[str, Any] = {}
    if option(plan, "deepspeed", "trainer") == "hf":
        # The Trainer works it out from its own arguments, and stops at a number that differs by one axis.
        batch["train_batch_size"] = "auto"
    elif not _uses_autotp(plan):
        # With autotp_size DeepSpeed checks against the undivided world and refuses the real number.
        batch["train_batch_size"] = plan.value("batch.global")
    batch["train_micro_batch_size_per_gpu"] = micro
    batch["gradient_accumulation_steps"] = accumulation
    return batch


def _uses_autotp(plan: Plan) -> bool:
    return 1 < plan.value("parallel.tensor") and not in_code(plan)


def _parallel(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if _uses_autotp(plan):
        config["tensor_parallel"] = {"autotp_size": plan.value("parallel.tensor")}
    if 1 < plan.value("parallel.context"):
        # Without the data-parallel size DeepSpeed builds no groups for the sequence ranks.
        config["data_parallel_size"] = plan.value("parallel.data")
        config["sequence_parallel_size"] = plan.value("parallel.context")
    return config


def _precision(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {}
    precision, gradients = plan.value("precision"), plan.value("precision.gradients")
    if precision == "bf16":
        config["bf16"] = {"enabled": True}
        if plan.value("precision.master") == "bf16":
            config["bf16"]["bf16_master_weights_and_grads"] = True
        if plan.value("optimizer.states") == "bf16":
            config["bf16"]["bf16_optimizer_states"] = True
    elif precision == "fp16":
        scale = written(plan, "precision.loss_scale")
        dynamic = scale in (None, "dynamic")
        config["fp16"] = {"enabled": True, "loss_scale": 0 if dynamic else real(scale)}
        if plan.value("precision.master") == "fp16":
            config["fp16"]["fp16_master_weights_and_grads"] = True
    if gradients != precision:
        config["communication_data_type"] = gradients
        config["data_types"] = {"grad_accum_dtype": gradients}
    return config


def _zero(plan: Plan, facts: Facts) -> dict[str, Any]:
    stage, secondary = plan.value("shard.stage"), written(plan, "shard.secondary_size")
    zero: dict[str, Any] = {"stage": stage}
    own = facts.changed({}, SIZED)  # the facts may be those of another trainer of the plan
    if 1 <= stage:
        zero["reduce_bucket_size"] = own["shard.reduce_bucket"]
    if stage == 3:
        zero["stage3_prefetch_bucket_size"] = own["shard.prefetch_bucket"]
        zero["stage3_param_persistence_threshold"] = own["shard.persistence_threshold"]
    if secondary is not None:
        zero["zero_hpz_partition_size"] = secondary
    for key, path in (("offload_optimizer", "offload.optimizer"), ("offload_param", "offload.weights")):
        device = written(plan, path)
        if device is not None:
            zero[key] = {"device": device}
            if device == "nvme":
                zero[key]["nvme_path"] = plan.value("offload.path")
                piece = own["shard.largest_piece"]
                if key == "offload_param" and not isinstance(piece, Unknown) and _SWAP_BUFFER < piece:
                    zero[key]["buffer_size"] = piece  # one that is too small stops DeepSpeed while it builds the model
    if saves_whole_weights(plan):
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return zero


def _optimizer(plan: Plan) -> dict[str, Any]:
    """The optimizer where the plan gives its learning rate; else the program makes one, and ZeRO takes any."""
    optimizer = OPTIMIZERS.get(plan.value("optimizer"))
    untested = {} if plan.value("shard.stage") == 0 else {"zero_allow_untested_optimizer": True}
    if written(plan, "optimizer.learning_rate") is None:
        if untested and written(plan, "offload.optimizer") is not None and plan.value("optimizer") not in _ON_HOST:
            untested["zero_force_ds_cpu_optimizer"] = False
        return {} if optimizer is not None and optimizer.tested else untested
    assert optimizer is not None  # an optimizer that DeepSpeed lacks is a fault where its learning rate is written
    params: dict[str, Any] = {}
    for path, key in optimizer.params:
        value = written(plan, path)
        if value is not None:
            params[key] = [real(item) for item in value] if isinstance(value, tuple) else real(value)
    block = {"optimizer": {"type": optimizer.name, "params": params}}
    return block if optimizer.tested else {**block, **untested}


def _clipping(plan: Plan) -> Any:
    clip = written(plan, "optimizer.clip")
    if clip is not None:
        return real(clip)
    return "auto" if option(plan, "deepspeed", "trainer") == "hf" else 0.0


def _rest(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if written(plan, "offload.activations"):
        config["activation_checkpointing"] = {"cpu_checkpointing": True}
    if written(plan, "dataset.drop_last"):
        config["dataloader_drop_last"] = True
    every = written(plan, "log.every")
    if every is not None:
        config["steps_per_print"] = every
    if written(plan, "checkpoint.format") == "universal" and written(plan, "resume.directory") is not None:
        config["checkpoint"] = {"load_universal": True}
    return config
