"""torchtitan: one script that starts its trainer with the plan's settings as flags, or beside a TOML file of them.

Since 2026-02-23 (0.3) a run of torchtitan is a function of a registry, and flags that change what it makes; before
(0.2) it was a TOML file. A model is named, not described: its sizes are those of a flavor, and planc names the flavor
that has the sizes of the plan's model, or takes the one of a module of the user's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record
from planc.plan.schema import Field, Type
from planc.targets._faults import LAUNCH_FAULTS, MISSING_SCRIPT, example, fault
from planc.targets._launch import check_launch, choice_of, is_unset, launch_values, written
from planc.targets._left import check_left
from planc.targets._shell import render
from planc.targets._torchtitan_models import FLAGS, TOML, Mismatch, Trained, contradiction, form, recipe, trained
from planc.targets._torchtitan_obstacles import obstacles
from planc.targets._torchtitan_settings import DATASETS, activation_checkpoint, settings, steps
from planc.targets._torchtitan_text import flags, toml_text
from planc.targets.target import EmittedFile, Start, Target

_EMIT = 'emit = [torchtitan { module = "my_models"  flavor = "small" }]'
_VERSIONS = "torchtitan 0.3.0 and 0.2.2."

LAYOUT = fault(
    "PLN971",
    "layout-without-torchtitan",
    "The plan lays out its ranks and states in a way that torchtitan does not.",
    why="torchtitan shares states by FSDP2, which shares gradients with the optimizer states, and offloads all of them "
    "or none. It gathers keys and values for context ranks, has the schedules of torch's pipelining, and recomputes "
    "operators or whole layers. What it is not told it would do otherwise than the plan says.",
    example=example(f"shard {{ stage = 1 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 2 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="torchtitan/config/configs.py; torchtitan/distributed; torchtitan/trainer.py.",
    versions=_VERSIONS,
)

MODEL = fault(
    "PLN972",
    "unknown-torchtitan-flavor",
    "torchtitan has no flavor of the model's sizes.",
    why="a flavor stands for all sizes of a model, and no flag or key changes one of them: the run would train another "
    "model than the plan counts with.",
    example=example("shard { stage = 3 }  emit = [torchtitan]"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="for a model of your own name the module and its flavor: a function of its `config_registry`, or with "
    "`config = toml` a flavor that it registers. What that model is nobody checks.",
    source="torchtitan/models: config_registry.py and model_registry; 0.2: TrainSpec.model_args.",
    versions=_VERSIONS,
)

PRECISION = fault(
    "PLN973",
    "precision-without-torchtitan",
    "The plan names dtypes that torchtitan does not combine.",
    why="torchtitan computes in bf16 or fp32, reduces gradients in fp32 and keeps fp32 shards. Products in fp8 are a "
    "matter of the configuration since 0.3, which has them for few flavors, and of converters before.",
    example=example(f"shard {{ stage = 3 }}  {_EMIT}", precision="bf16 { gradients = bf16 }"),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="torchtitan/config/configs.py, TrainingConfig; components/quantization/float8.py and mx.py.",
    versions=_VERSIONS,
)

RUN = fault(
    "PLN974",
    "run-without-torchtitan",
    "The optimizer, the schedule or the checkpoints of the plan are none of torchtitan's.",
    why="torchtitan's configurations train with AdamW, a rate that is constant or decays along a line or a cosine, and "
    "save shards every so many steps; and a launcher beside it would start the program without its settings.",
    example=example(f"shard {{ stage = 3 }}  optimizer = lion {{ learning_rate = 1e-4 }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 3 }}  optimizer = adamw {{ learning_rate = 1e-4 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source="torchtitan/components/optimizer, checkpointer and metrics.py; 0.2: config/job_config.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN975",
    "left-to-torchtitan-configuration",
    "Some written fields have no place in torchtitan's settings; the configuration has to follow them.",
    why="torchtitan knows data sets by registered names, and a module of one's own makes its model and its products as "
    "it will. The plan still checks and counts with these fields; nothing makes the run obey them.",
    example=example(f'shard {{ stage = 3 }}  dataset {{ name = "pile"  shards = 32 }}  {_EMIT}'),
    instead=example(f"shard {{ stage = 3 }}  {_EMIT}"),
    fix="nothing, if the configuration does as the plan says; the note lists the fields.",
    source="torchtitan/hf_datasets/text_datasets.py; config/manager.py.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

_KINDS = {"layout": LAYOUT, "precision": PRECISION, "run": RUN}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What torchtitan cannot do for the plan."""
    choice = choice_of(plan, "torchtitan")
    for diagnostic in check_launch(plan, "torchtitan"):
        if diagnostic.code != MISSING_SCRIPT.code or not is_unset(plan, "launch.script"):
            yield diagnostic  # without a script torchtitan's own trainer is started
    for obstacle in obstacles(plan, facts):
        yield _KINDS[obstacle.kind].at(plan[obstacle.path].span, obstacle.message, help=(obstacle.help,))
    other = contradiction(plan)
    if other is not None and choice is not None:
        yield RUN.at(choice.span, other.message, help=(other.help,))
    model = trained(plan)
    if isinstance(model, Mismatch) and choice is not None and not _is_faulty(plan, model.path):
        span = plan[model.path].span if model.path else choice.span
        yield (PRECISION if model.path == "precision" else MODEL).at(span, model.message, help=(model.help,))
    yield from check_left(plan, "torchtitan", LEFT, _said(plan, model))


