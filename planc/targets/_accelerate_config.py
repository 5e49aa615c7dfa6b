"""The content of accelerate's YAML files, and what keeps a plan from being said in them.

Keys are those of accelerate 1.15 (commands/config/config_args.py, commands/launch.py, parallelism_config.py).
accelerate ignores a misspelt key inside a section, and short names in `parallelism_config`, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.targets._data import real
from planc.targets._launch import option, written

FSDP2, DEEPSPEED = "fsdp2", "deepspeed"

_STRATEGIES = {"ring": "alltoall", "all-gather": "allgather"}
_STATE_DICTS = {"sharded": "SHARDED_STATE_DICT", "full": "FULL_STATE_DICT"}


class Obstacle(NamedTuple):
    """Why a file cannot say the plan: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


def obstacles(plan: Plan, backend: str) -> tuple[Obstacle, ...]:
    """What keeps the plan from being said in the file of a backend; a faulty field is no obstacle."""
    own = _fsdp2_obstacles(plan) if backend == FSDP2 else _deepspeed_obstacles(plan)
    return (*_common_obstacles(plan), *own)


def _common_obstacles(plan: Plan) -> Iterator[Obstacle]:
    for path, what in (("parallel.pipeline", "pipelines"), ("parallel.expert", "expert parallelism")):
        if 1 < (written(plan, path) or 1):
            yield Obstacle("layout", path, f"accelerate has no {what}", "leave it out, or emit another trainer")
    if written(plan, "parallel.sequence"):
        yield Obstacle(
            "layout", "parallel.sequence", "accelerate has no sequence parallelism beside tensor ranks", "remove it"
        )
    for path in ("shard.bucket", "shard.secondary_size"):
        if written(plan, path) is not None:
            yield Obstacle(
                "sharding",
                path,
                f"accelerate's files have no `{path.partition('.')[2]}`",
                "emit `deepspeed`, or remove it",
            )
    for path in ("offload.optimizer", "offload.weights"):
        if written(plan, path) == "nvme":
            yield Obstacle(
                "sharding", path, "accelerate hands the NVMe folder to nobody", "emit `deepspeed`, or use `cpu`"
            )
            break
    yield from _precision_obstacles(plan)


def _precision_obstacles(plan: Plan) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("fp8", "fp4"):
        yield Obstacle(
            "precision",
            "precision",
            f"accelerate's files do not say how {precision} is scaled",
            "write `precision = bf16`",
        )
        return
    if precision is not None and gradients not in (None, precision):
        yield Obstacle(
            "precision",
            "precision.gradients",
            f"accelerate reduces gradients in {precision}",
            f"write `gradients = {precision}`",
        )
    if written(plan, "precision.master") not in (None, "fp32"):
        yield Obstacle("precision", "precision.master", "accelerate keeps fp32 master weights", "write `master = fp32`")
    scale = written(plan, "precision.loss_scale")
    if scale not in (None, "dynamic"):
        yield Obstacle(
            "precision", "precision.loss_scale", "accelerate scales the loss dynamically", "write `loss_scale = auto`"
        )


def _fsdp2_obstacles(plan: Plan) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if stage in (0, 1):
        yield Obstacle(
            "sharding",
            "shard.stage",
            f"FSDP2 has no stage {stage}: it shares gradients too",
            "write `stage = 2` or `stage = 3`",
        )
    tensor, context = written(plan, "parallel.tensor"), written(plan, "parallel.context")
    if None not in (size, data, tensor, context):
        if size == 1 and 1 < data:
            yield Obstacle("sharding", "shard.size", "FSDP2 over one rank shares nothing", "leave `size` out")
        elif size * context == 1 and 1 < tensor:
            yield Obstacle(
                "layout", "parallel.tensor", "FSDP2 has no ranks left to share over", "use fewer tensor ranks"
            )
    kind = written(plan, "context")
    if context is not None and 1 < context and kind is not None and kind not in _STRATEGIES:
        yield Obstacle(
            "layout",
            "context",
            f"FSDP2 in accelerate has no `{kind}` context parallelism",
            "use `ring` or `all-gather`",
        )
    yield from _fsdp2_memory_obstacles(plan)


