"""What keeps a plan from being said to torchtitan; a faulty field is no obstacle.

Reasons are in torchtitan 0.3.0 (distributed/, components/, trainer.py) and 0.2.2 (config/job_config.py, distributed/).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import STEPS, Amount
from planc.targets._deepspeed_schedule import Obstacle as ScheduleObstacle
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import bare_starter, is_unset, starting_path, written
from planc.targets._torchtitan_models import TOML, Trained, form, trained
from planc.targets._torchtitan_pipeline import SCHEDULES, chunk_layers, slots, virtual_stages
from planc.targets._torchtitan_settings import resumed

#: Scaling recipes of fp8 that torchtitan 0.2 makes of torchao, and the format that follows.
_RECIPES = {"tensorwise": "hybrid", "rowwise": "e4m3", "mxfp8": "e4m3"}

_REMOTE = "://"


class Obstacle(NamedTuple):
    """Why torchtitan cannot follow: the kind of fault, the field to blame, what is wrong, and what would work."""

    kind: str
    path: str
    message: str
    help: str


def obstacles(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    """What keeps torchtitan from following the plan."""
    yield from _sharding(plan)
    yield from _axes(plan)
    yield from _experts(plan)
    if 1 < _size(plan, "parallel.pipeline"):
        yield from _pipeline(plan)
    yield from _memory(plan)
    yield from _precision(plan)
    yield from _optimizer(plan)
    yield from _schedule(plan, facts)
    yield from _run(plan, facts)
    yield from _checkpoint(plan)
    starter = bare_starter(plan)
    if starter is not None:
        message = f"`{starter}` starts the program without torchtitan's settings"
        yield Obstacle("run", starting_path(plan), message, f"call torchtitan.sh, and leave `{starter}` out")


def _sharding(plan: Plan) -> Iterator[Obstacle]:
    stage, size, context = written(plan, "shard.stage"), written(plan, "shard.size"), _size(plan, "parallel.context")
    if stage == 1:
        yield Obstacle("layout", "shard.stage", "torchtitan has no stage 1: it shares gradients too",
                       "write `stage = 2` or `stage = 3`")  # fmt: skip
    elif stage == 0 and 1 < context:
        yield Obstacle("layout", "shard.stage", f"torchtitan shares weights over the {context} context ranks",
                       "write `stage = 2` or `stage = 3`")  # fmt: skip
    elif form(plan) == TOML and stage is not None and (stage == 0 or size == 1) and context == 1:
        yield from (
            Obstacle("layout", path, "torchtitan 0.2 splits nothing more where it shares nothing",
                     "share over two ranks at least, or write `config = flags`")
            for path in ("parallel.tensor", "parallel.pipeline", "parallel.expert") if 1 < _size(plan, path)
        )  # fmt: skip
    for path in ("shard.bucket", "shard.secondary_size"):
        if written(plan, path) is not None:
            name = path.partition(".")[2]
            yield Obstacle("layout", path, f"torchtitan has no `{name}`", "remove it")


def _axes(plan: Plan) -> Iterator[Obstacle]:
    toml, tensor, context = form(plan) == TOML, _size(plan, "parallel.tensor"), _size(plan, "parallel.context")
    if toml and 1 < tensor and written(plan, "parallel.sequence") is False:
        yield Obstacle("layout", "parallel.tensor", "torchtitan 0.2 has no tensor ranks without sequence parallelism",
                       "write `parallel { sequence = true }`")  # fmt: skip
    if context == 1:
        return
    kind, known = written(plan, "context"), ("ring", "all-gather") if toml else ("all-gather",)
    if kind is not None and kind not in known:
        version = "0.2" if toml else "0.3"
        path = "context" if plan.is_written("context") else "parallel.context"
        yield Obstacle("layout", path, f"torchtitan {version} has no `{kind}` context parallelism",
                       f"write `context = {known[-1]}`")  # fmt: skip
    model = trained(plan)
    if not toml and isinstance(model, Trained) and model.module == "gpt_oss":
        yield Obstacle("layout", "parallel.context", "gpt_oss in torchtitan 0.3 has no context parallelism",
                       "write `context = 1`")  # fmt: skip


def _experts(plan: Plan) -> Iterator[Obstacle]:
    toml, tensor, expert = form(plan) == TOML, _size(plan, "parallel.tensor"), _size(plan, "parallel.expert")
    if written(plan, "model.experts.count") is not None:
        width = _size(plan, "parallel.expert_tensor")
        allowed = (tensor,) if expert == 1 else (1, tensor) if toml else (1,)
        if width not in allowed:
            path = "parallel.expert_tensor" if plan.is_written("parallel.expert_tensor") else "parallel.tensor"
            yield Obstacle("layout", path, f"torchtitan splits an expert over {allowed[-1]} ranks here, not {width}",
                           f"write `expert_tensor = {allowed[-1]}`")  # fmt: skip
    if written(plan, "expert.capacity_factor") is not None:
        yield Obstacle("layout", "expert.capacity_factor", "torchtitan drops no tokens", "remove it")
    dispatch = written(plan, "expert.dispatch")
    if dispatch not in (None, "all-to-all") and not (toml and dispatch == "deepep"):
        yield Obstacle("layout", "expert.dispatch", f"torchtitan's configuration has no `{dispatch}` dispatch",
                       "write `dispatch = all-to-all`")  # fmt: skip


def _pipeline(plan: Plan) -> Iterator[Obstacle]:
    kind, stages = written(plan, "pipeline"), _size(plan, "parallel.pipeline")
    if kind is not None and kind not in SCHEDULES:
        why = "of one stage a rank" if kind == "zero-bubble" else "with its ends on two ranks"
        yield Obstacle("layout", "pipeline", f"torchtitan has no `{kind}` pipeline {why}",
                       "write `pipeline = 1f1b` or `pipeline = interleaved`")  # fmt: skip
        return
    for name in ("group", "layout"):
        path = f"pipeline.{name}"
        if plan.find(path) is not None and written(plan, path) is not None:
            yield Obstacle("layout", path, f"torchtitan has no `{name}` of a pipeline", "remove it")
    if kind != "interleaved" or written(plan, "pipeline.layers") is not None:
        return
    for name in ("first_stage_layers", "last_stage_layers"):
        if written(plan, f"pipeline.{name}") is not None:
            yield Obstacle("layout", f"pipeline.{name}", "stages of several chunks have no layers of their own",
                           "write the layers of every chunk: `pipeline { layers = [...] }`")  # fmt: skip
    chunks = written(plan, "pipeline.chunks")
    if chunks == 1:
        yield Obstacle("layout", "pipeline.chunks", "an interleaved pipeline has two chunks a rank at least",
                       "write `pipeline = 1f1b`")  # fmt: skip
    elif chunks is not None and written(plan, "model.layers") is not None:
        count, longest = virtual_stages(plan), chunk_layers(plan)
        if longest is not None and -(-slots(plan) // longest) != count:
            made = -(-slots(plan) // longest)
            message = f"torchtitan makes {made} chunks of {slots(plan)} layers, not {count}"
            yield Obstacle("layout", "pipeline.chunks", message,
                           f"state {stages} x {chunks} numbers: `pipeline {{ layers = [...] }}`")  # fmt: skip


def _memory(plan: Plan) -> Iterator[Obstacle]:
    offloaded = {path: written(plan, path) for path in ("offload.optimizer", "offload.weights")}
    stage = written(plan, "shard.stage")
    for path, device in offloaded.items():
        if device == "nvme":
            yield Obstacle("layout", path, "torchtitan offloads to the host alone", "write `cpu`")
            return
        if device == "cpu" and None in offloaded.values():
            yield Obstacle("layout", path, "torchtitan offloads weights and optimizer states together",
                           "write `offload { optimizer = cpu  weights = cpu }`")  # fmt: skip
        elif device == "cpu" and stage == 0:
            yield Obstacle("layout", path, "torchtitan offloads shared states alone", "write `shard { stage = 3 }`")
            return
    if written(plan, "offload.activations"):
        yield Obstacle("layout", "offload.activations", "torchtitan offloads no activations", "remove it")
    kind = written(plan, "recompute")
    if kind == "selective" and written(plan, "recompute.modules") is not None:
        yield Obstacle("layout", "recompute.modules", "torchtitan chooses operators, not modules", "remove it")
    elif kind == "full" and (written(plan, "recompute.layers") or 1) != 1:
        yield Obstacle("layout", "recompute.layers", "torchtitan recomputes each layer by itself", "remove it")
    elif kind == "full" and written(plan, "recompute.method") == "block":
        yield Obstacle("layout", "recompute.method", "torchtitan recomputes all layers or none", "remove it")


def _precision(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "precision")
    if kind in ("fp16", "fp4"):
        yield Obstacle("precision", "precision", f"torchtitan does not train in {kind}", "write `precision = bf16`")
        return
    for name in ("gradients", "master"):
        dtype = written(plan, f"precision.{name}")
        if dtype not in (None, "fp32"):
            what = "reduces gradients" if name == "gradients" else "keeps master weights"
            yield Obstacle("precision", f"precision.{name}", f"torchtitan {what} in fp32, not {dtype}",
                           f"write `{name} = fp32`")  # fmt: skip
    states = written(plan, "optimizer.states")
    known = ("fp32",) if form(plan) == TOML else ("fp32", "bf16")
    if states is not None and states not in known:
        yield Obstacle("precision", "optimizer.states", f"torchtitan keeps no {states} moments here",
                       "write `states = fp32`")  # fmt: skip
    if kind == "fp8":
        yield from _fp8(plan)


def _fp8(plan: Plan) -> Iterator[Obstacle]:
    scaling, weights = written(plan, "precision.recipe"), written(plan, "precision.weights")
    toml = form(plan) == TOML
    model = trained(plan)
    if not toml and isinstance(model, Trained) and model.known is None:
        return  # the configuration of one's own scales as it does
    if scaling not in _RECIPES:
        what = "an unwritten" if scaling is None else f"the `{scaling}`"
        yield Obstacle("precision", "precision", f"torchtitan knows nothing of {what} recipe",
                       "write `recipe = rowwise`, `tensorwise` or `mxfp8`")  # fmt: skip
        return
    if weights == "fp8" and (not toml or scaling != "tensorwise"):
        yield Obstacle("precision", "precision.weights", "torchtitan gathers weights in bf16 here",
                       "write `weights = bf16`")  # fmt: skip
    if written(plan, "precision.format") not in (None, _RECIPES[scaling]):
        yield Obstacle("precision", "precision.format", f"torchtitan's `{scaling}` recipe has its own format",
                       f"write `format = {_RECIPES[scaling]}`")  # fmt: skip


def _optimizer(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "optimizer")
    if kind not in (None, "adamw"):
        yield Obstacle("run", "optimizer", f"torchtitan's configuration has no `{kind}` optimizer", "use `adamw`")
    elif written(plan, "optimizer.momentum") is not None:
        yield Obstacle("run", "optimizer.momentum", "torchtitan's AdamW takes no momentum", "remove it")


def _schedule(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    kind = course(plan)
    if kind is None:
        return
    if kind in ("wsd", "inverse-sqrt"):
        why = "the length of its decay" if kind == "wsd" else "that course"
        yield Obstacle("run", "schedule", f"torchtitan is not told {why} by `{kind}`",
                       "use `constant`, `linear` or `cosine`")  # fmt: skip
        return
    warmup, total = (steps_of(plan, facts, f"schedule.{name}") for name in ("warmup", "total"))
    for length in dict.fromkeys((warmup, total)):
        if isinstance(length, ScheduleObstacle):
            yield Obstacle("run", *length)
    if kind != "constant" and is_unset(plan, "schedule.total"):
        yield Obstacle("run", "schedule", f"the `{kind}` schedule has no end", "write `train { duration = ... }`")
    if written(plan, "schedule.minimum") is None:
        return
    if kind == "constant":
        yield Obstacle("run", "schedule.minimum", "a constant schedule has no minimum", "remove it")
    elif not written(plan, "optimizer.learning_rate"):
        yield Obstacle("run", "schedule.minimum", "torchtitan takes the minimum as a share of the peak",
                       "write `optimizer { learning_rate = ... }`")  # fmt: skip


def _run(plan: Plan, facts: Facts) -> Iterator[Obstacle]:
    length = steps_of(plan, facts, "train.duration")
    if isinstance(length, ScheduleObstacle) and not plan.is_written("schedule"):
        yield Obstacle("run", *length)
    if is_set(plan, "batch.ramp"):
        yield Obstacle("run", "batch.ramp", "torchtitan's batch does not grow", "remove it")
    if is_set(plan, "adapter"):
        yield Obstacle("run", "adapter", "torchtitan's configuration has no adapter", "remove it")
    for path in ("log.every", "checkpoint.every", "profile.start", "profile.length"):
        value = written(plan, path)
        if isinstance(value, Amount) and value.dimension != STEPS:
            yield Obstacle("run", path, f"torchtitan counts `{path}` in steps", "write steps")


def _checkpoint(plan: Plan) -> Iterator[Obstacle]:
    kind = written(plan, "checkpoint.format")
    if kind not in (None, "sharded", "universal"):  # the last is PLN808's
        yield Obstacle("run", "checkpoint.format", f"torchtitan saves shards, no `{kind}` checkpoint",
                       "write `format = sharded`")  # fmt: skip
    if not is_set(plan, "resume"):
        return
    directory, step = resumed(plan)
    if directory is not None and not directory.startswith("/") and _REMOTE not in directory:
        yield Obstacle("run", "resume.directory", "torchtitan begins with a checkpoint of an absolute path alone",
                       "write the whole path")  # fmt: skip
    elif directory is None and step is not None and not is_set(plan, "checkpoint"):
        yield Obstacle("run", "resume.step", "the step of a checkpoint in no folder",
                       'write `resume { directory = "..." }`')  # fmt: skip


def is_set(plan: Plan, path: str) -> bool:
    """Whether a section is there, faulty or not."""
    return not is_unset(plan, path)


def _size(plan: Plan, path: str) -> int:
    """A number of ranks; 1 where it is faulty."""
    value: Any = written(plan, path)
    return 1 if value is None or isinstance(value, Unknown) else int(value)
