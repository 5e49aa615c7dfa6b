"""What keeps a plan from being said in gpt_neox.yml; a faulty field is no obstacle.

Reasons are in gpt-neox's megatron/model/transformer.py, megatron/training.py, megatron/learning_rates.py and
megatron/neox_arguments/arguments.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, STEPS
from planc.targets._deepspeed_schedule import Obstacle as ScheduleObstacle
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._gpt_neox_config import OPTIMIZERS
from planc.targets._launch import bare_starter, is_unset, starting_path, written

#: What the DeepSpeed launcher hands on to other nodes (EXPORT_ENVS and the accelerator's export_envs).
_CARRIED = ("MLFLOW", "PYTHON", "MV2", "UCX", "NCCL")


class Obstacle(NamedTuple):
    """Why the file cannot say the plan: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps gpt-neox from following the plan."""
    yield from _layout(plan)
    yield from _states(plan)
    yield from _precision(plan)
    yield from _model(plan)
    yield from _attention(plan)
    yield from _optimizer(plan)
    yield from _length(plan, facts)
    yield from _run(plan)
    yield from _launch(plan)


def _layout(plan: Plan) -> Iterator[Obstacle]:
    for path, what in (("parallel.context", "context ranks"), ("parallel.expert", "expert ranks")):
        if 1 < (written(plan, path) or 1):
            yield Obstacle("layout", path, f"gpt-neox has no {what}", "leave it out, or emit another trainer")
    kind = written(plan, "pipeline")
    if kind not in (None, "1f1b"):
        yield Obstacle("layout", "pipeline", f"gpt-neox has no `{kind}` pipeline", "write `pipeline = 1f1b`")
    for name in ("first_stage_layers", "last_stage_layers", "layers", "layout"):
        if written(plan, f"pipeline.{name}") is not None:
            yield _uneven(name)
    for name in ("embedding_as_layer", "loss_as_layer"):
        if written(plan, f"pipeline.{name}"):
            yield _uneven(name)
    tensor = written(plan, "parallel.tensor")
    for name, what in (("heads", "attention heads"), ("kv_heads", "KV heads"), ("ffn", "columns of an MLP")):
        number = written(plan, f"model.{name}")
        if tensor is not None and number is not None and number % tensor != 0:
            message = f"{number} {what} do not divide into {tensor} tensor ranks"
            yield Obstacle("layout", "parallel.tensor", message, "gpt-neox stops: use fewer tensor ranks")
            break


def _uneven(name: str) -> Obstacle:
    message = f"gpt-neox spreads layers evenly, without `{name}`"
    return Obstacle("layout", f"pipeline.{name}", message, "remove it, or emit `megatron`")


def _states(plan: Plan) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if stage is None:
        return
    if stage != 0 and size is not None and data is not None and size < data:
        message = f"DeepSpeed shares over all {data} replicas, not over {size}"
        yield Obstacle("states", "shard.size", message, f"write `size = {data}`, or leave it out")
    least = {"offload.weights": 3, "shard.secondary_size": 3, "shard.bucket": 1, "offload.optimizer": 1}
    for path, needed in least.items():
        value = written(plan, path)
        needed = 3 if value == "nvme" else needed
        if value is not None and stage < needed:
            message = f"`{path}` has an effect from stage {needed} on"
            yield Obstacle("states", path, message, f"write `shard {{ stage = {needed} }}`, or remove it")
    nvme = [path for path in ("offload.optimizer", "offload.weights") if written(plan, path) == "nvme"]
    if nvme and is_unset(plan, "offload.path"):
        yield Obstacle("states", nvme[0], "NVMe offload needs a folder", 'write `offload { path = "..." }`')
    recompute = written(plan, "recompute")
    if recompute == "selective" or written(plan, "recompute.method") == "block":
        path = "recompute" if recompute == "selective" else "recompute.method"
        message = "gpt-neox recomputes all layers or none"
        yield Obstacle("states", path, message, "write `recompute = full`")
    if written(plan, "offload.activations") and recompute == "none":
        message = "gpt-neox offloads recomputed activations only"
        yield Obstacle("states", "offload.activations", message, "write `recompute = full`")


def _precision(plan: Plan) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("fp8", "fp4"):
        message = f"planc writes no {precision} for gpt-neox"
        yield Obstacle("states", "precision", message, "write `precision = bf16`")
        return
    if None not in (precision, gradients) and gradients != precision:
        if gradients != "fp32":
            message = f"DeepSpeed keeps no {gradients} gradients beside {precision} weights"
            yield Obstacle("states", "precision.gradients", message, f"write `gradients = {precision}`, or `fp32`")
        elif written(plan, "shard.stage") == 0:
            message = f"fp32 gradients beside {precision} weights need stage 1"
            yield Obstacle("states", "precision.gradients", message, "write `shard { stage = 1 }`")
    for path, what in (("precision.master", "master weights"), ("optimizer.states", "moments")):
        if written(plan, path) not in (None, "fp32"):
            yield Obstacle("states", path, f"gpt-neox keeps its {what} in fp32", "write `fp32`, or leave it out")


def _model(plan: Plan) -> Iterator[Obstacle]:
    if written(plan, "model.experts.count") is not None:
        yield Obstacle("model", "model", "planc writes no experts for gpt-neox", "use a dense model")
    heads, size, hidden = (written(plan, f"model.{name}") for name in ("heads", "head_dim", "hidden"))
    if None not in (heads, size, hidden) and heads * size != hidden:
        message = f"gpt-neox has heads of hidden / heads, not {size}"
        yield Obstacle("model", "model.head_dim", message, "leave `head_dim` out, or emit another trainer")
    bias, gated, ffn = (written(plan, f"model.{name}") for name in ("bias", "gated", "ffn"))
    if bias == "qkv":
        message = "gpt-neox biases queries, keys, values and output alike"
        yield Obstacle("model", "model.bias", message, "write `bias = attention`, or `none`")
    if gated is False and bias in ("none", "qkv", "attention"):
        message = "gpt-neox has no ungated MLP without a bias"
        yield Obstacle("model", "model.gated", message, "use a gated MLP, or `bias = mlp`")
    if gated is False and ffn is not None and ffn % 2 != 0:
        yield Obstacle("model", "model.ffn", f"gpt-neox rounds a width of {ffn} up to even", "use an even width")
    if written(plan, "model.norms") == 4:
        yield Obstacle("model", "model.norms", "gpt-neox has no norms behind attention and MLP", "use `norms = 2`")
    for name, what in (("embedding_norm", "norm after the embedding"), ("output_bias", "bias in the output layer")):
        if written(plan, f"model.{name}"):
            yield Obstacle("model", f"model.{name}", f"gpt-neox has no {what}", "remove it, or emit another trainer")
    if written(plan, "model.mtp_layers"):
        yield Obstacle("model", "model.mtp_layers", "gpt-neox predicts one token", "remove it")
    if written(plan, "adapter") is not None:
        yield Obstacle("model", "adapter", "gpt-neox has no low-rank adapters", "remove it, or emit another trainer")


def _attention(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "model.attention")
    if kind == "mla":
        yield Obstacle("model", "model.attention", "gpt-neox has no latent attention", "emit another trainer")
        return
    if kind == "sliding" and is_unset(plan, "model.attention.window"):
        yield Obstacle("model", "model.attention", "gpt-neox needs the window", "write `window = ...`")
    if kind == "sliding" and (written(plan, "model.attention.every") or 1) != 1:
        message = "gpt-neox gives all layers the same window"
        yield Obstacle("model", "model.attention.every", message, "leave `every` out")
    if written(plan, "model.attention.qk_norm") not in (None, "none"):
        message = "gpt-neox norms queries and keys by one shared norm"
        yield Obstacle("model", "model.attention.qk_norm", message, "remove it, or emit another trainer")
    if written(plan, "model.attention.sinks"):
        yield Obstacle("model", "model.attention.sinks", "gpt-neox has no attention sinks", "emit another trainer")


def _optimizer(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "optimizer")
    if kind is None:
        return
    if kind not in OPTIMIZERS:
        yield Obstacle("run", "optimizer", f"planc writes no `{kind}` for gpt-neox", "use adamw or lion")
        return
    if is_unset(plan, "optimizer.learning_rate"):
        message = "gpt-neox trains at 0.001 unless a learning rate is written"
        yield Obstacle("run", "optimizer", message, "write `optimizer { learning_rate = ... }`")
    if kind == "lion" and written(plan, "offload.optimizer") is not None:
        yield Obstacle("run", "optimizer", "gpt-neox has no Lion on the host", "use adamw")
    for name in ("epsilon",) if kind == "lion" else ():
        if written(plan, f"optimizer.{name}") is not None:
            yield Obstacle("run", f"optimizer.{name}", f"Lion takes no `{name}`", "remove it")
    if written(plan, "optimizer.momentum") is not None:
        yield Obstacle("run", "optimizer.momentum", f"`{kind}` takes no `momentum`", "write `betas`")


def _length(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    if is_unset(plan, "batch.sequence_length"):
        yield Obstacle("run", "batch", "gpt-neox needs the sequence length", "write `sequence_length = ...`")
    if is_unset(plan, "train.duration"):
        yield Obstacle("run", "train", "gpt-neox needs the length of the run", "write `train { duration = ... steps }`")
        return
    steps, ramp = facts["train.steps"], written(plan, "batch.ramp")
    if ramp is not None:
        yield Obstacle("run", "batch.ramp", "gpt-neox has no ramp of the batch size", "remove it")
        return
    duration = written(plan, "train.duration")
    if duration is not None and duration.dimension == EPOCHS and is_unset(plan, "dataset.size"):
        message = "epochs of a data set of unknown size"
        yield Obstacle("run", "train.duration", message, "write steps, or `dataset { size = ... }`")
    elif not isinstance(steps, Unknown):
        yield from _schedule(plan, facts, steps)


def _schedule(plan: Plan, facts: Facts, steps: int) -> Iterator[Obstacle]:
    kind = course(plan)
    if kind in ("wsd", "inverse-sqrt"):
        help = "use `constant`, `linear` or `cosine`"
        yield Obstacle("run", "schedule", f"gpt-neox has no `{kind}` schedule", help)
        return
    if kind is None:
        if any(plan.is_written(f"schedule.{name}") for name in ("warmup", "total", "minimum")):
            message = "gpt-neox has to be told the course of the rate"
            yield Obstacle("run", "schedule", message, "write `schedule = cosine { ... }` or the like")
        return
    total = steps if kind == "constant" else steps_of(plan, facts, "schedule.total")
    for found in (steps_of(plan, facts, "schedule.warmup"), total):
        if isinstance(found, ScheduleObstacle):
            yield Obstacle("run", found.path, found.message, found.help)
    if kind == "cosine" and isinstance(total, int) and total < steps:
        message = f"gpt-neox's cosine rises again after step {total} of {steps}"
        yield Obstacle("run", "schedule", message, "let `total` be the length of the run")
    minimum = written(plan, "schedule.minimum")
    if kind == "linear" and minimum:
        message = "gpt-neox's line falls to zero and is cut at the minimum"
        yield Obstacle("run", "schedule.minimum", message, "use `cosine`, or `minimum = 0`")
    if kind == "constant" and minimum is not None:
        yield Obstacle("run", "schedule.minimum", "a constant schedule has no minimum", "remove it")


def _run(plan: Plan) -> Iterator[Obstacle]:
    every, directory = written(plan, "checkpoint.every"), written(plan, "checkpoint.directory")
    if every is not None and every.dimension != STEPS:
        message = "gpt-neox saves after steps, not after a time"
        yield Obstacle("run", "checkpoint.every", message, "write `every = ... steps`")
    elif every is not None and is_unset(plan, "checkpoint.directory"):
        message = "gpt-neox saves nothing without a folder"
        yield Obstacle("run", "checkpoint.every", message, 'write `checkpoint { directory = "..." }`')
    elif directory is not None and is_unset(plan, "checkpoint.every"):
        message = "gpt-neox refuses a folder without an interval"
        yield Obstacle("run", "checkpoint.directory", message, "write `checkpoint { every = ... steps }`")
    if "tensorboard" in (written(plan, "log.to") or ()) and is_unset(plan, "log.directory"):
        message = "gpt-neox needs a folder for TensorBoard"
        yield Obstacle("run", "log.to", message, 'write `log { directory = "..." }`')
    profile = [name for name in ("start", "length") if not is_unset(plan, f"profile.{name}")]
    if len(profile) == 1:
        message = "gpt-neox traces from a step to a step"
        yield Obstacle("run", f"profile.{profile[0]}", message, "write `start` and `length`")


def _launch(plan: Plan) -> Iterator[Obstacle]:
    starter = bare_starter(plan)
    if starter is not None:
        message = f"`{starter}` starts the program without deepy.py, and so without gpt_neox.yml"
        yield Obstacle("run", starting_path(plan), message, f"call gpt_neox.sh, and leave `{starter}` out")
    if written(plan, "launch.restarts"):
        message = "the DeepSpeed launcher never starts failed workers again"
        yield Obstacle("run", "launch.restarts", message, "leave it out, and let the queue start the job again")
    timeout, nodes = written(plan, "launch.timeout"), written(plan, "cluster.nodes")
    if timeout is not None and timeout % 60 != 0:
        yield Obstacle("run", "launch.timeout", "the timeout is no whole number of minutes", "write `... min`")
    if nodes is None or nodes < 2:
        return
    if plan.is_written("launch.timeout") and timeout is not None:
        message = "the DeepSpeed launcher carries no timeout to other nodes"
        help = "set `DEEPSPEED_TIMEOUT` in a file .deepspeed_env, and remove the field"
        yield Obstacle("run", "launch.timeout", message, help)
    for name in written(plan, "launch.env") or {}:
        if not name.startswith(_CARRIED):
            message = f"the DeepSpeed launcher carries `{name}` to no other node"
            help = "set it in a file .deepspeed_env, which the launcher reads, and remove it here"
            yield Obstacle("run", "launch.env", message, help)
