"""transformers: `training_args.json`, the arguments of the Hugging Face Trainer, as `HfArgumentParser` reads them.

Without shards the Trainer uses DDP, at stages 2 and 3 FSDP2. With `backend = deepspeed`, and at stage 1,
DeepSpeed shares, and what `deepspeed { trainer = hf }` writes stands in the arguments as well, whole: a path would be
looked for in the folder from which the program happens to be started. The axes of `parallelism_config` are an object,
which no JSON file can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES, nearest_family
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.plan.units import EPOCHS
from planc.targets._data import json_text, real
from planc.targets._deepspeed_config import ds_config, saves_whole_weights
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._faults import UNLIKE_NODES, example, fault
from planc.targets._launch import check_nodes, choice_of, written
from planc.targets._left import check_left
from planc.targets._transformers_obstacles import (
    DEEPSPEED,
    FSDP2,
    OPTIMIZERS,
    backend_of,
    obstacles,
    optimizer_by_deepspeed,
    warmup_of,
)
from planc.targets.target import EmittedFile, Target

_EMIT = "emit = [transformers]"
_VERSIONS = "transformers 5.23.0, accelerate 1.15.0."

LAYOUT = fault(
    "PLN956",
    "layout-without-trainer",
    "The plan lays out its ranks or shards in a way that no argument of the Trainer can say.",
    why="arguments in a file share over all replicas or not at all. Tensor, context and hybrid layouts are one "
    "object, `parallelism_config`, which JSON cannot hold, so the run would have other ranks than the plan.",
    example=example(f"parallel {{ context = 2 }}  shard {{ stage = 3 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="transformers/training_args.py, TrainingArguments.parallelism_config and _process_fsdp_args.",
    versions=_VERSIONS,
)

MEMORY = fault(
    "PLN957",
    "memory-without-trainer",
    "The plan keeps, computes again or offloads states in a way that no argument of the Trainer can say.",
    why="the file would be accepted and the run would do something else: the Trainer computes in one dtype over fp32 "
    "weights, recomputes whole layers, and FSDP2 offloads weights and optimizer states together.",
    example=example(f'shard {{ stage = 3 }}  recompute = selective {{ modules = ["core_attn"] }}  {_EMIT}'),
    instead=example(f"shard {{ stage = 3 }}  recompute = full  {_EMIT}"),
    fix="use what the help names, or `backend = deepspeed` where DeepSpeed has it.",
    source="transformers/training_args.py, _process_fsdp_args; accelerate/utils/dataclasses.py, set_mixed_precision.",
    versions=_VERSIONS,
)

COURSE = fault(
    "PLN958",
    "course-without-trainer",
    "The Trainer has no such optimizer, schedule or interval.",
    why="its schedules end with the run, it saves by steps, and it hands each optimizer its own few arguments: the "
    "others would be ignored without a word.",
    example=example(f"optimizer = muon {{ learning_rate = 1e-3 }}  shard {{ stage = 3 }}  {_EMIT}"),
    instead=example(f"optimizer = adamw {{ learning_rate = 1e-3 }}  shard {{ stage = 3 }}  {_EMIT}"),
    fix="use what the help names, or make it in the program and leave the field out.",
    source="transformers/trainer_optimizer.py and optimization.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN959",
    "left-to-trainer-program",
    "Some written fields have no place among the arguments of the Trainer; the program has to follow them.",
    why="the model, the adapter, the data and the length of a sequence are the program's. The plan still checks and "
    "counts with these fields; nothing makes the program obey them.",
    example=example(f'shard {{ stage = 3 }}  dataset {{ name = "c4" }}  {_EMIT}'),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="nothing, if the program does as the plan says; the note lists the fields.",
    source="transformers/training_args.py.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

PATH = fault(
    "PLN927",
    "path-before-arguments",
    "The program is given the path of training_args.json and arguments of its own.",
    why="the launch scripts put the path first. A program that reads one file when that is its only argument, as the "
    "examples of transformers do, takes the whole line for options then, and stops at the path.",
    example=example('launch { script = "train.py"  args = ["--model", "m"] }  emit = [transformers, torchrun]'),
    instead=example(
        'launch { script = "train.py"  args = ["--model", "m"] }  emit = [transformers { pass_path = true }, torchrun]'
    ),
    fix="write `pass_path = true` if the program takes both, `pass_path = false` if it opens the file by itself; or "
    "put its own arguments into a copy of the file, and leave `launch.args` out.",
    source="transformers/hf_argparser.py, parse_args_into_dataclasses and parse_json_file.",
    versions="transformers 5.23.0.",
    severity=Severity.WARNING,
)

FAMILY = fault(
    "PLN938",
    "unknown-family-for-trainer",
    "The model's `family` is none that planc knows, so that the arguments name no class of layers.",
    why="FSDP wraps the class that the arguments name, else the one that the model names itself, as the models of "
    "transformers do. A model that names none becomes one unit, all of whose weights are gathered at once; and where "
    "the name is a slip, nothing else that follows from the family is known either.",
    example=example(f"shard {{ stage = 3 }}  {_EMIT}").replace('"llama"', '"lama"'),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="correct the name; nothing, if the model is of transformers or names the class in `_no_split_modules`.",
    source="accelerate/utils/dataclasses.py, set_auto_wrap_policy; transformers/training_args.py, _process_fsdp_args.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_KINDS = {"layout": LAYOUT, "memory": MEMORY, "course": COURSE}

#: Targets whose scripts put the path before the program's arguments.
_PASS_PATH = ("torchrun", "accelerate", "deepspeed-launcher", "slurm")

_STATE_DICTS = {"sharded": "SHARDED_STATE_DICT", "full": "FULL_STATE_DICT"}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What the Trainer cannot do for the plan."""
    yield from check_nodes(plan, "transformers")
    choice = choice_of(plan, "transformers")
    for obstacle in obstacles(plan, facts):
        if obstacle.path == "emit" and choice is not None:
            yield LAYOUT.at(choice.span, obstacle.message, help=(obstacle.help,))
        else:
            yield _KINDS[obstacle.kind].at(plan[obstacle.path].span, obstacle.message, help=(obstacle.help,))
    yield from _check_family(plan)
    yield from _check_path(plan)
    yield from check_left(plan, "transformers", LEFT, _said(plan))


