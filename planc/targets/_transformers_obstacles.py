"""What keeps a plan from being said in `training_args.json`: layouts, states and courses that the Trainer lacks.

The names are those of transformers 5.23.0 (training_args.py, trainer.py, trainer_optimizer.py, optimization.py). What
DeepSpeed cannot do is for the target `deepspeed` to say, whose file stands in the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import EPOCHS, PLAIN, STEPS
from planc.targets._accelerate_launch import chosen_backend
from planc.targets._deepspeed_schedule import Obstacle as Length
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import is_unset, option, written

DDP, FSDP2, DEEPSPEED = "ddp", "fsdp2", "deepspeed"


class Optimizer(NamedTuple):
    """An optimizer of the Trainer: its name, and which fields of the plan it takes besides the rate and the decay."""

    name: str
    takes: tuple[str, ...]


OPTIMIZERS: dict[str, Optimizer] = {
    "adamw": Optimizer("adamw_torch_fused", ("betas", "epsilon")),
    "adamw-8bit": Optimizer("adamw_bnb_8bit", ("betas", "epsilon")),
    "adafactor": Optimizer("adafactor", ()),
    "sgd": Optimizer("sgd", ("momentum",)),
    "lion": Optimizer("lion_32bit", ("betas",)),
}


class Obstacle(NamedTuple):
    """Why the file cannot say the plan: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


def backend_of(plan: Plan) -> str:
    """Who shares the states: the option `backend`, else nobody at stage 0, DeepSpeed at 1, FSDP2 from 2 on."""
    chosen = option(plan, "transformers", "backend")
    if chosen is not None:
        return str(chosen)
    return {0: DDP, 1: DEEPSPEED}.get(written(plan, "shard.stage"), FSDP2)


