"""gpt-neox: `gpt_neox.yml`, the file that deepy.py reads, and `gpt_neox.sh`, which calls it.

gpt-neox merges the files that it is given and refuses a key that stands in two of them. So the file says what the plan
says, and no more: tokenizer, kernels and evaluation stand in a file of the user's own, named in `launch.args`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets._data import yaml_text
from planc.targets._deepspeed_schedule import course
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._gpt_neox_config import neox_config
from planc.targets._gpt_neox_obstacles import obstacles
from planc.targets._launch import check_launch, choice_of, launch_values, option, written
from planc.targets._left import check_left
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

_VERSIONS = "gpt-neox 2.0, main of 2025."
_BATCH = "global = 64  accumulation = 8  sequence_length = 2048"
_RUN = "train { duration = 1000 steps }"
_RATE = "optimizer { learning_rate = 1e-4 }"
_EMIT = 'emit = [gpt-neox]  launch { script = "train.py" }'
_REST = f"{_RUN}  {_RATE}  {_EMIT}"


def _page(rest: str, batch: str = _BATCH) -> str:
    return example(rest, batch=batch)


LAYOUT = fault(
    "PLN981",
    "layout-without-gpt-neox",
    "The plan lays out its ranks in a way that gpt-neox does not know.",
    why="gpt-neox splits the world into tensor ranks, pipeline stages and replicas. It has no key for another axis, "
    "so the ranks would hold other pieces than the plan says; KV heads that the tensor ranks do not divide stop it.",
    example=_page(f"parallel {{ context = 2 }}  {_REST}", "global = 64  accumulation = 16  sequence_length = 2048"),
    instead=_page(f"parallel {{ tensor = 2 }}  {_REST}", "global = 64  accumulation = 16  sequence_length = 2048"),
    fix="use what the help names, or emit another trainer.",
    source="gpt-neox, megatron/neox_arguments/arguments.py, calculate_derived.",
    versions=_VERSIONS,
)

STATES = fault(
    "PLN982",
    "states-without-gpt-neox",
    "The plan keeps, shares or recomputes its states in a way that gpt-neox does not.",
    why="DeepSpeed ignores most settings of ZeRO at a stage that has no use for them; gpt-neox recomputes every "
    "layer or none, trains in bf16, fp16 or fp32, and keeps the optimizer's copies in fp32. Memory would not be "
    "what the plan says.",
    example=_page(f"recompute = selective  {_REST}"),
    instead=_page(f"recompute = full  {_REST}"),
    fix="use what the help names, or leave the setting out.",
    source="gpt-neox, megatron/neox_arguments; deepspeed/runtime/zero/config.py.",
    versions=_VERSIONS,
)

MODEL = fault(
    "PLN983",
    "model-without-gpt-neox",
    "gpt-neox builds no such model.",
    why="gpt-neox builds the model from its file. It has one head size, one window, one switch each for the biases "
    "of attention and MLP, and stops in an MLP that is neither gated nor biased, because it adds the bias that is "
    "not there. Of mixtures of experts planc writes nothing for it.",
    example=_page(_REST).replace("ffn = 4096", "ffn = 4096  bias = qkv"),
    instead=_page(_REST).replace("ffn = 4096", "ffn = 4096  bias = attention"),
    fix="use what the help names, or emit another trainer.",
    source="gpt-neox, megatron/model/transformer.py: ParallelMLP, ParallelSelfAttention.",
    versions=_VERSIONS,
)

RUN = fault(
    "PLN984",
    "run-without-gpt-neox",
    "gpt-neox cannot follow the plan's optimizer, schedule, length, checkpoints or launch, or would choose them.",
    why="without a learning rate gpt-neox trains at 0.001; it needs the sequence length and the steps of the run. Its "
    "line falls to zero, its cosine rises again behind its end, it saves after steps, and the DeepSpeed launcher "
    "hands few variables to other nodes.",
    example=_page(f"{_RUN}  {_EMIT}"),
    instead=_page(_REST),
    fix="write what the help names.",
    source="gpt-neox, megatron/{training,learning_rates}.py, arguments.py; deepspeed/launcher/runner.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN985",
    "left-to-gpt-neox",
    "Some written fields have no key in gpt-neox's file, or keys that it needs have no field.",
    why="the plan still checks and counts with the fields that the note lists; nothing makes gpt-neox obey them. No "
    "field says which tokenizer is used, and without one gpt-neox stops at its start.",
    example=_page(f'dataset {{ name = "pile" }}  {_REST}'),
    instead=_page(_REST.replace('"train.py"', '"train.py"  args = ["tokenizer.yml"]')),
    fix="nothing, if the run does as the plan says; keys go into a file of your own, which `launch.args` names.",
    source="gpt-neox, configs/neox_arguments.md; megatron/tokenizer/tokenizer.py, build_tokenizer.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_KINDS = {"layout": LAYOUT, "states": STATES, "model": MODEL, "run": RUN}

#: Fields that the file says, or that have a fault of their own where it cannot.
_SAID = frozenset((
    "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.data", "parallel.expert",
    "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket", "batch.global", "batch.micro",
    "batch.accumulation", "batch.sequence_length", "batch.ramp", "precision", "precision.gradients", "precision.master",
    "precision.loss_scale", "recompute", "recompute.method", "recompute.layers", "pipeline",
    "pipeline.first_stage_layers", "pipeline.last_stage_layers", "pipeline.layers", "pipeline.embedding_as_layer",
    "pipeline.loss_as_layer", "pipeline.layout", "pipeline.chunks", "offload.optimizer", "offload.weights",
    "offload.activations", "offload.path", "optimizer", "optimizer.learning_rate", "optimizer.betas",
    "optimizer.epsilon", "optimizer.weight_decay", "optimizer.momentum", "optimizer.clip", "optimizer.states",
    "schedule", "schedule.warmup", "schedule.total", "schedule.minimum", "train.duration", "train.seed",
    "dataset.path", "dataset.workers", "dataset.packed", "adapter", "checkpoint.every", "checkpoint.directory",
    "checkpoint.keep", "resume.directory", "log.every", "log.directory", "log.to", "profile.start", "profile.length",
))  # fmt: skip


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What gpt-neox cannot do for the plan."""
    for found in obstacles(plan, facts):
        yield _KINDS[found.kind].at(plan[found.path].span, found.message, help=(found.help,))
    yield from check_launch(plan, "gpt-neox")
    yield from _check_needed(plan)
    yield from check_left(plan, "gpt-neox", LEFT, _said(plan))


