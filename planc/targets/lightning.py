"""lightning: `lightning_trainer.py`, a module that a training script imports to get the plan's Trainer of Lightning.

Without shards the strategy is DDP, at stages 2 and 3 FSDP, and DeepSpeed at stage 1. Over tensor ranks it is
ModelParallelStrategy, and `parallelize.py` of the target `fsdp2` lays the model out; with DeepSpeed, what the target
`deepspeed` writes stands in the module, but for the accumulation, which Lightning refuses to find there.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import TEXT, Field, Type
from planc.targets._deepspeed_schedule import course
from planc.targets._faults import UNLIKE_NODES, example, fault
from planc.targets._fsdp2_module import makes_optimizer
from planc.targets._launch import check_nodes, choice_of, written
from planc.targets._left import check_left
from planc.targets._lightning_module import module_text
from planc.targets._lightning_obstacles import DDP, DEEPSPEED, FSDP, FSDP2, backend_of, obstacles
from planc.targets.target import EmittedFile, Target

_EMIT = "emit = [lightning]"
_VERSIONS = "Lightning 2.6.6, torch 2.13.0."

BEYOND = fault(
    "PLN997",
    "plan-beyond-lightning",
    "The plan lays out, keeps or saves something in a way that no strategy or argument of Lightning does.",
    why="Lightning would accept the settings that are left and do something else: it gives every rank its own samples, "
    "but for the tensor ranks of ModelParallelStrategy; its FSDP offloads weights and optimizer states together and "
    "recomputes whole layers; its DDP shares nothing.",
    example=example(f"parallel {{ pipeline = 2 }}  shard {{ stage = 3 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="use what the help names, `backend = deepspeed` where DeepSpeed has it, or emit another trainer.",
    source="lightning/pytorch/strategies/*.py, trainer/connectors/accelerator_connector.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN998",
    "left-to-lightning-program",
    "Some written fields have no place in lightning_trainer.py; the program has to follow them.",
    why="the module makes the Trainer: the model, the data and the schedule are the LightningModule's. The plan still "
    "checks and counts with these fields; nothing makes the program obey them.",
    example=example(f'shard {{ stage = 3 }}  dataset {{ name = "c4" }}  {_EMIT}'),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="nothing, if the program does as the plan says; the note lists the fields.",
    source="lightning/pytorch/trainer/trainer.py, Trainer.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What Lightning cannot do for the plan."""
    yield from check_nodes(plan, "lightning")
    choice = choice_of(plan, "lightning")
    for obstacle in obstacles(plan, facts):
        span = choice.span if choice is not None and obstacle.path == "emit" else plan[obstacle.path].span
        yield BEYOND.at(span, obstacle.message, help=(obstacle.help,))
    yield from check_left(plan, "lightning", LEFT, _said(plan))


def _said(plan: Plan) -> set[str]:
    """Paths of the fields that the module says, or that have a fault of their own where it cannot."""
    backend = backend_of(plan)
    said = {
        "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.expert",
        "parallel.expert_tensor", "parallel.data", "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket",
        "batch.global", "batch.micro", "batch.accumulation", "batch.sequence_length", "batch.ramp", "precision",
        "precision.gradients", "precision.master", "precision.loss_scale", "offload.optimizer", "offload.weights",
        "offload.activations", "optimizer.clip", "optimizer.states", "train.duration", "train.seed",
        "train.deterministic", "checkpoint.every", "checkpoint.directory", "checkpoint.keep", "checkpoint.async",
        "checkpoint.format", "resume.directory", "log.every", "log.to",
    }  # fmt: skip
    if written(plan, "log.to"):
        said.add("log.directory")
    if backend in (FSDP, FSDP2):
        said.update(("recompute", "recompute.layers", "recompute.method", "recompute.modules"))
    if backend == FSDP2:  # parallelize.py, which stands beside
        said.update(("train.compile", "adapter"))
    if backend == DEEPSPEED:
        said.add("offload.path")
    made = written(plan, "optimizer.learning_rate") is not None if backend == DEEPSPEED else makes_optimizer(plan)
    if made:
        said.update(("optimizer", *(f"optimizer.{name}" for name in plan["optimizer"].value)))
    if backend == DEEPSPEED and course(plan) is not None:
        said.update(("schedule", "schedule.warmup", "schedule.total", "schedule.minimum"))
    return said


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`lightning_trainer.py`."""
    return (EmittedFile("lightning_trainer.py", module_text(plan, facts)),)


TARGET = Target(
    summary="lightning_trainer.py: a Trainer of Lightning with DDP, FSDP, FSDP2 over tensor ranks, or DeepSpeed",
    proved="Lightning 2.6.6 with torch 2.13.0: imported and trained on gloo with 2 and 4 processes",
    check=check,
    emit=emit,
    engines=("fsdp2", "deepspeed"),
    options=(
        Field(
            "backend",
            Type("word", words=(FSDP, FSDP2, DEEPSPEED)),
            None,
            f"whose strategy: by default `{FSDP2}` over tensor ranks, else `{FSDP}` at stages 2 and 3, `{DEEPSPEED}` at"
            f" 1, and {DDP.upper()} without shards",
        ),
        Field(
            "layer",
            TEXT,
            None,
            "name of the class of the model's layers, such as `Block`; by default known from the model's `family`",
        ),
    ),
    faults=(BEYOND, LEFT, UNLIKE_NODES),
    gradients="weights",
    aliases=("pl", "pytorch-lightning"),
    module=True,
    timeout=True,
)
