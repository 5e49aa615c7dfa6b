"""env: the environment of a run, for those who start it in another way than planc's launch scripts do.

`env.sh` exports what all of these scripts export: the plan's own variables, and those that planc adds, each with its
reason. Sourced in bash, it leaves alone what is set already; called with a command, it runs the command in that
environment. The options say which folders hold what, for the other scripts of the plan too.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets._faults import TIMEOUT, UNLIKE_NODES, UNSETTABLE_VARIABLE, example, fault
from planc.targets._launch import check_nodes, check_variables, choice_of, environment_values, option
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target

#: Fields of `launch` that are more than a variable, so that somebody else has to follow them.
_LAUNCH = (
    "script", "args", "walltime", "restarts", "min_nodes", "venv", "modules", "container", "slurm", "kubernetes",
)  # fmt: skip

LEFT = fault(
    "PLN925",
    "left-to-the-launcher",
    "Only the environment is written, and the plan says more of how it is started.",
    why="`env.sh` sets variables and starts nothing: the program, its limits and what it runs in are up to its caller.",
    example=example('emit = [env]  launch { script = "train.py"  restarts = 3 }'),
    instead=example('emit = [env, torchrun]  launch { script = "train.py"  restarts = 3 }'),
    fix="nothing, if the launcher does as the plan says; or emit a launcher too.",
    source="templates/env/env.sh.j2.",
    versions="planc 0.1.",
    severity=Severity.INFO,
)

FOLDER = fault(
    "PLN926",
    "unusable-cache-folder",
    "An option of `env` names a folder that is another one on every start, or none.",
    why="a relative path lies in the folder from which each process happens to be started, text is quoted, so that `~` "
    "and `$HOME` stay as they are, and downloads in a folder of the node are fetched again by every node.",
    example=example('emit = [env { data_cache = "~/hf" }]'),
    instead=example('emit = [env { data_cache = "/shared/hf" }]'),
    fix="write the whole path: of a shared file system for `data_cache`, of the node's disk for `build_cache`.",
    source="bash(1), Tilde Expansion; huggingface_hub, HF_HOME.",
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a block of variables cannot do for the plan."""
    yield from check_nodes(plan, "env")
    yield from check_variables(plan)
    for name in ("data_cache", "build_cache"):
        folder = option(plan, "env", name)
        if folder is not None and not folder.startswith("/"):
            choice = choice_of(plan, "env")
            span = plan.span if choice is None else choice.options[name].span
            yield FOLDER.at(span, f'`"{folder}"` is no whole path', help=('write it as in "/shared/cache"',))
    choice = choice_of(plan, "env")
    left = [f"launch.{name}" for name in _LAUNCH if plan.is_written(f"launch.{name}")]
    if choice is not None and left and len(plan.targets) == 1:
        listed = ", ".join(f"`{path}`" for path in left)
        yield LEFT.at(choice.span, "`env` starts nothing", "variables only", notes=(f"left to its caller: {listed}",))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`env.sh`."""
    return (EmittedFile("env.sh", render("env/env.sh.j2", environment_values(plan, facts)), executable=True),)


TARGET = Target(
    summary="env.sh: the variables of a run, each with its reason",
    proved="bash 5.2, sourced and called, and a run of torch 2.13.0 on gloo",
    check=check,
    emit=emit,
    options=(
        Field(
            "data_cache",
            Type("text"),
            None,
            "folder that all nodes share, where Hugging Face's libraries put what they download (`HF_HOME`)",
        ),
        Field(
            "build_cache",
            Type("text"),
            None,
            "folder of the node under which kernels are built; by default that of temporary files",
        ),
    ),
    faults=(LEFT, FOLDER, UNLIKE_NODES, UNSETTABLE_VARIABLE, TIMEOUT),
    aliases=("environment", "dotenv"),
    start=Start(any_nodes=True),
)