def _fsdp2_memory_obstacles(plan: Plan) -> Iterator[Obstacle]:
    recompute, layers = written(plan, "recompute"), written(plan, "recompute.layers")
    if recompute == "selective":
        yield Obstacle(
            "sharding",
            "recompute",
            "FSDP2 in accelerate recomputes whole layers or nothing",
            "write `recompute = full`",
        )
    elif recompute == "full" and (layers or 1) != 1:
        yield Obstacle(
            "sharding", "recompute.layers", "FSDP2 in accelerate recomputes each layer by itself", "leave `layers` out"
        )
    if written(plan, "offload.activations") and recompute != "full":
        yield Obstacle(
            "sharding", "offload.activations", "FSDP2 offloads recomputed activations only", "write `recompute = full`"
        )
    optimizer, weights = written(plan, "offload.optimizer"), written(plan, "offload.weights")
    if "nvme" not in (optimizer, weights) and (optimizer is None) != (weights is None):
        path = "offload.weights" if optimizer is None else "offload.optimizer"
        yield Obstacle("sharding", path, "FSDP2 offloads weights and optimizer states together",
                       "write `offload { optimizer = cpu  weights = cpu }`")  # fmt: skip


def _deepspeed_obstacles(plan: Plan) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if 1 < (written(plan, "parallel.tensor") or 1):
        yield Obstacle(
            "layout",
            "parallel.tensor",
            "accelerate starts DeepSpeed without tensor ranks",
            "use FSDP2, at stage 2 or 3",
        )
    kind = written(plan, "context")
    if 1 < (written(plan, "parallel.context") or 1) and kind is not None and kind != "ulysses":
        yield Obstacle(
            "layout", "context", f"DeepSpeed has no `{kind}` context parallelism", "write `context = ulysses`"
        )
    if stage is None:
        return
    if stage != 0 and size is not None and data is not None and size < data:
        yield Obstacle(
            "sharding", "shard.size", f"DeepSpeed shares over all {data} replicas", "leave `size` out, or use FSDP2"
        )
    if written(plan, "offload.optimizer") is not None and stage == 0:
        yield Obstacle(
            "sharding", "offload.optimizer", "DeepSpeed offloads optimizer states from stage 1 on", "write `stage = 1`"
        )
    if written(plan, "offload.weights") is not None and stage != 3:
        yield Obstacle("sharding", "offload.weights", "DeepSpeed offloads weights at stage 3 only", "write `stage = 3`")
    if written(plan, "offload.activations"):
        yield Obstacle(
            "sharding", "offload.activations", "accelerate has no activation offload with DeepSpeed", "use FSDP2"
        )


def layer_class(plan: Plan) -> str | None:
    """The class of the model's repeated layer: the target's option, else by the model's family."""
    return option(plan, "accelerate", "layer_class") or LAYER_CLASSES.get(written(plan, "model.family") or "")


def config(plan: Plan, facts: Facts, backend: str) -> dict[str, Any]:
    """The content of the file of a backend. Only for a plan without obstacles to it."""
    data: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "FSDP" if backend == FSDP2 else "DEEPSPEED",
        "mixed_precision": "no" if plan.value("precision") == "fp32" else plan.value("precision"),
        "num_machines": facts["cluster.nodes"],
        "num_processes": facts["world.size"],
        "machine_rank": 0,
    }
    if backend == FSDP2:
        data["fsdp_config"] = _fsdp_config(plan)
        if written(plan, "train.compile"):
            data["dynamo_config"] = {"dynamo_backend": "INDUCTOR"}
    else:
        data["deepspeed_config"] = _deepspeed_config(plan, facts)
    axes = _axes(plan, facts, backend)
    if axes:
        data["parallelism_config"] = {f"parallelism_config_{name}": value for name, value in axes.items()}
    return data


def _fsdp_config(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {"fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
    layer = layer_class(plan)
    if layer is not None:
        config["fsdp_transformer_layer_cls_to_wrap"] = layer
    config["fsdp_reshard_after_forward"] = plan.value("shard.stage") == 3
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
        axes["cp_comm_strategy"] = _STRATEGIES[plan.value("context")]
    return axes
