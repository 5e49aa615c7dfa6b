"""Slurm: `job.sbatch`, one launcher task a node.

The launcher is torchrun, or `accelerate launch` where the plan emits `accelerate` and not `torchrun`; the option
`launcher` decides otherwise. Every task meets at the first allocated host, at a port that follows from the job's id.
The program's output goes to `NAME-JOB.out` in the folder from which the job is submitted, since Slurm opens that file
before anything could make a folder for it. Fields of `launch.slurm` become `#SBATCH` lines as they stand; one with an
empty text becomes a flag, and a `gres` with cards in it stands in place of `gpus-per-node`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.schema import Field, Type
from planc.source import Span
from planc.targets._accelerate_launch import accelerate_values
from planc.targets._faults import LAUNCH_FAULTS, example, fault
from planc.targets._launch import check_launch, choice_of, deepspeed_flags, key_span, launch_values, option, written
from planc.targets._shell import is_bare, render
from planc.targets.target import EmittedFile, Target

_KEY = re.compile(r"[a-z][a-z0-9-]*")
_COUNT = re.compile(r"[0-9]{1,9}")

#: Options of sbatch that follow from the plan, and the field that decides each.
_OWNED: dict[str, str] = {
    "nodes": "cluster.nodes", "ntasks": "cluster.nodes", "ntasks-per-node": "cluster.nodes",
    "tasks-per-node": "cluster.nodes",
    "gpus": "cluster.gpus_per_node", "gpus-per-node": "cluster.gpus_per_node", "gpus-per-task": "cluster.gpus_per_node",
    "gpus-per-socket": "cluster.gpus_per_node", "ntasks-per-gpu": "cluster.gpus_per_node",
    "cpus-per-task": "cluster.cpu_cores", "cpus-per-gpu": "cluster.cpu_cores",
    "time": "launch.walltime", "job-name": "the plan's name", "wrap": "launch.script",
}  # fmt: skip

_LAUNCH = 'launch { script = "train.py"'
_EMIT = f"emit = [slurm]  {_LAUNCH} }}"

UNSAFE_TEXT = fault(
    "PLN911",
    "unsafe-slurm-text",
    "A text cannot stand in an `#SBATCH` line.",
    why="nothing is quoted or expanded in these lines: sbatch splits them at blanks, takes `#` for a comment "
    "and `$USER` for itself, and a line break would end the comment and start a command.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ account = "$USER" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ account = "llm" }} }}'),
    fix="write the text out in letters, digits and `_ . , : @ % + = / & | * ! ( ) [ ] ~ ^ -`; options are "
    "named as sbatch names them, without `--`.",
    source="sbatch(1); tried with Slurm 22.05.",
)

OWNED_OPTION = fault(
    "PLN912",
    "slurm-option-of-the-plan",
    "`launch.slurm` sets an option that follows from the plan.",
    why="two places would say how many nodes, cards or minutes the job has, and the batch and the shards "
    "follow from one of them only; with `--gpus-per-task` each rank would also see its own card as number "
    "0.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ nodes = "4" }} }}'),
    instead=example(_EMIT, nodes=4, batch="global = 64  micro = 1"),
    fix="set the field that the help names.",
    source="sbatch(1).",
)

LOG_FOLDER = fault(
    "PLN913",
    "unmade-log-folder",
    "The output of the job goes to a folder that nobody makes.",
    why="Slurm opens the file before the job's first line runs; where the folder is missing the job ends at "
    "once and leaves no line behind.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ output = "logs/%j.out" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ output = "%x-%j.out" }} }}'),
    fix="name a file in the folder from which the job is submitted, or make the folder before and suppress this.",
    source="sbatch(1), --output; tried with Slurm 22.05.",
    severity=Severity.WARNING,
)

LAUNCHER = fault(
    "PLN914",
    "launcher-without-files",
    "The job is to be started by accelerate, and the plan does not emit accelerate's files.",
    why="`accelerate launch` reads the layout from a YAML file; without it one process a card would train by itself.",
    example=example('emit = [slurm { launcher = accelerate }]  launch { script = "train.py" }'),
    instead=example(
        'emit = [slurm { launcher = accelerate }, accelerate]  shard { stage = 3 }  launch { script = "train.py" }'
    ),
    fix="emit `accelerate` too, or leave the launcher to planc.",
    source="accelerate/commands/launch.py.",
)


OTHER_CARDS = fault(
    "PLN915",
    "cards-beside-ranks",
    "`gres` asks for another number of cards than a node starts ranks.",
    why="`gres` stands in place of `--gpus-per-node`. With fewer cards than ranks some ranks find none and stop; cards "
    "beyond the ranks are paid for and idle.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ gres = "gpu:4" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ gres = "gpu:8" }} }}'),
    fix="ask for `gpus_per_node` cards, or correct that field; without `gres` the job asks for as many as it needs.",
    source="sbatch(1), --gres.",
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a Slurm job cannot do for the plan."""
    choice = choice_of(plan, "slurm")
    if choice is not None and option(plan, "slurm", "launcher") == "accelerate" and not plan.emits("accelerate"):
        yield LAUNCHER.at(
            choice.options["launcher"].span, "`accelerate` is not emitted", help=("emit `accelerate` too",)
        )
    for key, value in (written(plan, "launch.slurm") or {}).items():
        span = key_span(plan, "launch.slurm", key)
        if not _KEY.fullmatch(key):
            yield UNSAFE_TEXT.at(span, f"`{key}` is no option of sbatch", "named without `--`")
        elif key in _OWNED:
            yield OWNED_OPTION.at(span, f"`{key}` follows from the plan", help=(f"it is set by {_owner(key)}",))
        elif value and not is_bare(value):
            yield UNSAFE_TEXT.at(
                span, f"the value of `{key}` cannot stand in an #SBATCH line", "no blanks, quotes, `#` or `$`"
            )
        elif key in ("output", "error") and "/" in value and value != "/dev/null":
            yield LOG_FOLDER.at(
                span, f"nothing makes the folder of `{key}` before the job starts", help=("leave the folder out",)
            )
        elif key == "gres":
            yield from _check_cards(value, facts, span)
    yield from check_launch(plan, "slurm")


