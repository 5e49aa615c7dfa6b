"""Slurm: `job.sbatch`, one launcher task a node, or one task a rank.

The launcher is torchrun, or `accelerate launch` where the plan emits `accelerate` and not `torchrun`; the option
`launcher` decides otherwise, also for `srun`, which starts the ranks themselves. All meet at the first allocated host,
at a port that follows from the job's id. The program's output goes to `NAME-JOB.out` in the folder from which the job
is submitted, since Slurm opens that file before anything could make a folder for it. Fields of `launch.slurm` become
`#SBATCH` lines as they stand; one with an empty text becomes a flag, and a `gres` with cards in it stands in place of
`gpus-per-node`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, time_text
from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.schema import Field, Type
from planc.source import Span
from planc.targets._accelerate_launch import accelerate_values
from planc.targets._container import check_container, container_values
from planc.targets._faults import LAUNCH_FAULTS
from planc.targets._launch import check_launch, choice_of, deepspeed_flags, key_span, launch_values, option, written
from planc.targets._megatron_launch import passes_flags
from planc.targets._record import NO_RECORD, check_record, makes_record, record_files
from planc.targets._shell import is_bare, render
from planc.targets._slurm_faults import (
    ARRAY,
    LATE_SIGNAL,
    LAUNCHER,
    LOG_FOLDER,
    OPTION_VALUE,
    OTHER_CARDS,
    OWNED_OPTION,
    REQUEUED,
    RESTARTS,
    SLURM_FAULTS,
    UNSAFE_TEXT,
)
from planc.targets._slurm_options import FLAGS, VALUED
from planc.targets._slurm_signal import signal_of, signal_text
from planc.targets.target import EmittedFile, Start, Target

_KEY = re.compile(r"[a-z][a-z0-9-]*")
_COUNT = re.compile(r"[0-9]{1,9}")

_TASKS = "leave it out: the option `launcher` decides how many tasks a node has, and they start the ranks"
_CARDS = "leave it out: the job asks for `cluster.gpus_per_node` cards a node, and each rank sees them all"

#: Options of sbatch that follow from the plan, and what to do instead of setting them.
_OWNED: dict[str, str] = {
    "nodes": "set `cluster.nodes`",
    "ntasks": _TASKS, "ntasks-per-node": _TASKS, "tasks-per-node": _TASKS, "ntasks-per-gpu": _TASKS,
    "gpus": _CARDS, "gpus-per-node": "set `cluster.gpus_per_node`", "gpus-per-task": _CARDS, "gpus-per-socket": _CARDS,
    "tres-per-task": _CARDS, "gpu-bind": _CARDS,
    "cpus-per-task": "set `cluster.cpu_cores`", "cpus-per-gpu": "set `cluster.cpu_cores`",
    "time": "set `launch.walltime`", "job-name": "leave it out: the job has the plan's name",
    "wrap": "leave it out: the job starts `launch.script`",
}  # fmt: skip


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a Slurm job cannot do for the plan."""
    choice = choice_of(plan, "slurm")
    if choice is not None and option(plan, "slurm", "launcher") == "accelerate" and not plan.emits("accelerate"):
        yield LAUNCHER.at(
            choice.options["launcher"].span, "`accelerate` is not emitted", help=("emit `accelerate` too",)
        )
    yield from _check_options(plan, facts)
    yield from check_record(plan)
    if choice is not None:
        yield from _check_saving(plan, facts)
        yield from check_container(plan)
    restarts = written(plan, "launch.restarts")
    if restarts and option(plan, "slurm", "launcher") == "srun":
        span = plan["launch.restarts"].span
        yield RESTARTS.at(span, f"srun starts no rank again, and `restarts = {count_text(restarts)}`")
    yield from check_launch(plan, "slurm")