def _check_needed(plan: Plan) -> Iterator[Diagnostic]:
    """Keys for which there is no field, unless the arguments name a file that may hold them."""
    choice, arguments = choice_of(plan, "gpt-neox"), written(plan, "launch.args") or ()
    if choice is None or any(argument.endswith((".yml", ".yaml", ".json")) for argument in arguments):
        return
    keys = ["`tokenizer_type`, and its `vocab_file`"]
    if written(plan, "model.positions") == "rope":
        keys.append("`rotary_emb_base`, 10000 unless it is stated")
    if written(plan, "model.family") == "gpt_neox" and written(plan, "model.norms") != 1:
        keys.append("`gpt_j_residual: true` and `rotary_pct` as the model was trained")
    notes = (f"name a file of your own in `launch.args`, or on the command line: {'; '.join(keys)}",)
    yield LEFT.at(choice.span, "gpt-neox needs keys that no field says", "not in `gpt_neox.yml`", notes=notes)


def _said(plan: Plan) -> frozenset[str]:
    said = set(_SAID)
    if course(plan) == "constant":
        said.discard("schedule.total")  # a constant rate has no end
    if written(plan, "checkpoint.format") == "universal" and written(plan, "resume.directory") is not None:
        said.add("checkpoint.format")
    return frozenset(said)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`gpt_neox.yml` and `gpt_neox.sh`."""
    hostfile = option(plan, "gpt-neox", "hostfile")
    values = launch_values(plan, facts)
    if values["num_nodes"] == 1:
        name, reason = "DEEPSPEED_TIMEOUT", "DeepSpeed: minutes until a collective is given up."
        values["env"] = tuple(({name: str(plan.value("launch.timeout") // 60)} | dict(values["env"])).items())
        values["reasons"] = {name: reason} | values["reasons"]
    values.update(hostfile=hostfile or "/job/hostfile", is_default=hostfile is None)
    return (
        EmittedFile("gpt_neox.yml", yaml_text(neox_config(plan, facts))),
        EmittedFile("gpt_neox.sh", render("gpt-neox/gpt_neox.sh.j2", values), executable=True),
    )


TARGET = Target(
    summary="gpt_neox.yml: model, layout, ZeRO, optimizer and schedule for gpt-neox; gpt_neox.sh calls deepy.py",
    proved="a schema of the keys of gpt-neox 2.0, and DeepSpeed 0.19.8 for the sections that are its own",
    check=check,
    emit=emit,
    engines=("gpt-neox",),
    options=(
        Field(
            "hostfile",
            Type("text"),
            None,
            "file that names the nodes and their slots; by default /job/hostfile, or what `DLTS_HOSTFILE` names",
        ),
    ),
    faults=(LAYOUT, STATES, MODEL, RUN, LEFT, *LAUNCH_FAULTS),
    gradients="weights",
    aliases=("neox",),
    start=Start(own=True, program="train.py", alone=True),
    timeout=True,
)