def optimizer_by_deepspeed(plan: Plan) -> bool:
    """Whether DeepSpeed makes the optimizer, by its own file, and the Trainer none."""
    return backend_of(plan) == DEEPSPEED and written(plan, "optimizer.learning_rate") is not None


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps the plan from being said in the file; a faulty field is no obstacle."""
    backend = backend_of(plan)
    yield from _layout_obstacles(plan, backend)
    yield from _launcher_obstacles(plan, backend)
    if backend != DEEPSPEED:
        yield from _memory_obstacles(plan, backend)
        yield from _precision_obstacles(plan, backend)
    yield from _recompute_obstacles(plan, backend)
    yield from _optimizer_obstacles(plan)
    yield from _schedule_obstacles(plan, facts)
    yield from _interval_obstacles(plan)


def _layout_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    for path, what in (
        ("parallel.pipeline", "pipelines"), ("parallel.expert", "expert ranks"), ("parallel.context", "context ranks"),
        ("parallel.tensor", "tensor ranks"),
    ):  # fmt: skip
        if 1 < (written(plan, path) or 1) and not (path == "parallel.tensor" and backend == DEEPSPEED):
            yield Obstacle("layout", path, f"no argument of the Trainer gives {what}", "emit another trainer")
    if written(plan, "parallel.sequence"):
        yield Obstacle("layout", "parallel.sequence", "the Trainer has no sequence parallelism", "remove it")
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if backend == DEEPSPEED:
        if option(plan, "deepspeed", "trainer") != "hf":
            yield Obstacle(
                "layout", "emit", "the Trainer's DeepSpeed file is not emitted", "emit `deepspeed { trainer = hf }`"
            )
        return
    if stage is not None and backend == FSDP2 and stage < 2:
        help = "write `stage = 2` or `stage = 3`, or leave the backend to planc"
        yield Obstacle("layout", "shard.stage", f"FSDP2 has no stage {stage}: it shares gradients too", help)
    elif backend == FSDP2 and size is not None and data is not None and size < data:
        help = f"write `size = {data}`, or leave it out"
        yield Obstacle("layout", "shard.size", f"the Trainer shares over all {data} replicas, not {size}", help)


def _launcher_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    """accelerate tells the Trainer by variables who shares, which has to be the one that the file names."""
    if not plan.emits("accelerate") or not isinstance(written(plan, "shard.stage"), int):
        return
    started = chosen_backend(plan)
    if started != backend:
        help = f"write `accelerate {{ backend = {backend} }}`"
        yield Obstacle("layout", "emit", f"accelerate starts the Trainer with {started}, its file says {backend}", help)


def _memory_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    for path in ("shard.bucket", "shard.secondary_size"):
        if written(plan, path) is not None:
            message = f"the Trainer takes `{path.partition('.')[2]}` for DeepSpeed only"
            yield Obstacle("layout", path, message, "remove it, or write `backend = deepspeed`")
    optimizer, weights = written(plan, "offload.optimizer"), written(plan, "offload.weights")
    path = "offload.weights" if optimizer is None else "offload.optimizer"
    if "nvme" in (optimizer, weights):
        path = "offload.optimizer" if optimizer == "nvme" else "offload.weights"
        yield Obstacle("memory", path, "the Trainer offloads to NVMe with DeepSpeed only", "use `cpu`")
    elif backend == DDP and (optimizer or weights):
        yield Obstacle("memory", path, "without shards the Trainer offloads nothing", "write `shard { stage = 3 }`")
    elif (optimizer is None) != (weights is None):
        help = "write `offload { optimizer = cpu  weights = cpu }`"
        yield Obstacle("memory", path, "FSDP2 offloads weights and optimizer states together", help)


def _precision_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("fp8", "fp4"):
        yield Obstacle("memory", "precision", f"the Trainer has no {precision}", "write `precision = bf16`")
        return
    # DDP reduces the gradients of fp32 weights; FSDP2 reduces in the dtype of the products.
    reduced = "fp32" if backend == DDP else precision
    if precision is not None and plan.is_written("precision.gradients") and gradients not in (None, reduced):
        message = f"the Trainer reduces gradients in {reduced} here"
        yield Obstacle("memory", "precision.gradients", message, f"write `gradients = {reduced}`")
    for path, what in (("precision.master", "master weights"), ("optimizer.states", "moments")):
        if written(plan, path) not in (None, "fp32"):
            help = f"write `{path.partition('.')[2]} = fp32`"
            yield Obstacle("memory", path, f"the Trainer keeps no {written(plan, path)} {what}", help)
    if written(plan, "precision.loss_scale") not in (None, "dynamic"):
        help = "write `loss_scale = auto`"
        yield Obstacle("memory", "precision.loss_scale", "the Trainer scales the loss dynamically", help)


def _recompute_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    recompute = written(plan, "recompute")
    if recompute == "selective":
        message = "the Trainer recomputes whole layers or nothing"
        yield Obstacle("memory", "recompute", message, "write `recompute = full`")
    elif recompute == "full" and (written(plan, "recompute.layers") or 1) != 1:
        message = "the Trainer recomputes each layer by itself"
        yield Obstacle("memory", "recompute.layers", message, "leave `layers` out")
    if written(plan, "offload.activations") and backend != DEEPSPEED:
        yield Obstacle("memory", "offload.activations", "the file does not say offloaded activations", "remove it")


def _optimizer_obstacles(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "optimizer")
    if kind is None or optimizer_by_deepspeed(plan):
        return
    optimizer = OPTIMIZERS.get(kind)
    if optimizer is None:
        if plan.is_written("optimizer"):
            yield Obstacle("course", "optimizer", f"the Trainer has no `{kind}` optimizer", "use adamw, lion or sgd")
        return
    for name in ("betas", "epsilon", "momentum"):
        if written(plan, f"optimizer.{name}") is not None and name not in optimizer.takes:
            message = f"the Trainer hands no `{name}` to `{kind}`"
            yield Obstacle("course", f"optimizer.{name}", message, "remove it")


def _schedule_obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    duration = written(plan, "train.duration")
    steps = None if duration is None or duration.dimension == EPOCHS else steps_of(plan, facts, "train.duration")
    if isinstance(steps, Length):
        yield Obstacle("course", "train.duration", steps.message, steps.help)
    kind = course(plan)
    if kind is None:
        return
    warmup = warmup_of(plan, facts)
    if isinstance(warmup, Length) and not isinstance(steps, Length):
        yield Obstacle("course", warmup.path, warmup.message, warmup.help)
    if kind == "wsd":
        message = "the plan does not say how long a `wsd` schedule decays"
        yield Obstacle("course", "schedule", message, "use `constant`, `linear` or `cosine`")
    elif kind == "inverse-sqrt" and warmup == 0:
        message = "the Trainer's `inverse-sqrt` schedule follows from the warmup"
        yield Obstacle("course", "schedule", message, "write `warmup = ... steps`")
    minimum = written(plan, "schedule.minimum")
    if kind in ("constant", "inverse-sqrt") and minimum is not None:
        message = f"the Trainer's `{kind}` schedule has no minimum"
        yield Obstacle("course", "schedule.minimum", message, "remove it")
    elif minimum and is_unset(plan, "optimizer.learning_rate"):
        message = "the schedule has a minimum, and no peak is written"
        yield Obstacle("course", "schedule.minimum", message, "write `optimizer { learning_rate = ... }`")
    if kind in ("linear", "cosine"):
        yield from _end_obstacles(plan, facts, kind)


def _end_obstacles(plan: Plan, facts: Facts, kind: str) -> Iterator[Obstacle]:
    """The Trainer's schedules end with the run, however long that is."""
    total, duration = written(plan, "schedule.total"), written(plan, "train.duration")
    if total is None or total == duration:
        return
    if is_unset(plan, "train.duration"):
        help = "write `train { duration = ... }` instead of `total`"
        yield Obstacle("course", "schedule.total", f"the Trainer's `{kind}` schedule ends with the run", help)
        return
    ends = steps_of(plan, facts, "schedule.total"), steps_of(plan, facts, "train.duration")
    if all(isinstance(end, int) for end in ends) and ends[0] != ends[1]:
        message = f"the schedule ends after {ends[0]} steps, the run after {ends[1]}"
        yield Obstacle(
            "course", "schedule.total", message, "leave `total` out: the Trainer's schedules end with the run"
        )
    elif any(isinstance(end, Length) for end in ends):
        message = f"the Trainer's `{kind}` schedule ends with the run"
        yield Obstacle("course", "schedule.total", message, "leave `total` out")


