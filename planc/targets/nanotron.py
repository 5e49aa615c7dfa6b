"""nanotron: `nanotron.yaml`, the file that run_train.py reads, and `nanotron.sh`, which starts it by torchrun."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import FACTOR, POSITIVE, TEXT, Field
from planc.targets._data import yaml_text
from planc.targets._deepspeed_schedule import course
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._launch import check_launch, choice_of, launch_values
from planc.targets._left import check_left
from planc.targets._nanotron_config import nanotron_config
from planc.targets._nanotron_obstacles import obstacles
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

_VERSIONS = "nanotron, main of 2025."
_BATCH = "global = 64  accumulation = 8  sequence_length = 2048"
_REST = """\
optimizer { learning_rate = 1e-4  betas = [0.9, 0.95]  epsilon = 1e-8  weight_decay = 0.1 }
      train { duration = 1000 steps }
      dataset { path = "data/tokens" }
      checkpoint { directory = "out"  every = 100 steps }
      launch { script = "run_train.py" }
      emit = [nanotron]"""


def _page(rest: str = _REST, batch: str = _BATCH) -> str:
    return example(rest, batch=batch)


LAYOUT = fault(
    "PLN976",
    "layout-without-nanotron",
    "The plan lays out its ranks in a way that nanotron's file does not say.",
    why="nanotron splits the world into replicas, tensor ranks and 1F1B stages, whose layers it chooses itself; it "
    "stops where heads, KV heads or the MLP do not divide into the tensor ranks.",
    example=_page(f"parallel {{ context = 2 }}\n      {_REST}", _BATCH.replace("= 8", "= 16")),
    instead=_page(f"parallel {{ tensor = 2 }}\n      {_REST}", _BATCH.replace("= 8", "= 16")),
    fix="use what the help names, or emit another trainer.",
    source="nanotron, config/parallelism_config.py, models/llama.py.",
    versions=_VERSIONS,
)

MODEL = fault(
    "PLN977",
    "model-without-nanotron",
    "The model is none that planc writes for nanotron.",
    why="nanotron builds the model from its file; what its `LlamaConfig` has no key for would be another model.",
    example=_page().replace("ffn = 4096", "ffn = 4096  bias = qkv"),
    instead=_page(),
    fix="emit another trainer.",
    source="nanotron, config/models_config.py, models/llama.py.",
    versions=_VERSIONS,
)

RUN = fault(
    "PLN978",
    "run-without-nanotron",
    "nanotron cannot follow the plan, or needs to be told what the plan does not say.",
    why="nanotron's classes have no default for the optimizer's numbers, the folder and interval of checkpoints or the "
    "length of the run, and without a folder of tokens it trains on random ones. It shares optimizer states at most, "
    "keeps masters, gradients and moments in fp32 together, and offloads nothing.",
    example=_page().replace("  weight_decay = 0.1", ""),
    instead=_page(),
    fix="write what the help names.",
    source="nanotron, config/config.py, optim/zero.py, optim/gradient_accumulator.py, run_train.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN979",
    "left-to-nanotron",
    "Some written fields have no key in nanotron's file, or a key that it needs has no field.",
    why="the plan still checks and counts with the fields that the note lists; nothing makes nanotron obey them. No "
    "field says the base of rotary positions, and a model that goes on with another base is lost.",
    example=_page(f"profile {{ start = 5 steps  length = 2 steps }}\n      {_REST}"),
    instead=_page(_REST.replace("[nanotron]", "[nanotron { rope_theta = 500_000 }]")),
    fix="nothing, if the run does as the plan says; the note lists the fields.",
    source="nanotron, config/config.py.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_KINDS = {"layout": LAYOUT, "model": MODEL, "run": RUN}

#: Fields that the file says, or that have a fault of their own where it cannot.
_SAID = frozenset((
    "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.data", "parallel.expert",
    "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket", "batch.global", "batch.micro",
    "batch.accumulation", "batch.sequence_length", "batch.ramp", "precision", "precision.gradients", "precision.master",
    "recompute", "recompute.method", "recompute.layers", "pipeline", "pipeline.chunks", "pipeline.first_stage_layers",
    "pipeline.last_stage_layers", "pipeline.layers", "pipeline.embedding_as_layer", "pipeline.loss_as_layer",
    "pipeline.layout", "offload.optimizer", "offload.weights", "offload.activations", "optimizer",
    "optimizer.learning_rate", "optimizer.betas", "optimizer.epsilon", "optimizer.weight_decay", "optimizer.momentum",
    "optimizer.clip", "optimizer.states", "schedule", "schedule.warmup", "schedule.total", "schedule.minimum",
    "train.duration", "train.seed", "dataset.path", "dataset.workers", "adapter", "checkpoint.every",
    "checkpoint.directory", "resume.directory", "log.every",
))  # fmt: skip


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What nanotron cannot do for the plan."""
    for found in obstacles(plan, facts):
        yield _KINDS[found.kind].at(plan[found.path].span, found.message, help=(found.help,))
    yield from check_launch(plan, "nanotron")
    said = _SAID - {"schedule.total"} if course(plan) == "constant" else _SAID  # a constant rate has no end
    yield from _check_base(plan)
    yield from check_left(plan, "nanotron", LEFT, said)


def _check_base(plan: Plan) -> Iterator[Diagnostic]:
    """A base of the positions that nobody chose: right for a new model, and for few that are there."""
    choice = choice_of(plan, "nanotron")
    if choice is not None and not choice.options.is_written("rope_theta"):
        notes = ("`nanotron { rope_theta = 500_000 }` is that of Llama 3; a config.json says it",)
        yield LEFT.at(choice.span, "no field says the base of rotary positions", "10000 is written", notes=notes)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`nanotron.yaml` and `nanotron.sh`."""
    values = launch_values(plan, facts)
    if 1 < facts["parallel.tensor"]:
        name, reason = "CUDA_DEVICE_MAX_CONNECTIONS", "nanotron: tensor ranks rely on the order of launches."
        values["env"] = tuple(({name: "1"} | dict(values["env"])).items())
        values["reasons"] = {name: reason} | values["reasons"]
    values["job_name"] = plan.name
    return (
        EmittedFile("nanotron.yaml", yaml_text(nanotron_config(plan, facts))),
        EmittedFile("nanotron.sh", render("nanotron/nanotron.sh.j2", values), executable=True),
    )


TARGET = Target(
    summary="nanotron.yaml: model, layout, batch, optimizer and data for nanotron; nanotron.sh starts it by torchrun",
    proved="a schema of the keys of nanotron, main of 2025, which its own files follow",
    check=check,
    emit=emit,
    engines=("nanotron",),
    options=(
        Field("tokenizer", TEXT, None, "name or folder of the tokenizer; by default that of the tokens"),
        Field("init_std", POSITIVE, 0.02, "standard deviation of the weights at the start"),
        Field("rope_theta", FACTOR, 10_000, "base of the rotary positions, `rope_theta` of a config.json"),
    ),
    faults=(LAYOUT, MODEL, RUN, LEFT, *LAUNCH_FAULTS),
    gradients="fp32",
    start=Start(own=True, program="run_train.py", alone=True, node=True),
    timeout=True,
)
