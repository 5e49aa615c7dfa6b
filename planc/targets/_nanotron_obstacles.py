"""What keeps a plan from being said in nanotron.yaml; a faulty field is no obstacle.

Reasons are in nanotron's config/config.py, models/llama.py, optim/gradient_accumulator.py, helpers.py and run_train.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import EPOCHS, STEPS
from planc.targets._deepspeed_schedule import Obstacle as ScheduleObstacle
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import bare_starter, is_unset, starting_path, written
from planc.targets._nanotron_config import STYLES


class Obstacle(NamedTuple):
    """Why the file cannot say the plan: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


#: Required by nanotron's classes, which have no default for them: where it is blamed, and what is written.
_REQUIRED = (
    ("batch", "batch.sequence_length", "batch { sequence_length = ... }"),
    ("train", "train.duration", "train { duration = ... steps }"),
    ("optimizer", "optimizer.learning_rate", "optimizer { learning_rate = ... }"),
    ("optimizer", "optimizer.betas", "optimizer { betas = [0.9, 0.95] }"),
    ("optimizer", "optimizer.epsilon", "optimizer { epsilon = 1e-8 }"),
    ("optimizer", "optimizer.weight_decay", "optimizer { weight_decay = ... }"),
    ("checkpoint", "checkpoint.directory", 'checkpoint { directory = "..." }'),
    ("checkpoint", "checkpoint.every", "checkpoint { every = ... steps }"),
    ("dataset", "dataset.path", 'dataset { path = "..." }'),
)