def _check_options(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What is wrong with a line of `#SBATCH`, one fault for each."""
    for key, value in (written(plan, "launch.slurm") or {}).items():
        span = key_span(plan, "launch.slurm", key)
        if not _KEY.fullmatch(key):
            yield UNSAFE_TEXT.at(span, f"`{key}` is no option of sbatch", "named without `--`")
        elif key in _OWNED and (key, value) != ("gpu-bind", "none"):
            yield OWNED_OPTION.at(span, f"`{key}` follows from the plan", help=(_OWNED[key],))
        elif value and not is_bare(value):
            yield UNSAFE_TEXT.at(
                span, f"the value of `{key}` cannot stand in an #SBATCH line", "no blanks, quotes, `#` or `$`"
            )
        elif key in VALUED and value == "":
            help = (f'write `{key} = "..."` with its value, or leave it out',)
            yield OPTION_VALUE.at(span, f"`{key}` has no value", "the next option would be taken for it", help=help)
        elif key in FLAGS and value:
            yield OPTION_VALUE.at(span, f"`{key}` takes no value", "a flag", help=(f'write `{key} = ""`',))
        elif key in ("output", "error") and "/" in value and value != "/dev/null":
            yield LOG_FOLDER.at(
                span, f"nothing makes the folder of `{key}` before the job starts", help=("leave the folder out",)
            )
        elif key == "gres":
            yield from _check_cards(value, facts, span)


def _check_saving(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What is wrong with a job that is to go on from what it saved."""
    given: dict[str, str] = written(plan, "launch.slurm") or {}
    saves, signal, time = plan.is_written("checkpoint"), signal_of(plan), facts["checkpoint.save_time"]
    if saves and signal is not None and signal.seconds < time:
        span = key_span(plan, "launch.slurm", "signal") if "signal" in given else plan["launch.walltime"].span
        message = f"`{signal.name}` comes {signal.seconds} s before the end, a save takes {time_text(time)}"
        yield LATE_SIGNAL.at(span, message, help=(f'write `signal = "B:{signal.name}@{_whole(time)}"` or more',))
    if "requeue" in given and not saves:
        yield REQUEUED.at(
            key_span(plan, "launch.slurm", "requeue"), "a requeued job begins again at step 0", "no checkpoint"
        )
    folder = written(plan, "checkpoint.directory")
    if folder is not None and "array" in given and not given["array"].endswith("%1"):
        span, help = key_span(plan, "launch.slurm", "array"), (f'write `array = "{given["array"]}%1"`',)
        yield ARRAY.at(span, "the jobs of an array save in the same folder", f"all in `{folder}`", help=help)


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


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`job.sbatch`; with `evidence`, what makes the record too."""
    launcher = _launcher(plan)
    values = launch_values(plan, facts)
    flags = () if launcher == "accelerate" else deepspeed_flags(plan)
    values.update(flags=flags, launcher=launcher, job_name=plan.name, options=_options(plan, facts))
    values["megatron"] = launcher != "accelerate" and passes_flags(plan)
    values["record"] = makes_record(plan)
    reads = launcher == "accelerate" or values["megatron"] or values["trainer"] or values["record"]
    values["needed"] = bool(flags) or reads
    signal = signal_of(plan)
    values["ignored"] = signal.name if signal is not None and signal.ignored else ""
    values["handed_on"] = signal.name if signal is not None and signal.to_shell else None
    values["requeue"] = "requeue" in (written(plan, "launch.slurm") or {})
    if launcher == "accelerate":
        values.update(accelerate_values(plan, values["env"]))
    names = (*(name for name, _ in values["env"]), *values["others"].values())
    values.update(container_values(plan, facts, names), inside="")
    if values["container"] and values["activate"]:  # of an environment that lies in the image
        values.update(inside=values["activate"], activate=None)
    job = EmittedFile("job.sbatch", render("slurm/job.sbatch.j2", values), executable=True)
    return (job, *record_files(plan))


def _launcher(plan: Plan) -> str:
    launcher = option(plan, "slurm", "launcher")
    if launcher is None:
        return "accelerate" if plan.emits("accelerate") and not plan.emits("torchrun") else "torchrun"
    return str(launcher)


def _options(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """The options of the job, as `name=value` or as a flag."""
    given: dict[str, str] = written(plan, "launch.slurm") or {}
    gpus, cores = facts["cluster.gpus_per_node"], written(plan, "cluster.cpu_cores")
    tasks = gpus if _launcher(plan) == "srun" else 1
    options: dict[str, object] = {"job-name": plan.name, "nodes": facts["cluster.nodes"], "ntasks-per-node": tasks}
    if _cards(given.get("gres", "")) is None:
        options["gpus-per-node"] = gpus
    if cores is None:
        options["exclusive"] = ""  # all CPUs of the node, whatever it has
    else:
        options["cpus-per-task"] = max(1, cores // tasks)
    walltime = written(plan, "launch.walltime")
    if walltime is not None:
        options["time"] = _time(walltime)
    signal = signal_text(plan)
    if signal is not None:
        options["signal"] = signal
    if "requeue" in given:
        options["open-mode"] = "append"  # else a job that starts again empties its output
    elif "no-requeue" not in given:
        options["no-requeue"] = ""
    options["output"] = "%x-%j.out"
    options.update(given)
    return tuple(name if value == "" else f"{name}={value}" for name, value in options.items())


def _time(seconds: object) -> str:
    """A time as Slurm writes it, D-HH:MM:SS, rounded up to a second."""
    minutes, second = divmod(_whole(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{days}-{hour:02}:{minute:02}:{second:02}"


def _whole(seconds: object) -> int:
    """Seconds, rounded up."""
    return int(-(-seconds // 1))  # type: ignore[operator]


TARGET = Target(
    summary="job.sbatch: a Slurm job of torchrun, accelerate or srun, on the nodes or in containers",
    proved="Slurm 22.05.8: sbatch --test-only, and a job of each launcher on two emulated nodes; containers are not",
    check=check,
    emit=emit,
    options=(
        Field(
            "launcher",
            Type("word", words=("torchrun", "accelerate", "srun")),
            None,
            "what starts the ranks; by default accelerate where the plan emits it and not torchrun, else torchrun",
        ),
    ),
    faults=(*SLURM_FAULTS, *LAUNCH_FAULTS, NO_RECORD),
    aliases=("sbatch", "srun"),
    start=Start(bare=True, containers=True),
)
