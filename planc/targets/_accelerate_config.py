"""The content of accelerate's YAML files.

Keys are those of accelerate 1.15 (commands/config/config_args.py, commands/launch.py, parallelism_config.py).
accelerate ignores a misspelt key inside a section, and short names in `parallelism_config`, without a word.
"""

from __future__ import annotations

from typing import Any

from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.targets._accelerate_obstacles import DDP, DEEPSPEED, FSDP1, FSDP2, STRATEGIES
from planc.targets._data import real
from planc.targets._launch import option, written

_TYPES = {DDP: "MULTI_GPU", FSDP1: "FSDP", FSDP2: "FSDP", DEEPSPEED: "DEEPSPEED"}
_STATE_DICTS = {"sharded": "SHARDED_STATE_DICT", "full": "FULL_STATE_DICT"}


def layer_class(plan: Plan) -> str | None:
    """The class of the model's repeated layer: the target's option, else by the model's family."""
    return option(plan, "accelerate", "layer_class") or LAYER_CLASSES.get(written(plan, "model.family") or "")


def config(plan: Plan, facts: Facts, backend: str) -> dict[str, Any]:
    """The content of the file of a backend. Only for a plan without obstacles to it."""
    data: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": _TYPES[backend],
        "mixed_precision": "no" if plan.value("precision") == "fp32" else plan.value("precision"),
        "num_machines": facts["cluster.nodes"],
        "num_processes": facts["world.size"],
        "machine_rank": 0,
    }
    if backend == DEEPSPEED:
        data["deepspeed_config"] = _deepspeed_config(plan, facts)
    elif backend != DDP:
        data["fsdp_config"] = _fsdp_config(plan, backend)
    if backend != DEEPSPEED and written(plan, "train.compile"):
        data["dynamo_config"] = {"dynamo_backend": "INDUCTOR"}
    axes = _axes(plan, facts, backend) if backend in (FSDP2, DEEPSPEED) else {}
    if axes:
        data["parallelism_config"] = {f"parallelism_config_{name}": value for name, value in axes.items()}
    return data


def _fsdp_config(plan: Plan, backend: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "fsdp_version": 1 if backend == FSDP1 else 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    }
    layer = layer_class(plan)
    if layer is not None:
        config["fsdp_transformer_layer_cls_to_wrap"] = layer
    gathers_again = plan.value("shard.stage") == 3
    if backend == FSDP1:
        # `fsdp_reshard_after_forward` is not read beside the strategy, which is never unset.
        config["fsdp_sharding_strategy"] = "FULL_SHARD" if gathers_again else "SHARD_GRAD_OP"
        config["fsdp_backward_prefetch"] = "BACKWARD_PRE"  # accelerate's own default gathers each layer when it is due
        config["fsdp_use_orig_params"] = True
    else:
        config["fsdp_reshard_after_forward"] = gathers_again
    config["fsdp_offload_params"] = written(plan, "offload.weights") is not None
    config["fsdp_activation_checkpointing"] = plan.value("recompute") == "full"
    if written(plan, "offload.activations"):
        config["fsdp_activation_checkpointing_offload"] = True
    state_dict = _STATE_DICTS.get(written(plan, "checkpoint.format") or "")
    if state_dict is not None:
        config["fsdp_state_dict_type"] = state_dict
    return config


def _deepspeed_config(plan: Plan, facts: Facts) -> dict[str, Any]:
    clip = written(plan, "optimizer.clip")
    config: dict[str, Any] = {
        "zero_stage": plan.value("shard.stage"),
        "gradient_accumulation_steps": plan.value("batch.accumulation"),
        # accelerate reads 0 as "not set", and DeepSpeed then clips at 1.0: a limit that no norm reaches says none.
        "gradient_clipping": float("inf") if not clip else real(clip),
    }
    for key, path in (("offload_optimizer_device", "offload.optimizer"), ("offload_param_device", "offload.weights")):
        device = written(plan, path)
        if device is not None:
            config[key] = device
    if plan.value("shard.stage") == 3 and written(plan, "checkpoint.format") in ("full", "safetensors"):
        config["zero3_save_16bit_model"] = True
    if 1 < facts["cluster.nodes"]:
        # Otherwise accelerate starts the other nodes itself, by pdsh from this one.
        config["deepspeed_multinode_launcher"] = "standard"
    return config


def _axes(plan: Plan, facts: Facts, backend: str) -> dict[str, Any]:
    """The sizes of the axes, where there is more than data parallelism over all ranks."""
    context = plan.value("parallel.context")
    if backend == DEEPSPEED:
        if context == 1:
            return {}
        return {"dp_shard_size": plan.value("parallel.data"), "sp_size": context, "sp_backend": "deepspeed"}
    axes = {
        "dp_replicate_size": facts["shard.replicas"],
        "dp_shard_size": plan.value("shard.size"),
        "tp_size": plan.value("parallel.tensor"),
        "cp_size": context,
    }
    if axes["dp_replicate_size"] == axes["tp_size"] == context == 1:
        return {}
    if 1 < context:
        axes["cp_comm_strategy"] = STRATEGIES[plan.value("context")]
    return axes