def _check_family(plan: Plan) -> Iterator[Diagnostic]:
    """A family without a known class, where FSDP2 wraps the layers."""
    family = written(plan, "model.family")
    if not plan.emits("transformers") or backend_of(plan) != FSDP2 or family is None or family in LAYER_CLASSES:
        return
    near = nearest_family(family)
    label = f"did you mean `{near}`?" if near else "the model has to name it"
    help = (f'write `family = "{near}"`',) if near else ()
    yield FAMILY.at(plan["model.family"].span, "no class of layers is known of this `family`", label, help=help)


def _check_path(plan: Plan) -> Iterator[Diagnostic]:
    """The path of the file before arguments, unless the plan says that this is meant."""
    choice, arguments = choice_of(plan, "transformers"), written(plan, "launch.args")
    if choice is None or not arguments or choice.options.is_written("pass_path") or not plan.emits(*_PASS_PATH):
        return
    message = f"the program gets the path of training_args.json, then {plural(len(arguments), 'argument')}"
    label = "few programs take both"
    yield PATH.at(choice.span, message, label, help=("write `pass_path = true` if it takes both, else `false`",))


def _said(plan: Plan) -> set[str]:
    """Paths of the fields that the file says, or that have a fault of their own where it cannot."""
    said = {
        "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.data",
        "parallel.expert", "context", "shard", "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket",
        "batch.global", "batch.micro", "batch.accumulation", "precision", "precision.gradients", "precision.master",
        "precision.loss_scale", "recompute", "recompute.layers", "offload.optimizer", "offload.weights", "offload.path",
        "offload.activations", "optimizer", "optimizer.learning_rate", "optimizer.betas", "optimizer.epsilon",
        "optimizer.weight_decay", "optimizer.momentum", "optimizer.clip", "optimizer.states", "train.duration",
        "train.seed", "train.deterministic", "train.compile", "dataset.workers", "dataset.drop_last",
        "checkpoint.every", "checkpoint.directory", "checkpoint.keep", "checkpoint.async", "resume.directory",
        "resume.step",
        "log.every", "log.to",
    }  # fmt: skip
    if course(plan) is not None:
        said.update(("schedule", "schedule.warmup", "schedule.total", "schedule.minimum"))
    backend = backend_of(plan)
    if (backend == FSDP2 and written(plan, "checkpoint.format") in _STATE_DICTS) or (
        backend == DEEPSPEED and saves_whole_weights(plan)
    ):
        said.add("checkpoint.format")
    return said


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`training_args.json`."""
    arguments = {
        **_batch(plan),
        **_optimizer(plan),
        **_course(plan, facts),
        **_memory(plan, facts),
        **_rest(plan),
    }
    return (EmittedFile("training_args.json", json_text(arguments)),)


def _batch(plan: Plan) -> dict[str, Any]:
    return {
        "per_device_train_batch_size": plan.value("batch.micro"),
        "gradient_accumulation_steps": plan.value("batch.accumulation"),
    }


def _optimizer(plan: Plan) -> dict[str, Any]:
    """The optimizer; with DeepSpeed the values stand in its file too, and the Trainer compares them."""
    found: dict[str, Any] = {}
    optimizer = OPTIMIZERS.get(plan.value("optimizer"))
    if optimizer is not None and not optimizer_by_deepspeed(plan):
        found["optim"] = optimizer.name
        momentum = written(plan, "optimizer.momentum")
        if momentum is not None:
            found["optim_args"] = f"momentum={real(momentum)}"
    for key, path in (
        ("learning_rate", "optimizer.learning_rate"), ("weight_decay", "optimizer.weight_decay"),
        ("adam_epsilon", "optimizer.epsilon"),
    ):  # fmt: skip
        value = written(plan, path)
        if value is not None:
            found[key] = real(value)
    betas = written(plan, "optimizer.betas")
    if betas is not None:
        found["adam_beta1"], found["adam_beta2"] = real(betas[0]), real(betas[1])
    # The Trainer clips at 1.0 unless it is told otherwise; 0 says that nothing is clipped.
    found["max_grad_norm"] = real(written(plan, "optimizer.clip") or 0)
    return found


def _course(plan: Plan, facts: Facts) -> dict[str, Any]:
    found: dict[str, Any] = {}
    duration = written(plan, "train.duration")
    if duration is not None and duration.dimension == EPOCHS:
        found["num_train_epochs"] = real(duration.value)
    elif duration is not None:
        found["max_steps"] = steps_of(plan, facts, "train.duration")
    kind, minimum = course(plan), written(plan, "schedule.minimum")
    if kind is None:
        return found
    warmup = warmup_of(plan, facts)
    if kind == "constant":
        found["lr_scheduler_type"] = "constant_with_warmup" if warmup else "constant"
    elif kind == "linear" and minimum:
        found["lr_scheduler_type"] = "polynomial"
        found["lr_scheduler_kwargs"] = {"lr_end": real(minimum), "power": 1.0}
    elif kind == "cosine" and minimum:
        found["lr_scheduler_type"] = "cosine_with_min_lr"
        found["lr_scheduler_kwargs"] = {"min_lr": real(minimum)}
    else:
        found["lr_scheduler_type"] = kind.replace("-", "_")
    if warmup:
        found["warmup_steps"] = warmup
    return found


def _memory(plan: Plan, facts: Facts) -> dict[str, Any]:
    backend, recompute = backend_of(plan), plan.value("recompute") == "full"
    found: dict[str, Any] = {}
    if plan.value("precision") != "fp32":
        found[plan.value("precision")] = True
    if backend != FSDP2 and recompute:
        found["gradient_checkpointing"] = True  # the name in all of 4 and 5; `activation_checkpointing` is newer
    if backend == DEEPSPEED:
        found["deepspeed"] = ds_config(plan, facts)
    elif backend == FSDP2:
        found["fsdp"] = True
        found["fsdp_config"] = _fsdp_config(plan)
    if written(plan, "train.compile"):
        found["torch_compile"] = True
    return found


def _fsdp_config(plan: Plan) -> dict[str, Any]:
    config: dict[str, Any] = {"version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
    layer = LAYER_CLASSES.get(written(plan, "model.family") or "")
    if layer is not None:  # else the model names its own
        config["transformer_layer_cls_to_wrap"] = [layer]
    config["reshard_after_forward"] = plan.value("shard.stage") == 3
    config["cpu_offload"] = written(plan, "offload.weights") is not None
    config["activation_checkpointing"] = plan.value("recompute") == "full"
    state_dict = _STATE_DICTS.get(written(plan, "checkpoint.format") or "")
    if state_dict is not None:
        config["state_dict_type"] = state_dict
    return config


def _rest(plan: Plan) -> dict[str, Any]:
    """Seeds, loaders, intervals and folders, each where the plan has it; the timeout always."""
    found: dict[str, Any] = {}
    for key, path in (
        ("seed", "train.seed"), ("dataloader_num_workers", "dataset.workers"),
        ("dataloader_drop_last", "dataset.drop_last"), ("output_dir", "checkpoint.directory"),
        ("save_total_limit", "checkpoint.keep"),
    ):  # fmt: skip
        value = written(plan, path)
        if value is not None:
            found[key] = value
    resumed, step = written(plan, "resume.directory"), written(plan, "resume.step")
    if resumed is not None:
        found["resume_from_checkpoint"] = resumed if step is None else f"{resumed.rstrip('/')}/checkpoint-{step}"
    if written(plan, "train.deterministic"):
        found["full_determinism"] = True
    saves, logs = written(plan, "checkpoint.every"), written(plan, "log.every")
    if saves is not None:
        found["save_strategy"], found["save_steps"] = "steps", int(-(-saves.value // 1))
    if logs is not None:
        found["logging_strategy"], found["logging_steps"] = "steps", int(-(-logs // 1))
    to = written(plan, "log.to")
    if to is not None:
        found["report_to"] = list(to) or "none"
    found["ddp_timeout"] = int(-(-plan.value("launch.timeout") // 1))
    return found


TARGET = Target(
    summary="training_args.json: the arguments of the Hugging Face Trainer, with FSDP2 or DeepSpeed",
    proved="transformers 5.23.0: TrainingArguments by HfArgumentParser, and a Trainer on gloo",
    check=check,
    emit=emit,
    engines=("fsdp2", "deepspeed"),
    options=(
        Field(
            "backend",
            Type("word", words=(FSDP2, DEEPSPEED)),
            None,
            "who shares the states; by default FSDP2 at stages 2 and 3, DeepSpeed at 1, and DDP without shards",
        ),
        Field(
            "pass_path",
            Type("flag"),
            True,
            "torchrun.sh, accelerate.sh, deepspeed.sh and job.sbatch put the path of training_args.json before the"
            " program's arguments, where programs with `HfArgumentParser` look for it",
        ),
    ),
    faults=(LAYOUT, MEMORY, COURSE, FAMILY, PATH, LEFT, UNLIKE_NODES),
    gradients="weights",
    aliases=("hf", "huggingface", "trainer"),
    timeout=True,
)