def _interval_obstacles(plan: Plan) -> Iterator[Obstacle]:
    resumed, saved = written(plan, "resume.directory"), written(plan, "checkpoint.directory")
    is_own = resumed is not None and saved is not None and resumed.rstrip("/") == saved.rstrip("/")
    if is_own and written(plan, "resume.step") is None:
        message = f"the Trainer wants a checkpoint in `{resumed}`, not the folder"
        help = "write `step = ...`, or leave `resume` out and let the program look for the newest"
        yield Obstacle("course", "resume.directory", message, help)
    every = written(plan, "checkpoint.every")
    if every is not None and every.dimension != STEPS:
        message = "the Trainer saves by steps, not by time"
        yield Obstacle("course", "checkpoint.every", message, "write `every = ... steps`")
    if written(plan, "checkpoint.async"):
        yield Obstacle("course", "checkpoint.async", "the Trainer waits for its checkpoints", "remove it")


def warmup_of(plan: Plan, facts: Facts) -> int | float | Length | None:
    """Steps of the warmup; a share below 1 where the end of the schedule is counted in epochs that nobody knows."""
    steps = steps_of(plan, facts, "schedule.warmup")
    warmup = written(plan, "schedule.warmup")
    if isinstance(steps, Length) and warmup is not None and warmup.dimension == PLAIN and warmup.value < 1:
        return float(warmup.value)
    return steps
