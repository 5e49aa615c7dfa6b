"""The text of `lightning_trainer.py`: a template whose values come out as Python literals.

Names of classes and arguments are those of Lightning 2.6.6 (lightning/pytorch/trainer/trainer.py, strategies/,
callbacks/model_checkpoint.py and loggers/).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.plan.units import EPOCHS, STEPS
from planc.targets._data import real
from planc.targets._deepspeed_config import ds_config
from planc.targets._deepspeed_schedule import steps_of
from planc.targets._fsdp2_module import makes_optimizer, optimizer_values
from planc.targets._launch import is_unset, option, written
from planc.targets._lightning_obstacles import DDP, DEEPSPEED, FSDP, FSDP2, backend_of
from planc.targets._python import DTYPES, Code, literal, render_python
from planc.targets._shell import HEADER

_STRATEGIES = {
    DDP: "DDPStrategy", FSDP: "FSDPStrategy", FSDP2: "ModelParallelStrategy", DEEPSPEED: "DeepSpeedStrategy",
}  # fmt: skip

_PRECISIONS = {"bf16": "bf16-mixed", "fp16": "16-mixed", "fp32": "32-true"}


def module_text(plan: Plan, facts: Facts) -> str:
    """`lightning_trainer.py`, for a plan that the target can say."""
    backend = backend_of(plan)
    clip = written(plan, "optimizer.clip")
    values: dict[str, Any] = {
        "header": Code(HEADER),
        "name": plan.name,
        "backend": backend,
        "strategy": Code(_STRATEGIES[backend]),
        "options": tuple((Code(name), value) for name, value in _options(plan, facts, backend)),
        "arguments": tuple(_arguments(plan, facts, backend)),
        "checkpoint": tuple((Code(name), value) for name, value in _checkpoint(plan)),
        # DeepSpeed clips by its own file; FSDP's norm is one over shards, which Lightning's argument refuses.
        "clip": float(clip) if clip and backend != DEEPSPEED else None,
        "clips": bool(clip) and backend == FSDP,
        "layer": layer_class(plan) if backend == FSDP else None,
        "deepspeed": _deepspeed(plan, facts) if backend == DEEPSPEED else None,
        "resume": written(plan, "resume.directory"),
        "seed": written(plan, "train.seed"),
        "optimizer_beside": backend == FSDP2 and makes_optimizer(plan),
        "compute": Code(DTYPES.get(plan.value("precision"), "")),
        "reduce": Code(DTYPES.get(plan.value("precision.gradients"), "")),
        **_numbers(plan, facts),
        **_optimizer(plan, backend),
        **_words(plan, facts, backend),
    }
    values["imports"] = tuple(map(Code, _imports(values, plan)))
    return render_python("lightning/lightning_trainer.py.jinja", values)


def layer_class(plan: Plan) -> str | None:
    """Name of the class of the model's layers: the target's option, else by the model's family."""
    return option(plan, "lightning", "layer") or LAYER_CLASSES.get(written(plan, "model.family") or "")


def _numbers(plan: Plan, facts: Facts) -> dict[str, Any]:
    return {
        "nodes": facts["cluster.nodes"],
        "gpus_per_node": facts["cluster.gpus_per_node"],
        "world": facts["world.size"],
        "tensor": facts["parallel.tensor"],
        "data": facts["parallel.data"],
        "replicas": facts["shard.replicas"],
        "shards": facts["shard.size"],
        "micro_batch": facts["batch.micro"],
        "accumulation": facts["batch.accumulation"],
        "global_batch": facts["batch.global"],
        "sequence_length": written(plan, "batch.sequence_length"),
    }


def _optimizer(plan: Plan, backend: str) -> dict[str, Any]:
    """The optimizer, where neither DeepSpeed nor parallelize.py makes it."""
    if backend not in (DDP, FSDP) or not makes_optimizer(plan):
        return {"optimizer": None, "learning_rate": None, "optimizer_arguments": ()}
    values = optimizer_values(plan)
    return {
        "optimizer": values["optimizer"],
        "learning_rate": values["learning_rate"],
        "optimizer_arguments": values["arguments"],
    }


def _words(plan: Plan, facts: Facts, backend: str) -> dict[str, Code]:
    """Parts of sentences of the docstring."""
    seeded = written(plan, "train.seed") is not None
    return {
        "first": Code("  # first: it sets the seed with which weights are made" if seeded else ""),
        "beside": Code("make_optimizer, parallelize" if makes_optimizer(plan) else "parallelize"),
        "resumed": Code("" if is_unset(plan, "resume.directory") else ", ckpt_path=plan.CHECKPOINT"),
        "alone": Code("; on one node\n`python train.py` starts them itself" if facts["cluster.nodes"] == 1 else ""),
        "checked": Code(", DeepSpeed 0.19" if backend == DEEPSPEED else ""),
    }


