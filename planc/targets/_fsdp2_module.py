"""The text of `parallelize.py`: a template whose values come out as Python literals, whatever they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._fsdp2_families import LAYERS, SPLITS, styles
from planc.targets._launch import option, written
from planc.targets._python import DTYPES, Code, render_python
from planc.targets._shell import HEADER

_ARGUMENTS = {"betas": "betas", "epsilon": "eps", "momentum": "momentum", "weight_decay": "weight_decay"}

#: The class of torch.optim by the plan's word, and the fields that it has an argument for.
OPTIMIZERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "adamw": ("AdamW", ("betas", "epsilon", "weight_decay")),
    "sgd": ("SGD", ("momentum",)),  # its weight_decay is added to the gradients, which is not the plan's
}


def module_text(plan: Plan, facts: Facts) -> str:
    """`parallelize.py`, for a plan that the target can say."""
    values = {
        "header": Code(HEADER),
        "name": plan.name,
        **_ranks(facts),
        **_step(plan, facts),
        **_layers(plan, facts),
        **optimizer_values(plan),
    }
    values["imports"] = tuple(map(Code, _imports(values)))
    return render_python("fsdp2/parallelize.py.jinja", values)


def layers_path(plan: Plan) -> str | None:
    """Where the model keeps its layers: the target's option, else by the model's family."""
    return option(plan, "fsdp2", "layers") or LAYERS.get(written(plan, "model.family") or "")


def makes_optimizer(plan: Plan) -> bool:
    """Whether the module makes the optimizer: there is a learning rate, and torch has all that is written."""
    _, fields = OPTIMIZERS.get(written(plan, "optimizer"), ("", ()))
    rest = [name for name in _ARGUMENTS if name not in fields]
    has_rate = written(plan, "optimizer.learning_rate") is not None
    return bool(fields) and has_rate and all(written(plan, f"optimizer.{name}") is None for name in rest)


def optimizer_values(plan: Plan) -> dict[str, Any]:
    """What templates say of the optimizer of torch: its class, rate and other arguments, and the largest norm."""
    clip = written(plan, "optimizer.clip")
    values: dict[str, Any] = {"optimizer": None, "learning_rate": None, "clip": float(clip) if clip else None}
    if makes_optimizer(plan):
        name, fields = OPTIMIZERS[plan.value("optimizer")]
        given = {field: written(plan, f"optimizer.{field}") for field in fields}
        values["optimizer"] = Code(name)
        values["learning_rate"] = float(plan.value("optimizer.learning_rate"))
        values["arguments"] = tuple(
            (Code(_ARGUMENTS[field]), tuple(map(float, value)) if field == "betas" else float(value))
            for field, value in given.items()
            if value is not None
        )
    return values


def _ranks(facts: Facts) -> dict[str, Any]:
    replicas, shards, tensor = facts["shard.replicas"], facts["shard.size"], facts["parallel.tensor"]
    axes = {"shard": shards}
    if 1 < replicas:
        axes = {"replicate": replicas} | axes
    if 1 < tensor:
        axes = axes | {"tensor": tensor}
    sharding = '["replicate", "shard"]' if 1 < replicas else '["shard"]' if 1 < tensor else ""
    return {
        "nodes": facts["cluster.nodes"],
        "gpus_per_node": facts["cluster.gpus_per_node"],
        "world": facts["world.size"],
        "data": facts["parallel.data"],
        "replicas": replicas,
        "shards": shards,
        "tensor": tensor,
        "axes": tuple(axes),
        "shape": Code(f"({', '.join(_SIZES[axis] for axis in axes)}{',' if len(axes) == 1 else ''})"),
        "sharding": Code(sharding),
        "over_tensor": Code(" // TENSOR" if 1 < tensor else ""),
    }


_SIZES = {"replicate": "REPLICAS", "shard": "SHARDS", "tensor": "TENSOR"}


def _step(plan: Plan, facts: Facts) -> dict[str, Any]:
    timeout = float(plan.value("launch.timeout"))
    return {
        "micro_batch": facts["batch.micro"],
        "accumulation": facts["batch.accumulation"],
        "global_batch": facts["batch.global"],
        "sequence_length": written(plan, "batch.sequence_length"),
        "compute": Code(DTYPES[plan.value("precision")]),
        "reduce": Code(DTYPES[plan.value("precision.gradients")]),
        "scaler": plan.value("precision") == "fp16",
        "timeout": timeout if timeout % 1 else int(timeout),
        "seed": written(plan, "train.seed"),
        "deterministic": plan.value("train.deterministic"),
    }


def _layers(plan: Plan, facts: Facts) -> dict[str, Any]:
    family, secondary = written(plan, "model.family"), written(plan, "shard.secondary_size")
    split = SPLITS[family] if 1 < facts["parallel.tensor"] else None
    recompute = plan.value("recompute")
    first = written(plan, "recompute.layers") if written(plan, "recompute.method") == "block" else None
    return {
        "layers": layers_path(plan),
        "from_transformers": family in LAYERS and option(plan, "fsdp2", "layers") is None,
        "splits": () if split is None else tuple(
            (path, Code(style)) for path, style in styles(family, bool(written(plan, "parallel.sequence")))
        ),
        "whole": split is not None and not written(plan, "parallel.sequence"),
        "embedding": split and split.embedding,
        "head": split and split.head,
        "recompute": recompute,
        "recomputed": Code("layers" if first is None else f"layers[:{first}]"),
        "context": Code(", context_fn=_choose" if recompute == "selective" else ""),
        "compile": plan.value("train.compile"),
        "reshard": plan.value("shard.stage") == 3 if secondary in (None, facts["shard.size"]) else secondary,
        "offload": written(plan, "offload.weights") is not None,
    }  # fmt: skip


def _imports(values: dict[str, Any]) -> Iterator[str]:
    """The lines that import what the text uses, in the order that formatters give them."""
    splits, recompute = values["splits"], values["recompute"]
    used = " ".join(style for _, style in splits)
    yield "import os"
    if recompute == "selective":
        yield "from contextlib import AbstractContextManager"
    yield "from datetime import timedelta"
    yield "from functools import cache" if recompute == "none" else "from functools import cache, partial"
    yield ""
    yield "import torch"
    yield "import torch.distributed as dist"
    yield "from torch import nn"
    yield "from torch.distributed.device_mesh import DeviceMesh, init_device_mesh"
    offload = "CPUOffloadPolicy, " if values["offload"] else ""
    yield f"from torch.distributed.fsdp import {offload}MixedPrecisionPolicy, fully_shard"
    if splits:
        placements = ["DTensor", "Replicate", "Shard" if "Shard(" in used else "distribute_module"]
        yield f"from torch.distributed.tensor import {', '.join(placements)}"
        yield "from torch.distributed.tensor.parallel import ("
        for name in ("ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "RowwiseParallel", "SequenceParallel"):
            if name in used or (name == "ParallelStyle" and "Whole(" in used):
                yield f"    {name},"
        yield "    parallelize_module,"
        yield ")"
    elif values["clip"] is not None:
        yield "from torch.distributed.tensor import DTensor"
    if recompute == "full":
        yield "from torch.utils.checkpoint import checkpoint"
    elif recompute == "selective":
        yield "from torch.utils.checkpoint import ("
        yield "    CheckpointPolicy,"
        yield "    SelectiveCheckpointContext,"
        yield "    checkpoint,"
        yield "    create_selective_checkpoint_contexts,"
        yield ")"
