"""What keeps a plan from being said in `lightning_trainer.py`: layouts, states and courses that Lightning lacks.

Read from Lightning 2.6.6 (lightning/pytorch/strategies/, plugins/precision/, trainer/connectors/). What DeepSpeed or
`parallelize.py` cannot do is for the targets `deepspeed` and `fsdp2` to say, which are emitted beside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES, nearest_family
from planc.plan.model import Plan
from planc.plan.units import EPOCHS
from planc.targets._deepspeed_schedule import Obstacle as Length
from planc.targets._deepspeed_schedule import steps_of
from planc.targets._launch import is_unset, option, written

DDP, FSDP, FSDP2, DEEPSPEED = "ddp", "fsdp", "fsdp2", "deepspeed"

#: How each strategy saves, by the words of `checkpoint.format`.
_FORMATS = {
    DDP: ("full",), FSDP: ("full", "sharded"), FSDP2: ("full", "sharded"), DEEPSPEED: ("sharded", "universal"),
}  # fmt: skip


class Obstacle(NamedTuple):
    """Why the file cannot say the plan: the field to blame, what is wrong, and what would work."""

    path: str
    message: str
    help: str


def backend_of(plan: Plan) -> str:
    """Who shares the states: the option `backend`, else FSDP2 over tensor ranks, and then by the stage."""
    chosen = option(plan, "lightning", "backend")
    if chosen is not None:
        return str(chosen)
    if 1 < (written(plan, "parallel.tensor") or 1):
        return FSDP2
    return {0: DDP, 1: DEEPSPEED}.get(written(plan, "shard.stage"), FSDP)


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps the plan from being said in the file; a faulty field is no obstacle."""
    backend = backend_of(plan)
    yield from _layout_obstacles(plan, backend)
    yield from _companion_obstacles(plan, backend)
    if backend in (DDP, FSDP):
        yield from _shard_obstacles(plan, backend)
        yield from _memory_obstacles(plan, backend)
        yield from _precision_obstacles(plan, backend)
    if backend == FSDP:
        yield from _layer_obstacles(plan)
    yield from _course_obstacles(plan, facts, backend)


def _layout_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    for name, what in (
        ("pipeline", "pipelines"), ("context", "context ranks"), ("expert", "expert ranks"),
        ("expert_tensor", "ranks that split an expert"),
    ):  # fmt: skip
        if 1 < (written(plan, f"parallel.{name}") or 1):
            help = f"write `{name} = 1`, or emit another trainer"
            yield Obstacle(f"parallel.{name}", f"no strategy of Lightning has {what}", help)
    if backend == FSDP2:
        return
    if 1 < (written(plan, "parallel.tensor") or 1):
        message = f"Lightning hands tensor ranks unlike samples with {backend}"
        yield Obstacle("parallel.tensor", message, "write `backend = fsdp2`, or `tensor = 1`")
    if written(plan, "parallel.sequence"):
        message = f"Lightning has no sequence parallelism with {backend}"
        yield Obstacle("parallel.sequence", message, "remove it")


def _companion_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    """Targets that have to be emitted beside, and launchers that do not tell Lightning what it asks."""
    if backend == FSDP2 and not plan.emits("fsdp2"):
        yield Obstacle("emit", "`parallelize.py`, which lays out the model, is not emitted", "emit `fsdp2` too")
    if backend == FSDP2 and written(plan, "precision") == "fp16":
        message = "Lightning scales no fp16 loss with FSDP2"
        yield Obstacle("precision", message, "write `precision = bf16`, or `backend = fsdp`")
    if backend == DEEPSPEED and not plan.emits("deepspeed"):
        yield Obstacle("emit", "DeepSpeed shares, and `deepspeed` is not emitted", "emit `deepspeed` too")
    elif backend == DEEPSPEED and option(plan, "deepspeed", "trainer") == "hf":
        yield Obstacle("emit", "Lightning fills in no `auto` of `trainer = hf`", "emit plain `deepspeed`")
    nodes = written(plan, "cluster.nodes")
    if nodes is not None and 1 < nodes and option(plan, "deepspeed-launcher", "ssh"):
        message = f"over ssh deepspeed tells Lightning none of {nodes} node ranks"
        yield Obstacle("emit", message, "write `ssh = false`, or emit `torchrun`")


def _shard_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if backend == FSDP and stage in (0, 1):
        help = "write `stage = 2` or `stage = 3`, or leave the backend to planc"
        yield Obstacle("shard.stage", f"FSDP has no stage {stage}: it shares gradients too", help)
    elif backend == FSDP and size == 1 and data is not None and 1 < data:
        yield Obstacle("shard.size", "FSDP over one rank shares nothing", "leave `size` out")
    for path in ("shard.bucket", "shard.secondary_size"):
        if written(plan, path) is not None:
            name = path.partition(".")[2]
            help = "remove it, or write `backend = deepspeed`"
            yield Obstacle(path, f"Lightning takes `{name}` for DeepSpeed only", help)


