"""What keeps a plan from being said in one of accelerate's files: layouts, shards and dtypes that a backend lacks.

The backends are those of accelerate 1.15 (commands/launch.py, utils/dataclasses.py, parallelism_config.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.plan.model import Plan
from planc.targets._launch import written

DDP, FSDP1, FSDP2, DEEPSPEED = "ddp", "fsdp1", "fsdp2", "deepspeed"

#: How context ranks exchange keys and values: accelerate's word for the plan's.
STRATEGIES = {"ring": "alltoall", "all-gather": "allgather"}


class Obstacle(NamedTuple):
    """Why a file cannot say the plan: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


def obstacles(plan: Plan, backend: str) -> tuple[Obstacle, ...]:
    """What keeps the plan from being said in the file of a backend; a faulty field is no obstacle."""
    return (*_common_obstacles(plan), *_precision_obstacles(plan, backend), *_OF_BACKENDS[backend](plan))


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


def _precision_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("fp8", "fp4"):
        yield Obstacle(
            "precision",
            "precision",
            f"accelerate's files do not say how {precision} is scaled",
            "write `precision = bf16`",
        )
        return
    # DDP reduces the gradients of fp32 weights; the others reduce in the dtype of the products.
    reduced = "fp32" if backend == DDP and plan.is_written("precision.gradients") else precision
    if precision is not None and gradients not in (None, reduced):
        yield Obstacle(
            "precision",
            "precision.gradients",
            f"accelerate reduces gradients in {reduced}",
            f"write `gradients = {reduced}`",
        )
    if written(plan, "precision.master") not in (None, "fp32"):
        yield Obstacle("precision", "precision.master", "accelerate keeps fp32 master weights", "write `master = fp32`")
    scale = written(plan, "precision.loss_scale")
    if scale not in (None, "dynamic"):
        yield Obstacle(
            "precision", "precision.loss_scale", "accelerate scales the loss dynamically", "write `loss_scale = auto`"
        )


def _ddp_obstacles(plan: Plan) -> Iterator[Obstacle]:
    stage = written(plan, "shard.stage")
    if stage is not None and stage != 0:
        yield Obstacle("sharding", "shard.stage", "DDP shares nothing", "write `stage = 0`, or use FSDP2 or DeepSpeed")
    yield from _data_parallel_obstacles(plan, "DDP")
    for path in ("offload.optimizer", "offload.weights"):
        if written(plan, path) == "cpu":
            yield Obstacle("sharding", path, "DDP offloads nothing", "share the states: write `shard { stage = 3 }`")
            break
    if written(plan, "offload.activations"):
        yield Obstacle("sharding", "offload.activations", "DDP offloads nothing", "use FSDP2, at stage 2 or 3")


def _fsdp1_obstacles(plan: Plan) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    yield from _fsdp_stage_obstacles(stage, "FSDP1")
    yield from _data_parallel_obstacles(plan, "FSDP1")
    if stage in (2, 3) and size is not None and data is not None and size < data:
        # HYBRID_SHARD would share over what cards a node turns out to have.
        yield Obstacle(
            "sharding", "shard.size", f"FSDP1 shares over all {data} replicas", "leave `size` out, or use FSDP2"
        )
    if written(plan, "offload.activations"):
        yield Obstacle("sharding", "offload.activations", "FSDP1 offloads no activations", "use FSDP2")
    yield from _fsdp_memory_obstacles(plan, "FSDP1")


def _data_parallel_obstacles(plan: Plan, name: str) -> Iterator[Obstacle]:
    """Axes of the model, which accelerate has beside FSDP2 alone; DeepSpeed splits sequences, too."""
    for path, what in (("parallel.tensor", "tensor"), ("parallel.context", "context")):
        if 1 < (written(plan, path) or 1):
            yield Obstacle("layout", path, f"{name} has no {what} ranks", "use FSDP2, at stage 2 or 3")


def _fsdp_stage_obstacles(stage: int | None, name: str) -> Iterator[Obstacle]:
    if stage in (0, 1):
        yield Obstacle(
            "sharding",
            "shard.stage",
            f"{name} has no stage {stage}: it shares gradients too",
            "write `stage = 2` or `stage = 3`",
        )


def _fsdp2_obstacles(plan: Plan) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    yield from _fsdp_stage_obstacles(stage, "FSDP2")
    tensor, context = written(plan, "parallel.tensor"), written(plan, "parallel.context")
    if None not in (size, data, tensor, context):
        if size == 1 and 1 < data:
            yield Obstacle("sharding", "shard.size", "FSDP2 over one rank shares nothing", "leave `size` out")
        elif size * context == 1 and 1 < tensor:
            yield Obstacle(
                "layout", "parallel.tensor", "FSDP2 has no ranks left to share over", "use fewer tensor ranks"
            )
    kind = written(plan, "context")
    if context is not None and 1 < context and kind is not None and kind not in STRATEGIES:
        yield Obstacle(
            "layout",
            "context",
            f"FSDP2 in accelerate has no `{kind}` context parallelism",
            "use `ring` or `all-gather`",
        )
    if written(plan, "offload.activations") and written(plan, "recompute") != "full":
        yield Obstacle(
            "sharding", "offload.activations", "FSDP2 offloads recomputed activations only", "write `recompute = full`"
        )
    yield from _fsdp_memory_obstacles(plan, "FSDP2")


def _fsdp_memory_obstacles(plan: Plan, name: str) -> Iterator[Obstacle]:
    recompute, layers = written(plan, "recompute"), written(plan, "recompute.layers")
    if recompute == "selective":
        yield Obstacle(
            "sharding",
            "recompute",
            f"{name} in accelerate recomputes whole layers or nothing",
            "write `recompute = full`",
        )
    elif recompute == "full" and (layers or 1) != 1:
        yield Obstacle(
            "sharding",
            "recompute.layers",
            f"{name} in accelerate recomputes each layer by itself",
            "leave `layers` out",
        )
    optimizer, weights = written(plan, "offload.optimizer"), written(plan, "offload.weights")
    if "nvme" not in (optimizer, weights) and (optimizer is None) != (weights is None):
        path = "offload.weights" if optimizer is None else "offload.optimizer"
        yield Obstacle("sharding", path, f"{name} offloads weights and optimizer states together",
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


_OF_BACKENDS = {
    DDP: _ddp_obstacles,
    FSDP1: _fsdp1_obstacles,
    FSDP2: _fsdp2_obstacles,
    DEEPSPEED: _deepspeed_obstacles,
}