def _check_cards(gres: str, facts: Facts, span: Span) -> Iterator[Diagnostic]:
    cards, ranks = _cards(gres), facts["cluster.gpus_per_node"]
    if cards is None or isinstance(ranks, Unknown) or cards == ranks:
        return
    message = f"`gres` asks for {plural(cards, 'card')}, a node starts {plural(ranks, 'rank')}"
    help = (f"ask for {count_text(ranks)}, or leave `gres` out",)
    yield OTHER_CARDS.at(span, message, "one rank a card", help=help)


def _cards(gres: str) -> int | None:
    """Cards for which a list of generic resources asks: `gpu`, `gpu:4`, `gpu:a100:4`; None if it names none."""
    counts = []
    for item in gres.split(","):
        name, *rest = item.split("(")[0].split(":")
        if name == "gpu":
            counts.append(int(rest[-1]) if rest and _COUNT.fullmatch(rest[-1]) else 1)
    return sum(counts) if counts else None


def _owner(key: str) -> str:
    owner = _OWNED[key]
    return f"`{owner}`" if "." in owner else owner


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`job.sbatch`."""
    launcher = option(plan, "slurm", "launcher")
    if launcher is None:
        launcher = "accelerate" if plan.emits("accelerate") and not plan.emits("torchrun") else "torchrun"
    values = launch_values(plan, facts)
    flags = () if launcher == "accelerate" else deepspeed_flags(plan)
    values.update(flags=flags, launcher=launcher, job_name=plan.name, options=_options(plan, facts))
    values["needed"] = bool(flags) or launcher == "accelerate"
    if launcher == "accelerate":
        values.update(accelerate_values(plan, values["env"]))
    return (EmittedFile("job.sbatch", render("slurm/job.sbatch.j2", values), executable=True),)


def _options(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """The options of the job, as `name=value` or as a flag."""
    given: dict[str, str] = written(plan, "launch.slurm") or {}
    options: dict[str, object] = {"job-name": plan.name, "nodes": facts["cluster.nodes"], "ntasks-per-node": 1}
    if _cards(given.get("gres", "")) is None:
        options["gpus-per-node"] = facts["cluster.gpus_per_node"]
    cores = written(plan, "cluster.cpu_cores")
    if cores is None:
        options["exclusive"] = ""  # all CPUs of the node, whatever it has
    else:
        options["cpus-per-task"] = cores
    walltime = written(plan, "launch.walltime")
    if walltime is not None:
        options["time"] = _time(walltime)
    options["output"] = "%x-%j.out"
    options.update(given)
    return tuple(name if value == "" else f"{name}={value}" for name, value in options.items())


def _time(seconds: object) -> str:
    """A time as Slurm writes it, D-HH:MM:SS, rounded up to a second."""
    whole = int(-(-seconds // 1))  # type: ignore[operator]
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:{second:02}"


TARGET = Target(
    summary="job.sbatch: a Slurm job with one launcher a node, torchrun or accelerate",
    proved="Slurm 22.05.8: sbatch --test-only, and a job on two emulated nodes",
    check=check,
    emit=emit,
    options=(
        Field(
            "launcher",
            Type("word", words=("torchrun", "accelerate")),
            None,
            "what starts a node's ranks; by default accelerate where the plan emits it and not torchrun, else torchrun",
        ),
    ),
    faults=(UNSAFE_TEXT, OWNED_OPTION, LOG_FOLDER, LAUNCHER, OTHER_CARDS, *LAUNCH_FAULTS),
)
