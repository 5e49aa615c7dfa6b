"""accelerate: YAML files for DDP, FSDP2 and DeepSpeed, for FSDP1 where it is asked for, and the script that takes one.

A file is written where it can say the plan, and not at all where it would say something else: DDP has stage 0 alone,
FSDP2 stages 2 and 3; the DeepSpeed file has no tensor ranks and shares over all replicas. `accelerate.sh` uses the one
that `chosen_backend` names, unless the option `backend` or, at the time of the run, the variable `PLANC_BACKEND` says
otherwise. torchrun does not read these files: accelerate hands them on through the environment.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.families import nearest_family
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets._accelerate_config import config, layer_class
from planc.targets._accelerate_launch import accelerate_values, chosen_backend
from planc.targets._accelerate_obstacles import DDP, DEEPSPEED, FSDP1, FSDP2, obstacles
from planc.targets._data import yaml_text
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._launch import check_launch, choice_of, is_unset, launch_values, option, written
from planc.targets._left import check_left
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

_EMIT = 'emit = [accelerate]  launch { script = "train.py" }'
_VERSIONS = "accelerate 1.15.0."
_SOURCE = "accelerate/commands/launch.py, utils/launch.py and parallelism_config.py."

LAYOUT = fault(
    "PLN941",
    "layout-without-accelerate",
    "The plan lays out its ranks in a way that no accelerate file can say.",
    why="accelerate splits the world into replicas, shards, tensor ranks and context ranks. It ignores keys "
    "that it does not know inside a section, so an axis that it lacks would simply not be there. DDP and FSDP1 "
    "have no axes of the model, and DeepSpeed splits sequences alone.",
    example=example(f"parallel {{ pipeline = 2 }}  shard {{ stage = 1 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 1 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source=_SOURCE,
    versions=_VERSIONS,
)

SHARDING = fault(
    "PLN942",
    "sharding-without-accelerate",
    "The plan shares, offloads or recomputes in a way that the accelerate file cannot say.",
    why="the file would be accepted and the run would do something else: DDP shares and offloads nothing, FSDP shares "
    "gradients with the optimizer states and offloads both or neither, and accelerate passes on neither buckets "
    "nor secondary shards nor an NVMe folder.",
    example=example('shard { stage = 1 }  emit = [accelerate { backend = fsdp2 }]  launch { script = "train.py" }'),
    instead=example('shard { stage = 2 }  emit = [accelerate { backend = fsdp2 }]  launch { script = "train.py" }'),
    fix="use what the help names, leave the backend to planc, or emit `deepspeed`.",
    source=_SOURCE,
    versions=_VERSIONS,
)

PRECISION = fault(
    "PLN943",
    "precision-without-accelerate",
    "The plan names dtypes that no accelerate file can say.",
    why="`mixed_precision` is one word: accelerate computes in it, reduces in it too unless DDP reduces the gradients "
    "of fp32 weights, keeps fp32 masters, and scales the loss of fp16 dynamically.",
    example=example(f"shard {{ stage = 3 }}  {_EMIT}", precision="bf16 { gradients = fp32 }"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="use what the help names, or set the policy in the program and leave the field out.",
    source="accelerate/utils/dataclasses.py, FullyShardedDataParallelPlugin.set_mixed_precision.",
    versions=_VERSIONS,
)

LAYER_CLASS = fault(
    "PLN944",
    "unknown-layer-class",
    "FSDP is not told which class is the model's repeated layer.",
    why="without it a model that is not from transformers becomes one unit: all its weights are gathered at "
    "once, and nothing is left to overlap. Models from transformers name the class themselves.",
    example=example(f"shard {{ stage = 3 }}  {_EMIT}").replace('  family = "llama"', ""),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix='write `family` in the model, or `emit = [accelerate { layer_class = "Block" }]` for a class of your own.',
    source="accelerate/utils/dataclasses.py, set_auto_wrap_policy.",
    versions=_VERSIONS,
    severity=Severity.WARNING,
)

LEFT = fault(
    "PLN945",
    "left-to-accelerate-program",
    "Some written fields have no place in accelerate's files; the program has to follow them.",
    why="with accelerate the program makes the optimizer, the schedule and the data loader. The plan still "
    "checks and counts with these fields; nothing makes the program obey them.",
    example=example(f"shard {{ stage = 3 }}  optimizer {{ learning_rate = 1e-4 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="nothing, if the program does as the plan says; the note lists the fields.",
    source=_SOURCE,
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_OWN_CLASS = 'write `accelerate { layer_class = "..." }`, the name of the class, if the model does not name it'
_KINDS = {"layout": LAYOUT, "sharding": SHARDING, "precision": PRECISION}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What accelerate cannot do for the plan: what keeps the file that the script would use from being written."""
    backend = chosen_backend(plan)
    found = obstacles(plan, backend)
    for obstacle in found:
        yield _KINDS[obstacle.kind].at(plan[obstacle.path].span, obstacle.message, help=(obstacle.help,))
    choice = choice_of(plan, "accelerate")
    if choice is not None and not found and backend in (FSDP1, FSDP2) and layer_class(plan) is None:
        yield from _check_family(plan)
    yield from check_launch(plan, "accelerate")
    yield from check_left(plan, "accelerate", LEFT, _said(plan, backend))


