"""DeepSpeed: `ds_config.json`, the file that `deepspeed.initialize` and the Hugging Face Trainer read.

Batch sizes are numbers, worked out for the plan's world, so that DeepSpeed checks them again when it starts. The one
exception is `trainer = hf`: there `train_batch_size` is `auto`, because the Trainer works it out from its own
arguments and a number that differs by one axis stops the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Fault, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets._data import json_text
from planc.targets._deepspeed_config import ds_config, in_code, saves_whole_weights
from planc.targets._deepspeed_schedule import OPTIMIZERS, course, obstacles
from planc.targets._faults import UNLIKE_NODES, example, fault
from planc.targets._launch import check_nodes, is_unset, option, written
from planc.targets._left import check_left
from planc.targets.target import EmittedFile, Target

_EMIT = "emit = [deepspeed]"
_VERSIONS = "DeepSpeed 0.19.8."

LAYOUT = fault(
    "PLN931",
    "layout-without-deepspeed",
    "The plan lays out its ranks in a way that DeepSpeed does not know.",
    why="DeepSpeed splits sequences by Ulysses only, has no Megatron sequence parallelism, runs pipelines as "
    "1F1B or DualPipe, and splits the world into data and sequence ranks or into data and tensor ranks. "
    "What it cannot do it would not do, without a word: the ranks would hold other pieces than the plan "
    "says.",
    example=example(f"parallel {{ context = 2 }}  context = ring  {_EMIT}"),
    instead=example(f"parallel {{ context = 2 }}  context = ulysses  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="deepspeed/__init__.py, initialize; deepspeed/runtime/pipe/engine.py.",
    versions=_VERSIONS,
)

SHARDING = fault(
    "PLN932",
    "sharding-without-deepspeed",
    "The plan shares or offloads its states in a way that DeepSpeed does not know.",
    why="ZeRO shares over all data-parallel ranks since MiCS was removed in 0.19.7; weights are offloaded, "
    "and kept in a secondary shard, at stage 3 only; NVMe works at stage 3 only. DeepSpeed accepts most "
    "of these settings at other stages and ignores them, so memory would not be what the plan says.",
    example=example(f"shard {{ stage = 2 }}  offload {{ weights = cpu }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 3 }}  offload {{ weights = cpu }}  {_EMIT}"),
    fix="use the stage that the help names, or leave the setting out.",
    source="deepspeed/runtime/zero/config.py and offload_config.py; the removed keys in deepspeed/runtime/config.py.",
    versions=_VERSIONS,
)

PRECISION = fault(
    "PLN933",
    "precision-without-deepspeed",
    "The plan names dtypes that DeepSpeed does not combine.",
    why="DeepSpeed trains in bf16, fp16 or fp32. Gradients are kept in that dtype or, from stage 1 on, in "
    "fp32; master weights in fp32 or, under conditions, in the dtype of training. Anything else stops it, "
    "or is ignored.",
    example=example(f"shard {{ stage = 0 }}  {_EMIT}", precision="bf16 { gradients = fp32 }"),
    instead=example(f"shard {{ stage = 1 }}  {_EMIT}", precision="bf16 { gradients = fp32 }"),
    fix="use what the help names, or emit another trainer.",
    source="deepspeed/runtime/engine.py, _do_optimizer_sanity_check; base_optimizer.py, _configure_master_weights.",
    versions=_VERSIONS,
)

OPTIMIZER = fault(
    "PLN934",
    "optimizer-without-deepspeed",
    "The plan sets an optimizer, or a field of one, that DeepSpeed does not have.",
    why="with `learning_rate` written, DeepSpeed makes the optimizer. It would not find one of this name, or "
    "would call it with an argument that it does not take, and stop.",
    example=example(f"optimizer = adafactor {{ learning_rate = 1e-3 }}  {_EMIT}"),
    instead=example(f"optimizer = adamw {{ learning_rate = 1e-3 }}  {_EMIT}"),
    fix="use another optimizer or leave the field out; or remove `learning_rate`: then the program makes the "
    "optimizer.",
    source="deepspeed/runtime/engine.py, _configure_basic_optimizer.",
    versions=_VERSIONS,
)

SCHEDULE = fault(
    "PLN935",
    "schedule-without-deepspeed",
    "DeepSpeed cannot follow the plan's learning-rate schedule.",
    why="DeepSpeed has a warmup followed by a constant rate, by a line to zero, or by a cosine, and counts in steps.",
    example=example(
        f"optimizer {{ learning_rate = 1e-4 }}  schedule = wsd {{ warmup = 100 steps  total = 5000 steps }}  {_EMIT}"
    ),
    instead=example(
        f"optimizer {{ learning_rate = 1e-4 }}  schedule = cosine {{ warmup = 100 steps  total = 5000 steps }}  {_EMIT}"
    ),
    fix="use what the help names, or remove the schedule and make it in the program.",
    source="deepspeed/runtime/lr_schedules.py: WarmupLR, WarmupDecayLR, WarmupCosineLR.",
    versions=_VERSIONS,
)

MINUTES = fault(
    "PLN936",
    "uneven-timeout",
    "`launch.timeout` is no whole number of minutes.",
    why="DeepSpeed reads the timeout of collectives from `DEEPSPEED_TIMEOUT`, which counts whole minutes.",
    example=example('emit = [deepspeed, torchrun]  launch { script = "train.py"  timeout = 90 s }'),
    instead=example('emit = [deepspeed, torchrun]  launch { script = "train.py"  timeout = 2 min }'),
    fix="write whole minutes.",
    source="deepspeed/constants.py, default_pg_timeout.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN937",
    "left-to-deepspeed-program",
    "Some written fields have no place in ds_config.json; the program has to follow them.",
    why="DeepSpeed has no training loop: recomputation, pipelines, checkpoints, data and the length of the "
    "run are code that calls it. The plan still checks and counts with these fields; nothing makes the "
    "program obey them.",
    example=example(f"recompute = full  {_EMIT}"),
    instead=example(_EMIT),
    fix="nothing, if the program does as the plan says; the note lists the fields.",
    source="deepspeed/runtime/config.py.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_NEEDS_STAGE_3 = (
    ("offload.weights", "weights are offloaded at stage 3 only"),
    ("shard.secondary_size", "a secondary shard exists at stage 3 only"),
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What DeepSpeed cannot do for the plan."""
    yield from check_nodes(plan, "deepspeed")
    yield from _check_layout(plan)
    yield from _check_sharding(plan, facts)
    yield from _check_precision(plan)
    yield from _check_optimizer(plan)
    for obstacle in obstacles(plan, facts):
        yield SCHEDULE.at(plan[obstacle.path].span, obstacle.message, help=(obstacle.help,))
    timeout = written(plan, "launch.timeout")
    if timeout is not None and timeout % 60 != 0:
        yield MINUTES.at(
            plan["launch.timeout"].span, "the timeout is no whole number of minutes", help=("write `... min`",)
        )
    yield from check_left(plan, "deepspeed", LEFT, _said(plan))