#: Fields with the only value of the model that nanotron builds, and what it has.
_LLAMA = (
    ("model.gated", True, "gated MLPs"),
    ("model.bias", "none", "layers without biases"),
    ("model.norm", "rmsnorm", "RMSNorm"),
    ("model.norms", 2, "two norms a layer"),
    ("model.positions", "rope", "rotary positions"),
    ("model.dropout", 0, "no dropout"),
    ("model.attention", "full", "full attention"),
    ("model.attention.qk_norm", "none", "no norms of queries and keys"),
    ("model.attention.sinks", False, "no attention sinks"),
    ("model.embedding_norm", False, "no norm after the embedding"),
    ("model.output_bias", False, "no bias in the output layer"),
    ("model.mtp_layers", 0, "no layers for further tokens"),
)


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps nanotron from following the plan."""
    yield from _layout(plan)
    yield from _model(plan)
    yield from _states(plan)
    yield from _required(plan)
    yield from _length(plan, facts)
    yield from _launch(plan)


def _launch(plan: Plan) -> Iterator[Obstacle]:
    if plan.is_written("launch.timeout") and written(plan, "launch.timeout") is not None:
        yield Obstacle("run", "launch.timeout", "nanotron waits as long as torch does", "remove it")
    named = any(argument.startswith("--config-file") for argument in written(plan, "launch.args") or ())
    starter = bare_starter(plan)
    if starter is not None and not named:
        message = f"`{starter}` starts the program without nanotron.yaml"
        help = f'write `args = ["--config-file", ".../nanotron.yaml"]`, or leave `{starter}` out'
        yield Obstacle("run", starting_path(plan), message, help)


def _layout(plan: Plan) -> Iterator[Obstacle]:
    for path, what in (("parallel.context", "context ranks"), ("parallel.expert", "expert ranks")):
        if 1 < (written(plan, path) or 1):
            message = f"planc writes no {what} for nanotron"
            yield Obstacle("layout", path, message, "leave it out, or emit another trainer")
    kind = written(plan, "pipeline")
    if kind not in (None, "1f1b"):
        yield Obstacle("layout", "pipeline", f"nanotron has no `{kind}` pipeline", "write `pipeline = 1f1b`")
    names = ("first_stage_layers", "last_stage_layers", "layers", "layout", "embedding_as_layer", "loss_as_layer")
    for name in names:
        if written(plan, f"pipeline.{name}") not in (None, False):
            message = f"nanotron shares layers out by their cost, without `{name}`"
            yield Obstacle("layout", f"pipeline.{name}", message, "remove it, or emit `megatron`")
    tensor, kv_heads = written(plan, "parallel.tensor"), written(plan, "model.kv_heads")
    # Other numbers that do not divide are PLN103's to PLN105's; Megatron would give each rank a copy of these.
    if None not in (tensor, kv_heads) and kv_heads % tensor != 0 and tensor % kv_heads == 0:
        message = f"nanotron gives no {tensor} tensor ranks copies of {kv_heads} KV heads"
        yield Obstacle("layout", "parallel.tensor", message, f"write `tensor = {kv_heads}`, or fewer")


def _model(plan: Plan) -> Iterator[Obstacle]:
    if written(plan, "model.experts.count") is not None:
        yield Obstacle("model", "model", "planc writes no experts for nanotron", "use a dense model")
    for path, only, what in _LLAMA:
        value = written(plan, path)
        if value is not None and value != only:
            yield Obstacle("model", path, f"planc writes models with {what} for nanotron", "emit another trainer")
    heads, size, hidden = (written(plan, f"model.{name}") for name in ("heads", "head_dim", "hidden"))
    if None not in (heads, size, hidden) and heads * size != hidden:
        message = f"nanotron has heads of hidden / heads, not {size}"
        yield Obstacle("model", "model.head_dim", message, "leave `head_dim` out, or emit another trainer")
    if written(plan, "adapter") is not None:
        yield Obstacle("model", "adapter", "nanotron has no low-rank adapters", "remove it, or emit another trainer")


def _states(plan: Plan) -> Iterator[Obstacle]:
    precision = written(plan, "precision")
    if precision not in (None, "bf16"):
        message = f"planc writes no {precision} for nanotron"
        yield Obstacle("run", "precision", message, "write `precision = bf16`")
    for path in ("precision.gradients", "precision.master", "optimizer.states"):
        if precision == "bf16" and written(plan, path) not in (None, "fp32"):
            message = "nanotron keeps masters, gradients and moments in fp32 together"
            yield Obstacle("run", path, message, "write `fp32`, or leave it out")
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if stage in (2, 3):
        yield Obstacle("run", "shard.stage", f"nanotron has no stage {stage}", "write `shard { stage = 1 }`")
    elif stage == 1 and size is not None and data is not None and size < data:
        message = f"nanotron shares over all {data} replicas, not over {size}"
        yield Obstacle("run", "shard.size", message, f"write `size = {data}`, or leave it out")
    for path in ("shard.bucket", "shard.secondary_size"):
        if written(plan, path) is not None:
            yield Obstacle("run", path, f"nanotron has no `{path.partition('.')[2]}`", "remove it")
    for name in ("optimizer", "weights", "activations"):
        if written(plan, f"offload.{name}"):
            yield Obstacle("run", f"offload.{name}", "nanotron offloads nothing", "remove it, or emit another trainer")
    chunked = written(plan, "recompute.method") == "block" or 1 < (written(plan, "recompute.layers") or 1)
    if written(plan, "recompute") == "selective" or chunked:
        message = "nanotron recomputes each layer by itself, or none"
        yield Obstacle("run", "recompute", message, "write `recompute = full`")


def _required(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "optimizer")
    if kind not in (None, "adamw"):
        yield Obstacle("run", "optimizer", f"planc writes no `{kind}` for nanotron", "use adamw")
        return
    if written(plan, "optimizer.momentum") is not None:
        yield Obstacle("run", "optimizer.momentum", "AdamW takes no `momentum`", "write `betas`")
    missing = [(blamed, path, text) for blamed, path, text in _REQUIRED if is_unset(plan, path)]
    if missing:
        names = ", ".join(f"`{path}`" for _, path, _ in missing)
        message = "nanotron has no default for 1 field" if len(missing) == 1 else (
            f"nanotron has no default for {len(missing)} fields"
        )  # fmt: skip
        texts = "  ".join(text for _, _, text in missing)
        yield Obstacle("run", missing[0][0], message, f"{names}: write `{texts}`")
    every = written(plan, "checkpoint.every")
    if every is not None and every.dimension != STEPS:
        message = "nanotron saves after steps, not after a time"
        yield Obstacle("run", "checkpoint.every", message, "write `every = ... steps`")


def _length(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    steps, duration = facts["train.steps"], written(plan, "train.duration")
    if written(plan, "batch.ramp") is not None:
        yield Obstacle("run", "batch.ramp", "nanotron has no ramp of the batch size", "remove it")
    elif duration is not None and duration.dimension == EPOCHS and is_unset(plan, "dataset.size"):
        message = "epochs of a data set of unknown size"
        yield Obstacle("run", "train.duration", message, "write steps, or `dataset { size = ... }`")
    elif not isinstance(steps, Unknown):
        yield from _schedule(plan, facts, steps)


def _schedule(plan: Plan, facts: Facts, steps: int) -> Iterator[Obstacle]:
    kind = course(plan)
    if kind not in STYLES:
        help = "use `constant`, `linear` or `cosine`"
        yield Obstacle("run", "schedule", f"planc writes no `{kind}` schedule for nanotron", help)
        return
    if kind is None:
        if any(plan.is_written(f"schedule.{name}") for name in ("warmup", "total", "minimum")):
            message = "nanotron has to be told the course of the rate"
            yield Obstacle("run", "schedule", message, "write `schedule = cosine { ... }` or the like")
        return
    total = steps if kind == "constant" else steps_of(plan, facts, "schedule.total")
    warmup = steps_of(plan, facts, "schedule.warmup")
    for found in (warmup, total):
        if isinstance(found, ScheduleObstacle):
            yield Obstacle("run", found.path, found.message, found.help)
    if isinstance(total, int) and isinstance(warmup, int) and total <= warmup:
        message = f"a warmup of {warmup} steps leaves nothing of {total}"
        yield Obstacle("run", "schedule", message, "write a shorter warmup")
    if kind == "constant" and written(plan, "schedule.minimum") is not None:
        yield Obstacle("run", "schedule.minimum", "a constant schedule has no minimum", "remove it")