def _check_family(plan: Plan) -> Iterator[Diagnostic]:
    """What is to be said of a plan without a class: no family, or one of which no class is known."""
    family, message = written(plan, "model.family"), "the class of the repeated layer is not known"
    if family is not None:
        near = nearest_family(family)
        help = f'write `family = "{near}"`, or `accelerate {{ layer_class = "..." }}`' if near else _OWN_CLASS
        label = f"did you mean `{near}`?" if near else "unknown `family`"
        found = LAYER_CLASS.at(plan["model.family"].span, message, label, help=(help,))
        # A later family of transformers names its class itself: only what looks like a slip is worth a warning.
        is_slip = near is not None and not family.startswith(near)
        yield found if is_slip else found._replace(severity=Severity.INFO)
    elif is_unset(plan, "model.family"):
        help = 'write `family = "llama"` or the like in the model'
        yield LAYER_CLASS.at(plan["model"].span, message, "no `family`", help=(help,))


def _said(plan: Plan, backend: str) -> set[str]:
    """Paths of the fields that the files and the script say, or that have a fault of their own where they cannot."""
    said = {
        "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.data",
        "parallel.expert", "context", "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket",
        "batch.global", "batch.accumulation", "precision", "precision.gradients", "precision.master",
        "precision.loss_scale", "offload.optimizer", "offload.weights", "offload.activations", "offload.path",
    }  # fmt: skip
    if backend in (FSDP1, FSDP2):
        said.update(("recompute", "recompute.layers"))
    said.add("optimizer.clip" if backend == DEEPSPEED else "train.compile")
    if backend != DDP and written(plan, "checkpoint.format") in ("sharded", "full"):
        said.add("checkpoint.format")
    return said


def _variants(plan: Plan) -> tuple[str, ...]:
    """The backends whose file can say the plan; FSDP1 only where the plan asks for it, as FSDP2 took its place."""
    asked = option(plan, "accelerate", "backend")
    backends = (FSDP1, FSDP2, DEEPSPEED) if asked == FSDP1 else (DDP, FSDP2, DEEPSPEED)
    return tuple(backend for backend in backends if not obstacles(plan, backend))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`accelerate_BACKEND.yaml` for each backend that can say the plan, and `accelerate.sh`."""
    files = [
        EmittedFile(f"accelerate_{backend}.yaml", yaml_text(config(plan, facts, backend)))
        for backend in _variants(plan)
    ]
    values = launch_values(plan, facts)
    values.update(accelerate_values(plan, values["env"]), job_name=plan.name, flags=())
    return (*files, EmittedFile("accelerate.sh", render("accelerate/accelerate.sh.j2", values), executable=True))


TARGET = Target(
    summary="YAML files for DDP, FSDP1, FSDP2 and DeepSpeed, and accelerate.sh, which calls `accelerate launch`",
    proved="accelerate 1.15.0: launch validation, the plugin objects, and runs on gloo with each file",
    check=check,
    emit=emit,
    engines=("fsdp2", "deepspeed"),
    options=(
        Field(
            "backend",
            Type("word", words=(DDP, FSDP1, FSDP2, DEEPSPEED)),
            None,
            "which file accelerate.sh uses; by default DDP without shards (DeepSpeed where the plan emits `deepspeed`"
            " too), DeepSpeed at stage 1, FSDP2 from stage 2 on, and DeepSpeed where it alone can say the plan",
        ),
        Field(
            "layer_class",
            Type("text"),
            None,
            "class of the model's repeated layer, for FSDP1 and FSDP2; by default known from the model's `family`",
        ),
    ),
    faults=(LAYOUT, SHARDING, PRECISION, LAYER_CLASS, LEFT, *LAUNCH_FAULTS),
    variants=_variants,
    gradients="weights",
    aliases=("ddp", "fsdp", "hf", "huggingface"),
    start=Start(bare=True, node=True),
)