def _check_layout(plan: Plan) -> Iterator[Diagnostic]:
    tensor, context = written(plan, "parallel.tensor") or 1, written(plan, "parallel.context") or 1
    kind = written(plan, "context")
    if 1 < context and kind is not None and kind != "ulysses":
        yield _at(plan, LAYOUT, "context" if plan.is_written("context") else "parallel.context",
                  f"DeepSpeed has no `{kind}` context parallelism", "write `context = ulysses`")  # fmt: skip
    elif 1 < context and (1 < tensor or in_code(plan)):
        other = "parallel.tensor" if 1 < tensor else "parallel.pipeline"
        yield LAYOUT.at(
            plan["parallel.context"].span,
            f"DeepSpeed splits sequences or {'layers' if 1 < tensor else 'stages'}, not both",
            related=(Label(plan[other].span),),
            help=(f"write `context = 1`, or `{other.rpartition('.')[2]} = 1`",),
        )
    if written(plan, "parallel.sequence"):
        yield _at(
            plan, LAYOUT, "parallel.sequence", "DeepSpeed has no sequence parallelism beside tensor ranks", "remove it"
        )
    pipeline = written(plan, "pipeline")
    if in_code(plan) and pipeline in ("interleaved", "zero-bubble"):
        yield _at(plan, LAYOUT, "pipeline", f"DeepSpeed has no `{pipeline}` pipeline", "write `pipeline = 1f1b`")