def _is_faulty(plan: Plan, path: str) -> bool:
    """Whether what is blamed has a fault of its own, so that its sizes or its dtypes are not known."""
    needed = {"model": ("model.layers", "model.hidden", "model.heads", "model.vocab"), "precision": ("precision",)}
    return any(written(plan, field) is None for field in needed.get(path, ()))


def _said(plan: Plan, model: Trained | Mismatch) -> set[str]:
    """Paths of the fields that the settings say, or that have a fault of their own where they cannot."""
    sections = {section: plan[section].value for section in _SAID_WHOLE}
    whole = {section: value for section, value in sections.items() if isinstance(value, Record)}
    said = {f"{section}.{name}" for section, value in whole.items() for name in value} | set(_SAID_WHOLE)
    said |= {
        "train.duration", "train.seed", "train.deterministic", "train.compile", "dataset.path", "dataset.workers",
        "adapter", "checkpoint.every", "checkpoint.directory", "checkpoint.keep", "checkpoint.async",
        "checkpoint.format", "resume.directory", "resume.step", "log.every", "log.to", "log.directory",
    }  # fmt: skip
    if written(plan, "dataset") is not None:
        said |= {"dataset.name"} if written(plan, "dataset.name") in DATASETS else set()
        said |= {"dataset.packed"} if written(plan, "dataset.packed") else set()
    if form(plan) == FLAGS and steps(plan, "profile.start") is not None and steps(plan, "profile.length") is not None:
        said |= {"profile.start", "profile.length"}
    if form(plan) == FLAGS and recipe(plan) and isinstance(model, Trained) and model.known is None:
        said -= {f"precision.{name}" for name in ("recipe", "format", "weights")} | {"precision"}
    return said


#: Sections of which every field is said or a fault.
_SAID_WHOLE = (
    "parallel", "shard", "batch", "precision", "recompute", "pipeline", "context", "expert", "offload", "optimizer",
    "schedule",
)  # fmt: skip


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`torchtitan.sh`, and `torchtitan.toml` where the settings are no flags."""
    model, said = trained(plan), settings(plan, facts)
    assert isinstance(model, Trained)
    values = {**launch_values(plan, facts), "job_name": plan.name, "toml": form(plan) == TOML}
    if form(plan) == TOML:
        script = render("torchtitan/torchtitan.sh.j2", values)
        files = (EmittedFile("torchtitan.toml", toml_text(said)),)
        return (*files, EmittedFile("torchtitan.sh", script, executable=True))
    words = (("--module", model.module), ("--config", model.flavor), *flags(said))
    values.update(settings=words, subcommand=f"activation-checkpoint:{activation_checkpoint(plan)}")
    return (EmittedFile("torchtitan.sh", render("torchtitan/torchtitan.sh.j2", values), executable=True),)


TARGET = Target(
    summary="torchtitan.sh, which starts torchtitan with flags, or with torchtitan.toml before 0.3",
    proved="torchtitan 0.3.0: ConfigManager and ParallelDims; 0.2.2: its ConfigManager",
    check=check,
    emit=emit,
    engines=("torchtitan",),
    options=(
        Field(
            "config",
            Type("word", words=(FLAGS, TOML)),
            None,
            "how torchtitan is told: by flags since 0.3, by a TOML file before 2026-02-23 (0.2); by default as"
            " `versions` says, or by flags",
        ),
        Field(
            "module",
            Type("text"),
            None,
            "module of the model, such as `llama3` or one of your own; by default known from the model's `family`",
        ),
        Field(
            "flavor",
            Type("text"),
            None,
            "function of the module's `config_registry`, or with `config = toml` a flavor of the model; by default the"
            " one that has the model's sizes",
        ),
    ),
    faults=(LAYOUT, MODEL, PRECISION, RUN, LEFT, *LAUNCH_FAULTS),
    gradients="fp32",
    aliases=("titan",),
    start=Start(own=True, alone=True, node=True),
    timeout=True,
)
