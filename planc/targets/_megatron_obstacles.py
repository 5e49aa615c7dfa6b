"""What Megatron's core cannot do for a plan, whether Megatron-LM's flags or Megatron-Bridge's overrides say it.

Reasons are in megatron-core 0.16.1: distributed, optimizer, pipeline_parallel, models/gpt and TransformerConfig.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._launch import written
from planc.targets._megatron_flags import FSDP, OPTIMIZERS, fact, needs_precision_aware


class Obstacle(NamedTuple):
    """Why a plan cannot be said: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


_NOT_BUILT = (
    ("model.positions", ("alibi",), "Megatron has no `alibi` positions", "use `rope` or `learned`"),
    ("model.bias", ("attention", "mlp"), "Megatron has biases of all linear layers, or of `qkv`", "use `qkv` or `all`"),
    ("model.norms", (1, 3, 4), "Megatron's layers have two norms", "write `norms = 2`"),
    ("model.embedding_norm", (True,), "Megatron has no norm after the embedding", "remove it"),
    ("model.output_bias", (True,), "Megatron's output layer has no bias", "remove it"),
    ("model.attention.qk_norm", ("full",), "Megatron's norms of queries and keys are over each head", "use `head`"),
)  # fmt: skip


def core_obstacles(plan: Plan, facts: Facts, overlaps: bool) -> Iterator[Obstacle]:
    """What keeps megatron-core from following the plan.

    overlaps: whether gradients are reduced, or weights gathered, beside the passes.
    """
    yield from _layout(plan)
    yield from _states(plan, facts, overlaps)
    yield from _precision(plan)
    yield from _optimizer(plan)
    for path, refused, message, help in _NOT_BUILT:
        if written(plan, path) in refused:
            yield Obstacle("model", path, message, help)
    yield from _run(plan)


def _layout(plan: Plan) -> Iterator[Obstacle]:
    pipeline, context = written(plan, "pipeline"), written(plan, "parallel.context") or 1
    if pipeline in ("zero-bubble", "dual"):
        message = f"Megatron has no `{pipeline}` pipeline"
        yield Obstacle("layout", "pipeline", message, "use `1f1b` or `interleaved`")
    if 1 < context and written(plan, "context") == "hierarchical":
        message = "no field has the two sizes of a hierarchical exchange"
        yield Obstacle("layout", "context", message, "use `ring`, `ulysses` or `all-gather`")


def _states(plan: Plan, facts: Facts, overlaps: bool) -> Iterator[Obstacle]:
    stage = fact(facts, "shard.stage")
    if written(plan, "shard.secondary_size") is not None:
        message = "Megatron keeps no secondary shard of the weights"
        yield Obstacle("states", "shard.secondary_size", message, "remove it")
    if written(plan, "shard.bucket") is not None and stage in FSDP:
        yield Obstacle("states", "shard.bucket", "Megatron's FSDP has no buckets of stated size", "remove it")
    if written(plan, "offload.optimizer") == "nvme":
        yield Obstacle("states", "offload.optimizer", "Megatron offloads to the host only", "write `optimizer = cpu`")
    if written(plan, "offload.weights") is not None:
        yield Obstacle("states", "offload.weights", "Megatron offloads no weights", "remove it")
    if written(plan, "offload.activations"):
        message = "Megatron offloads activations by module, which no field names"
        yield Obstacle("states", "offload.activations", message, "use `recompute`")
    if stage == 0 and written(plan, "offload.optimizer") == "cpu":
        message = "Megatron offloads states that are shared, from stage 1 on"
        yield Obstacle("states", "offload.optimizer", message, "write `shard { stage = 1 }`")
    shared = stage is not None and 1 <= stage
    if written(plan, "optimizer") == "muon" and (shared or overlaps):
        message = "Megatron's Muon takes neither shared states nor overlap"
        help = "write `shard { stage = 0 }` without a bucket, or use `adamw`"
        yield Obstacle("states", "optimizer", message, help)
    if stage in FSDP and written(plan, "checkpoint.format") == "full":
        yield Obstacle("states", "checkpoint.format", "Megatron's FSDP saves shards only", "write `format = sharded`")


def _precision(plan: Plan) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    own = {"bf16": "bf16", "fp8": "bf16", "fp4": "bf16", "fp16": "fp16", "fp32": "fp32"}.get(precision or "")
    if own is not None and gradients not in (None, "fp32", own):
        message = f"Megatron keeps no {gradients} gradients beside {precision}"
        yield Obstacle("precision", "precision.gradients", message, "write `gradients = fp32`")
    if written(plan, "precision.recipe") == "rowwise":
        help = "use `tensorwise`, `blockwise`, `delayed` or `mxfp8`"
        yield Obstacle("precision", "precision.recipe", "Megatron has no `rowwise` recipe", help)
    if precision == "fp4" and written(plan, "precision.weights") == "fp8":
        message = "Megatron gathers no fp8 weights in fp4 training"
        yield Obstacle("precision", "precision.weights", message, "write `weights = bf16`")
    master = written(plan, "precision.master")
    if master not in (None, "fp32", "fp16"):
        message = f"Megatron keeps no {master} master weights"
        yield Obstacle("precision", "precision.master", message, "write `master = fp32` or `master = fp16`")


def _optimizer(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "optimizer")
    if kind is not None and kind not in OPTIMIZERS:
        message = f"Megatron has no `{kind}` optimizer"
        yield Obstacle("precision", "optimizer", message, "use `adamw`, `sgd` or `muon`")
        return
    if kind == "muon" and written(plan, "precision") == "fp16":
        yield Obstacle("precision", "optimizer", "Megatron's Muon trains in no fp16", "use `adamw`, or bf16")
    takes = OPTIMIZERS[kind][1] if kind else {}
    for name in ("betas", "epsilon", "momentum"):
        if kind and written(plan, f"optimizer.{name}") is not None and name not in takes:
            yield Obstacle("precision", f"optimizer.{name}", f"Megatron's `{kind}` takes no `{name}`", "remove it")
    if kind in ("sgd", "muon") and needs_precision_aware(plan):
        path = "offload.optimizer" if written(plan, "offload.optimizer") == "cpu" else "optimizer.states"
        path = path if written(plan, path) not in (None, "fp32") else "precision.master"
        message = f"Megatron's `{kind}` keeps fp32 states on the card"
        yield Obstacle("precision", path, message, "use `adamw`, or leave it out")


def _run(plan: Plan) -> Iterator[Obstacle]:
    timeout = written(plan, "launch.timeout")
    if timeout is not None and timeout % 60 != 0:
        yield Obstacle("run", "launch.timeout", "the timeout is no whole number of minutes", "write `... min`")
    if written(plan, "train.compile"):
        yield Obstacle("run", "train.compile", "Megatron has no `torch.compile` of the model", "remove it")
    if written(plan, "dataset.drop_last") is False:
        yield Obstacle("run", "dataset.drop_last", "Megatron drops an odd last batch", "remove it")
    if written(plan, "checkpoint.format") in ("universal", "safetensors"):
        message = f"Megatron saves no `{written(plan, 'checkpoint.format')}` checkpoints"
        yield Obstacle("run", "checkpoint.format", message, "write `format = sharded`")
