"""Megatron-Bridge: overrides of a recipe, in `megatron_bridge.sh` or in `megatron_bridge.yaml`.

A recipe of Bridge is a function that makes a ConfigContainer; its scripts read `name=value` in Hydra's grammar from the
command line and set that field. Some read a YAML file before, named by `--config-file`. Words are the default: every
script reads them, and Hydra stops at a name that the recipe does not have, where a file draws but a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import TEXT, Field, Type
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._launch import check_launch, choice_of, is_unset, key_span, launch_values, option, written
from planc.targets._left import check_left
from planc.targets._megatron_bridge_config import FINETUNE, PRETRAIN, Override, overrides
from planc.targets._megatron_bridge_obstacles import OVERRIDES, YAML, config, obstacles
from planc.targets._megatron_bridge_text import words, yaml_of
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

_NAME = "megatron-bridge"
_VERSIONS = "Megatron-Bridge 0.3.1 with megatron-core 0.16.1."
_LAUNCH = 'launch { script = "scripts/training/run_recipe.py" }'
_EMIT = f'{_LAUNCH}  emit = [megatron-bridge {{ recipe = "llama3_8b_pretrain_config" }}]'

PLAN = fault(
    "PLN968",
    "plan-without-megatron-bridge",
    "The plan asks for what Megatron-Bridge's configuration cannot say.",
    why="Bridge runs megatron-core: its pipelines, its sharded optimizer and FSDP, its Adam, SGD and Muon, its layers "
    "with two norms. A run is counted in iterations, checkpoints are sharded, and what another launcher starts gets no "
    "overrides. Bridge would run the recipe's setting instead.",
    example=example(f"checkpoint {{ format = full }}  {_EMIT}"),
    instead=example(f"checkpoint {{ format = sharded }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="megatron/bridge/training/config.py and its validate(); megatron-core, TransformerConfig.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN969",
    "left-to-bridge-recipe",
    "Some written fields have no override, or the recipe decides what no field says.",
    why="the recipe says all that the plan does not: tokenizer, activation function, kernels, overlap, and where "
    "nothing is written also data, folders, the length of the run and the learning rate. The plan still checks and "
    "counts with what the note lists.",
    example=example(_EMIT),
    instead=example(
        "optimizer { learning_rate = 1e-4 }  train { duration = 1000 steps }  "
        f'dataset {{ path = "data/text_document" }}  checkpoint {{ directory = "ckpt" }}  {_EMIT}',
        batch="global = 64  accumulation = 8  sequence_length = 1Ki",
    ),
    fix="nothing, if the recipe does as you want; the note lists what it decides.",
    source="megatron/bridge/recipes/common.py, _pretrain_common.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

#: Fields of the training that need no override: another one follows from them, or Bridge does so always.
_FOLLOWED = frozenset((
    "parallel.data", "parallel.sequence", "parallel.expert", "parallel.expert_tensor", "context", "pipeline",
    "pipeline.chunks", "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "shard", "shard.size", "shard.stage",
    "batch.accumulation", "batch.ramp", "precision", "precision.gradients", "precision.master", "precision.loss_scale",
    "precision.weights", "precision.format", "precision.recipe", "recompute", "optimizer", "optimizer.states",
    "train.deterministic", "train.compile", "adapter", "adapter.base", "dataset.drop_last", "offload.optimizer",
    "offload.weights", "offload.activations", "checkpoint.async", "profile",
))  # fmt: skip

#: What a recipe decides where the plan says nothing, and the field that would.
_DECIDED = (
    ("optimizer.lr", "optimizer.learning_rate"), ("train.train_iters", "train.duration"),
    ("model.seq_length", "batch.sequence_length"), ("dataset", "dataset.path"),
    ("checkpoint.save", "checkpoint.directory"),
)  # fmt: skip


#: Where the weights lie that a finetuning starts from.
_BASE = "checkpoint.pretrained_checkpoint"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What Megatron-Bridge cannot do for the plan."""
    found = overrides(plan, facts)
    hindered = tuple(obstacles(plan, facts, found))
    for obstacle in hindered:
        is_version = obstacle.path == "versions"
        span = key_span(plan, "versions", _NAME) if is_version else plan[obstacle.path].span
        yield PLAN.at(span, obstacle.message, help=(obstacle.help,))
    yield from check_launch(plan, _NAME)
    yield from _check_decided(plan, found)
    said = {override.path for override in found} | {obstacle.path for obstacle in hindered} | _FOLLOWED
    if "log.directory" in said and tuple(written(plan, "log.to") or ()) == ("tensorboard",):
        said.add("log.to")
    if "dataset.blend" in {override.name for override in found}:
        said.add("dataset.packed")  # samples of indexed data are always packed
    if option(plan, _NAME, "task") == FINETUNE:
        said.add("dataset.path")  # among what the recipe decides
    yield from check_left(plan, _NAME, LEFT, said)