def _check_sharding(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    stage = written(plan, "shard.stage")
    if stage is None:
        return
    size, data = written(plan, "shard.size"), written(plan, "parallel.data")
    if stage != 0 and size is not None and data is not None and size < data:
        yield _at(plan, SHARDING, "shard.size", f"DeepSpeed shares over all {data} replicas, not over {size}",
                  f"write `size = {data}`, or leave it out")  # fmt: skip
    for path, message in _NEEDS_STAGE_3:
        if written(plan, path) is not None and stage != 3:
            yield _at(plan, SHARDING, path, message, "write `shard { stage = 3 }`")
    optimizer = written(plan, "offload.optimizer")
    if optimizer is not None and stage < (3 if optimizer == "nvme" else 1):
        least = 3 if optimizer == "nvme" else 1
        yield _at(plan, SHARDING, "offload.optimizer", f"optimizer states go to {optimizer} from stage {least} on",
                  f"write `shard {{ stage = {least} }}`")  # fmt: skip
    nvme = [path for path in ("offload.optimizer", "offload.weights") if written(plan, path) == "nvme"]
    if nvme and is_unset(plan, "offload.path"):
        yield _at(plan, SHARDING, nvme[0], "NVMe offload needs a folder", 'write `offload { path = "..." }`')
    if written(plan, "offload.activations") and written(plan, "recompute") == "none":
        yield _at(plan, SHARDING, "offload.activations", "DeepSpeed offloads recomputed activations only",
                  "write `recompute = full`")  # fmt: skip
    elif written(plan, "offload.activations") and option(plan, "deepspeed", "trainer") == "hf":
        yield _at(plan, SHARDING, "offload.activations", "the Trainer recomputes without DeepSpeed's offload of it",
                  "remove it")  # fmt: skip
    bucket = written(plan, "shard.bucket")
    if bucket is not None and stage == 0:
        yield _at(plan, SHARDING, "shard.bucket", "DeepSpeed's bucket size counts from stage 1 on", "remove it")


def _check_precision(plan: Plan) -> Iterator[Diagnostic]:
    precision, stage = written(plan, "precision"), written(plan, "shard.stage")
    if precision in ("fp8", "fp4"):
        yield _at(plan, PRECISION, "precision", f"DeepSpeed does not train in {precision}", "write `precision = bf16`")
        return
    if precision is None or stage is None:
        return
    gradients = written(plan, "precision.gradients")
    if gradients is not None and gradients != precision:
        if gradients != "fp32":
            yield _at(plan, PRECISION, "precision.gradients", f"DeepSpeed keeps no {gradients} gradients here",
                      f"write `gradients = {precision}` or `gradients = fp32`")  # fmt: skip
        elif stage == 0:
            yield _at(plan, PRECISION, "precision.gradients", f"fp32 gradients beside {precision} weights need stage 1",
                      f"write `shard {{ stage = 1 }}`, or `gradients = {precision}`")  # fmt: skip
    yield from _check_master(plan, precision, stage)


def _check_master(plan: Plan, precision: str, stage: int) -> Iterator[Diagnostic]:
    """Master weights and moments in 16 bits, which DeepSpeed has under conditions (base_optimizer.py)."""
    master, states = written(plan, "precision.master"), written(plan, "optimizer.states")
    offloaded = written(plan, "offload.optimizer") == "cpu"
    same = master == precision and 1 <= stage and written(plan, "precision.gradients") in (precision, None)
    allowed = same and (offloaded or (precision == "bf16" and states == "bf16"))
    if master is not None and master != "fp32" and not allowed:
        yield _at(plan, PRECISION, "precision.master", f"DeepSpeed keeps no {master} master weights here",
                  "write `master = fp32`, or `offload { optimizer = cpu }` from stage 1 on")  # fmt: skip
    elif states is not None and states != "fp32" and (states != "bf16" or master != "bf16"):
        yield _at(plan, PRECISION, "optimizer.states", f"DeepSpeed keeps no {states} moments here",
                  "write `states = fp32`")  # fmt: skip


def _check_optimizer(plan: Plan) -> Iterator[Diagnostic]:
    if written(plan, "optimizer.learning_rate") is None:
        return
    kind = written(plan, "optimizer")
    optimizer = OPTIMIZERS.get(kind)
    if optimizer is None:
        if kind is not None:
            yield _at(
                plan, OPTIMIZER, "optimizer", f"DeepSpeed has no `{kind}` optimizer", "use adamw, lion, muon or sgd"
            )
        return
    takes = {path for path, _ in optimizer.params}
    for name in ("betas", "epsilon", "momentum"):
        path = f"optimizer.{name}"
        if written(plan, path) is not None and path not in takes:
            yield _at(plan, OPTIMIZER, path, f"DeepSpeed's `{kind}` takes no `{name}`", "remove it")


def _said(plan: Plan) -> set[str]:
    """Paths of the fields that ds_config.json says, or that have a fault of their own where it cannot."""
    said = {
        "shard", "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket", "batch.global", "batch.micro",
        "batch.accumulation", "precision", "precision.gradients", "precision.master", "precision.loss_scale",
        "parallel.context", "parallel.sequence", "parallel.data", "context", "offload.optimizer", "offload.weights",
        "offload.activations", "offload.path", "optimizer.clip", "optimizer.states", "log.every", "dataset.drop_last",
    }  # fmt: skip
    if not in_code(plan):
        said.add("parallel.tensor")
        said.add("parallel.pipeline")
    if written(plan, "optimizer.learning_rate") is not None:
        said.update({"optimizer"}, (f"optimizer.{name}" for name in plan["optimizer"].value))
    if saves_whole_weights(plan):
        said.add("checkpoint.format")
    if course(plan) is not None:
        said.update(("schedule", "schedule.warmup", "schedule.total", "schedule.minimum"))
        if not plan.is_written("schedule.total"):
            said.add("train.duration")
    return said


def _at(plan: Plan, kind: Fault, path: str, message: str, help: str) -> Diagnostic:
    return kind.at(plan[path].span, message, help=(help,))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`ds_config.json`."""
    return (EmittedFile("ds_config.json", json_text(ds_config(plan, facts))),)


TARGET = Target(
    summary="ds_config.json: ZeRO, precision, batch sizes, optimizer and schedule for DeepSpeed",
    proved="DeepSpeed 0.19.8: DeepSpeedConfig on a world of the plan's size, and ZeRO 1 and 3 on gloo",
    check=check,
    emit=emit,
    engines=("deepspeed",),
    options=(
        Field(
            "trainer",
            Type("word", words=("deepspeed", "hf")),
            "deepspeed",
            "who reads the file: `deepspeed.initialize`, or the Hugging Face Trainer, which fills in what is `auto`",
        ),
        Field(
            "config_flag",
            Type("list", item=Type("text")),
            None,
            "words that torchrun.sh and job.sbatch put before the path of ds_config.json among the program's arguments;"
            ' by default `["--deepspeed"]` for `trainer = hf`, else none, as the program may not know the flag'
            ' (`deepspeed.add_config_arguments` makes a parser for `["--deepspeed", "--deepspeed_config"]`)',
        ),
    ),
    faults=(LAYOUT, SHARDING, PRECISION, OPTIMIZER, SCHEDULE, MINUTES, LEFT, UNLIKE_NODES),
    gradients="weights",
    aliases=("ds", "zero"),
    timeout=True,
)