def _memory_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    optimizer, weights = written(plan, "offload.optimizer"), written(plan, "offload.weights")
    path = "offload.weights" if optimizer is None else "offload.optimizer"
    faulty = any(written(plan, name) is None and not is_unset(plan, name) for name in (path, "offload.weights"))
    if "nvme" in (optimizer, weights):
        path = "offload.optimizer" if optimizer == "nvme" else "offload.weights"
        yield Obstacle(path, "Lightning offloads to NVMe with DeepSpeed only", f"write `{path[8:]} = cpu`")
    elif backend == DDP and (optimizer or weights):
        yield Obstacle(path, "without shards Lightning offloads nothing", "write `shard { stage = 3 }`")
    elif (optimizer is None) != (weights is None) and not faulty:
        help = "write `offload { optimizer = cpu  weights = cpu }`"
        yield Obstacle(path, "FSDP offloads weights and optimizer states together", help)
    passes = written(plan, "batch.accumulation")
    if backend == FSDP and optimizer == weights == "cpu" and passes is not None and 1 < passes:
        message = f"FSDP adds up no gradients of {passes} micro batches on the host"
        yield Obstacle("offload.weights", message, "write `backend = fsdp2`, or `accumulation = 1`")
    if written(plan, "offload.activations"):
        yield Obstacle("offload.activations", f"Lightning offloads no activations with {backend}", "remove it")


def _precision_obstacles(plan: Plan, backend: str) -> Iterator[Obstacle]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("fp8", "fp4"):
        yield Obstacle("precision", f"planc writes no {precision} for Lightning", "write `precision = bf16`")
        return
    if backend == DDP and plan.is_written("precision.gradients") and gradients not in (None, "fp32"):
        message = "Lightning's DDP reduces the gradients of fp32 weights in fp32"
        yield Obstacle("precision.gradients", message, "write `gradients = fp32`")
    elif gradients == "fp8":
        yield Obstacle("precision.gradients", "FSDP reduces no fp8 gradients", "write `gradients = bf16`")
    for path, what in (("precision.master", "master weights"), ("optimizer.states", "moments")):
        dtype = written(plan, path)
        if dtype not in (None, "fp32"):
            help = f"write `{path.partition('.')[2]} = fp32`"
            yield Obstacle(path, f"the file says fp32 {what}, not {dtype}", help)
    if written(plan, "precision.loss_scale") not in (None, "dynamic"):
        yield Obstacle("precision.loss_scale", "Lightning scales the loss dynamically", "write `loss_scale = auto`")


def _layer_obstacles(plan: Plan) -> Iterator[Obstacle]:
    """What FSDP shards, and what is computed again, is each layer by itself."""
    recompute, layers = written(plan, "recompute"), written(plan, "recompute.layers")
    family = written(plan, "model.family")
    if recompute == "selective":
        message = "Lightning recomputes whole layers or nothing"
        yield Obstacle("recompute", message, "write `recompute = full`, or `backend = fsdp2`")
    elif written(plan, "recompute.method") == "block" or (layers is not None and layers != 1):
        path = "recompute.method" if layers is None else "recompute.layers"
        message = "Lightning recomputes each layer by itself, and all of them"
        yield Obstacle(path, message, "leave `method` and `layers` out")
    known = family in LAYER_CLASSES or bool(option(plan, "lightning", "layer"))
    faulty = any(written(plan, path) is None and not is_unset(plan, path) for path in ("model", "model.family"))
    if not known and not faulty:
        near = None if family is None else nearest_family(family)
        named = "a `family`" if near is None else f'`family = "{near}"`'
        help = f'write `lightning {{ layer = "..." }}`, the name of the class, or {named}'
        yield Obstacle("model", "nothing says which class the model's layers are", help)


def _course_obstacles(plan: Plan, facts: Facts, backend: str) -> Iterator[Obstacle]:
    duration = written(plan, "train.duration")
    if duration is not None and duration.dimension == EPOCHS:
        if duration.value % 1:
            message = f"Lightning counts whole epochs, not {float(duration.value):g}"
            yield Obstacle("train.duration", message, "write whole epochs, or steps")
    elif duration is not None:
        steps = steps_of(plan, facts, "train.duration")
        if isinstance(steps, Length):
            yield Obstacle("train.duration", steps.message, steps.help)
    if not is_unset(plan, "batch.ramp"):
        yield Obstacle("batch.ramp", "Lightning's batch does not grow", "remove it")
    if written(plan, "checkpoint.async"):
        yield Obstacle("checkpoint.async", "Lightning waits for its checkpoints", "remove it")
    form = written(plan, "checkpoint.format")
    if form is not None and form not in _FORMATS[backend]:
        words = " or ".join(f"`{word}`" for word in _FORMATS[backend])
        yield Obstacle("checkpoint.format", f"Lightning saves no {form} checkpoint with {backend}", f"write {words}")