def _arguments(plan: Plan, facts: Facts, backend: str) -> Iterator[tuple[str, Any]]:
    """Arguments of the Trainer by name."""
    yield "accelerator", "gpu"
    yield "num_nodes", Code("NODES")
    yield "devices", Code("GPUS_PER_NODE")
    yield "strategy", Code("strategy()")
    if backend != DEEPSPEED:  # whose strategy is told
        # FSDP2 casts by its own policy, in parallelize.py; the weights stay fp32.
        yield "precision", "32-true" if backend == FSDP2 else _PRECISIONS[plan.value("precision")]
    yield "accumulate_grad_batches", Code("ACCUMULATION")
    if written(plan, "optimizer.clip") and backend in (DDP, FSDP2):
        yield "gradient_clip_val", Code("LARGEST_NORM")
        yield "gradient_clip_algorithm", "norm"
    duration = written(plan, "train.duration")
    if duration is not None and duration.dimension == EPOCHS:
        yield "max_epochs", int(duration.value)
    elif duration is not None:
        yield "max_steps", steps_of(plan, facts, "train.duration")
    if written(plan, "train.deterministic"):
        yield "deterministic", True
    every, to = written(plan, "log.every"), written(plan, "log.to")
    if every is not None:
        yield "log_every_n_steps", _whole(every)
    if to is not None:
        folder = written(plan, "log.directory") or "."
        yield "logger", [Code(f"{_LOGGERS[word]}(save_dir={literal(folder)})") for word in to] or False


_LOGGERS = {"tensorboard": "TensorBoardLogger", "wandb": "WandbLogger"}


def _checkpoint(plan: Plan) -> Iterator[tuple[str, Any]]:
    """Arguments of what saves; none where the plan says nothing about it, which leaves Lightning to its own."""
    directory, every, keep = (written(plan, f"checkpoint.{name}") for name in ("directory", "every", "keep"))
    if directory is None and every is None and keep is None:
        return
    if directory is not None:
        yield "dirpath", directory
    if every is not None and every.dimension == STEPS:
        yield "every_n_train_steps", _whole(every.value)
    elif every is not None:
        yield "train_time_interval", _span(every.value)
    yield "save_top_k", -1 if keep is None else keep
    if keep is not None:  # the last ones
        yield from (("monitor", "step"), ("mode", "max"))


def _options(plan: Plan, facts: Facts, backend: str) -> Iterator[tuple[str, Any]]:
    """Arguments of the strategy by name."""
    if backend == FSDP:
        yield from _fsdp_options(plan, facts)
    elif backend == FSDP2:
        yield "data_parallel_size", Code("DATA")
        yield "tensor_parallel_size", facts["parallel.tensor"] if facts["parallel.tensor"] == 1 else Code("TENSOR")
        if written(plan, "checkpoint.format") is not None:
            yield "save_distributed_checkpoint", plan.value("checkpoint.format") == "sharded"
    elif backend == DEEPSPEED:
        yield "config", Code("deepcopy(DEEPSPEED)")  # Lightning adds to what it gets
        yield "precision_plugin", Code(f'DividedOnce("{_PRECISIONS[plan.value("precision")]}")')
    yield "timeout", _span(plan.value("launch.timeout"))


def _fsdp_options(plan: Plan, facts: Facts) -> Iterator[tuple[str, Any]]:
    whole = plan.value("shard.stage") == 3
    if 1 < facts["shard.replicas"]:
        yield "sharding_strategy", "HYBRID_SHARD" if whole else "_HYBRID_SHARD_ZERO2"
        yield "device_mesh", Code("(REPLICAS, SHARDS)")
    else:
        yield "sharding_strategy", "FULL_SHARD" if whole else "SHARD_GRAD_OP"
    yield "auto_wrap_policy", Code("is_layer")
    if plan.value("recompute") == "full":
        yield "activation_checkpointing_policy", Code("is_layer")
    # Lightning's own would cast buffers too, among them the angles of the positions.
    dtypes = "param_dtype=COMPUTE_DTYPE, reduce_dtype=REDUCE_DTYPE, buffer_dtype=torch.float32"
    yield "mixed_precision", Code(f"MixedPrecision(\n            {dtypes}\n        )")
    if written(plan, "offload.weights") is not None:
        yield "cpu_offload", True
    if written(plan, "checkpoint.format") is not None:
        yield "state_dict_type", plan.value("checkpoint.format")


def _deepspeed(plan: Plan, facts: Facts) -> dict[str, Any]:
    config = ds_config(plan, facts)
    del config["gradient_accumulation_steps"]
    return config


def _imports(values: dict[str, Any], plan: Plan) -> Iterator[str]:
    """The lines that import what the text uses, in the order that formatters give them."""
    if values["optimizer"] is not None:
        yield "from collections.abc import Iterable"
    if values["backend"] == FSDP:
        yield "from contextlib import AbstractContextManager, nullcontext"
    elif values["backend"] == DEEPSPEED:
        yield "from copy import deepcopy"
    yield "from datetime import timedelta"
    yield "from typing import Any"
    yield ""
    if values["optimizer"] is not None or values["layer"] is not None:
        yield "import torch"
    seeding = "" if values["seed"] is None else ", seed_everything"
    yield f"from lightning.pytorch import Callback, LightningModule, Trainer{seeding}"
    if values["checkpoint"]:
        yield "from lightning.pytorch.callbacks import ModelCheckpoint"
    loggers = sorted({_LOGGERS[word] for word in written(plan, "log.to") or ()})
    if loggers:
        yield f"from lightning.pytorch.loggers import {', '.join(loggers)}"
    if values["backend"] == DEEPSPEED:
        yield "from lightning.pytorch.plugins import DeepSpeedPrecision"
    yield f"from lightning.pytorch.strategies import {values['strategy']}"
    if values["backend"] == FSDP:
        yield "from torch.distributed.fsdp import MixedPrecision"


def _whole(value: Any) -> int:
    """The number, rounded up."""
    return int(-(-value // 1))


def _span(value: Any) -> Code:
    seconds = real(value)
    return Code(f"timedelta(seconds={seconds if seconds % 1 else int(seconds)})")