def _check_decided(plan: Plan, found: tuple[Override, ...]) -> Iterator[Diagnostic]:
    choice, names = choice_of(plan, _NAME), {override.path for override in found}
    open_ = [
        f"`{key}` (`{path}`)"
        for key, path in _DECIDED
        if path not in names and is_unset(plan, path)  # a field may have a fault of its own, or be left to the recipe
    ]
    args = [word for word in written(plan, "launch.args") or () if isinstance(word, str)]
    if option(plan, _NAME, "task") == FINETUNE:
        goes_on = written(plan, "adapter") is None and not is_unset(plan, "resume.directory")
        if not goes_on and not any(word.lstrip("+").startswith(f"{_BASE}=") for word in args):
            open_.append(f"`{_BASE}` (`launch.args`: the weights to start from, which recipes leave out)")
        if not is_unset(plan, "dataset.path"):
            open_.append("`dataset` (its records: `dataset.path` names indexed data)")
    if option(plan, _NAME, "recipe") is None and not any(word.startswith("--recipe") for word in args):
        open_.append("which recipe it is (the option `recipe`)")
    if choice is None or not open_:
        return
    count = "1 setting" if len(open_) == 1 else f"{len(open_)} settings"
    notes = ("it decides " + ", ".join(open_),)
    yield LEFT.at(choice.span, f"the recipe or its script decides {count}", "not overridden", notes=notes)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`megatron_bridge.sh`, and `megatron_bridge.yaml` where the overrides are a file."""
    found, is_file = overrides(plan, facts), config(plan) == YAML
    values = {
        **launch_values(plan, facts),
        "job_name": plan.name,
        "recipe": option(plan, _NAME, "recipe"),
        "is_file": is_file,
        "overrides": () if is_file else words(found),
    }
    script = EmittedFile("megatron_bridge.sh", render("megatron-bridge/megatron_bridge.sh.j2", values), executable=True)
    return (EmittedFile("megatron_bridge.yaml", yaml_of(found)), script) if is_file else (script,)


TARGET = Target(
    summary="megatron_bridge.sh, which starts a recipe of Megatron-Bridge with overrides, or with a file of them",
    proved="Megatron-Bridge 0.3.1: its ConfigContainer takes the overrides and validates them; megatron-core 0.16.1",
    check=check,
    emit=emit,
    engines=("megatron",),
    options=(
        Field("recipe", TEXT, None, "name of the recipe, passed as `--recipe`; by default the script's own"),
        Field(
            "task",
            Type("word", words=(PRETRAIN, FINETUNE)),
            PRETRAIN,
            "what the recipe does: `pretrain` on indexed data, or `finetune` on records, by adapters too",
        ),
        Field(
            "config",
            Type("word", words=(OVERRIDES, YAML)),
            OVERRIDES,
            "how the script is told: by `name=value` on its command line, or by a file after `--config-file`",
        ),
    ),
    faults=(PLAN, LEFT, *LAUNCH_FAULTS),
    gradients="fp32",
    aliases=("bridge", "nemo"),
    start=Start(own=True, program="scripts/training/run_recipe.py", alone=True, node=True),
    timeout=True,
)
