"""What all launch scripts share: the program, its arguments and environment, and what a script cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Choice, Plan, Record, Unknown
from planc.source import Span
from planc.targets import emitted_targets, load_target
from planc.targets._environment import environment, script_values
from planc.targets._faults import (
    CONTAINER,
    ELASTIC,
    MISSING_SCRIPT,
    MODULE_NAME,
    TIMEOUT,
    UNLIKE_NODES,
    UNSETTABLE_VARIABLE,
    VENV,
)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: Set or kept by the shell itself: a value given to them is refused, or gone at once (bash(1), Shell Variables).
_OF_THE_SHELL = frozenset((
    "COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD", "HOME",
    "HOSTNAME", "HOSTTYPE", "IFS", "LINENO", "MACHTYPE", "OLDPWD", "OPTERR", "OPTIND", "OSTYPE", "PATH", "PIPESTATUS",
    "PPID", "PS4", "PWD", "RANDOM", "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TERM", "UID", "_",
))  # fmt: skip

#: Set by torchrun for every worker, whatever stood there before (torch.distributed.run, Environment Variables).
_OF_TORCHRUN = frozenset((
    "GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK", "ROLE_NAME", "ROLE_RANK",
    "ROLE_WORLD_SIZE", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID", "WORLD_SIZE",
))  # fmt: skip

#: Another value on every node; one value for all would make each of them the same node.
_OF_THE_NODE = frozenset(("NODE_RANK", "SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURMD_NODENAME"))

#: Names of the node itself: nodes that meet there each meet alone.
_LOOPBACK = re.compile(r"localhost(\..*)?|127\..*|::1|0\.0\.0\.0", re.IGNORECASE)


def written(plan: Record, path: str) -> Any:
    """The value of a field, or None where it is not set or faulty."""
    located = plan.find(path)
    value = None if located is None else located.value
    if isinstance(value, Unknown):
        return None
    return value.word if isinstance(value, Record) else value


def is_unset(plan: Plan, path: str) -> bool:
    """Whether nothing is written at a path; a faulty value is not nothing."""
    value = plan[path].value
    return value is None or (isinstance(value, Unknown) and value.unset)


def choice_of(plan: Plan, name: str) -> Choice | None:
    """The target of this name among those that the plan emits."""
    return next((choice for choice in plan.targets if choice.name == name), None)


def option(plan: Plan, target: str, name: str) -> Any:
    """The value of a target's option; None where the plan does not emit the target, or nothing is set."""
    choice = choice_of(plan, target)
    return None if choice is None else written(choice.options, name)


def key_span(plan: Plan, path: str, key: str) -> Span:
    """Where a key of a map stands."""
    span = plan[path].entry
    match = re.search(rf'(?<![\w-])"?{re.escape(key)}"?\s*=', span.text)
    if match is None:
        return span
    start = span.start + match.start()
    return Span(span.source, start, start + len(match[0].rstrip("= \t\r\n")))


def bare_starter(plan: Plan, *passing: str) -> str | None:
    """The first target that starts the program without what a trainer's own script passes to it; None without one.

    passing: launchers that pass it as well.
    """
    return next(
        (choice.name for choice, each in emitted_targets(plan) if each.start.bare and choice.name not in passing), None
    )


def starting_path(plan: Plan) -> str:
    """The field to blame for a program that is started otherwise than its trainer asks."""
    return "emit" if is_unset(plan, "launch.script") else "launch.script"


def for_all_nodes(plan: Plan) -> tuple[str, str]:
    """What is not right with fewer nodes for a plan of other targets than torchrun: the message, and its label."""
    names = [f"`{choice.name}`" for choice, each in emitted_targets(plan) if not each.start.any_nodes]
    return f"{either(names[:3], 'and')} cannot go on with fewer nodes", "would be left out"


def check_nodes(plan: Plan, target: str) -> Iterator[Diagnostic]:
    """What is wrong with the cluster for the files of any target: nodes that are not alike."""
    choice = choice_of(plan, target)
    if choice is not None and written(plan, "cluster.groups") and written(plan, "cluster.gpus_per_node"):
        help = ("write a plan for each group, with a cluster of its own",)
        span = plan["cluster.groups"].span
        yield UNLIKE_NODES.at(span, "no target writes files for a cluster of groups", "unlike nodes", help=help)


def check_launch(plan: Plan, target: str) -> Iterator[Diagnostic]:
    """What is wrong with the cluster and with `launch` for a script of any launcher."""
    yield from check_nodes(plan, target)
    yield from _check_script(plan, target)
    yield from check_variables(plan)
    contained = any(each.start.containers for _, each in emitted_targets(plan))
    if written(plan, "launch.container.image") is not None and not contained:
        yield CONTAINER.at(plan["launch.container"].span, "the launch scripts start no container", "would be left out")
    if target != "torchrun" and written(plan, "launch.min_nodes") is not None:
        help = ("emit `torchrun` alone, or remove `min_nodes`",)
        yield ELASTIC.at(plan["launch.min_nodes"].span, *for_all_nodes(plan), help=help)
    for module in written(plan, "launch.modules") or ():
        if module.startswith("-") or not module.strip():
            yield MODULE_NAME.at(plan["launch.modules"].span, f"`{module}` is no name of a module")
    venv = written(plan, "launch.venv")
    if venv is not None and (not venv.strip() or venv.startswith("~")):
        label = "no shell expands a quoted `~`" if venv.strip() else "activates `/bin/activate`"
        yield VENV.at(plan["launch.venv"].span, f"`{venv}` is no folder of an environment", label)


def check_variables(plan: Plan) -> Iterator[Diagnostic]:
    """What is wrong with `launch` for a script that sets variables and starts nothing."""
    for name in written(plan, "launch.env") or {}:
        reason = _why_unsettable(name)
        if reason:
            yield UNSETTABLE_VARIABLE.at(
                key_span(plan, "launch.env", name), f"the variable `{name}` cannot be set", reason
            )
    address = (written(plan, "launch.env") or {}).get("MASTER_ADDR", "")
    nodes = written(plan, "cluster.nodes")
    if nodes is not None and 1 < nodes and _LOOPBACK.fullmatch(address):
        span, label = key_span(plan, "launch.env", "MASTER_ADDR"), "every node would meet at home, and wait"
        yield UNSETTABLE_VARIABLE.at(span, f"`{address}` is another master on each of {nodes} nodes", label)
    timeout = written(plan, "launch.timeout") if plan.is_written("launch.timeout") else None
    if timeout is not None and not any(each.timeout for _, each in emitted_targets(plan)):
        yield TIMEOUT.at(plan["launch.timeout"].span, "no emitted file carries the timeout", "left to the script")


def launch_values(plan: Plan, facts: Facts) -> dict[str, Any]:
    """What the templates of all launch scripts are filled with."""
    venv = written(plan, "launch.venv")
    return {
        **environment_values(plan, facts),
        "num_nodes": facts["cluster.nodes"],
        "least": None,
        "record": False,
        "contained": written(plan, "launch.container.image") is not None,
        "script": _as_file(written(plan, "launch.script") or ""),
        "args": written(plan, "launch.args") or (),
        "activate": None if venv is None else f"{venv}/bin/activate",
        "modules": written(plan, "launch.modules") or (),
        "restarts": plan.value("launch.restarts"),
        "log_directory": written(plan, "log.directory"),
        "trainer": passes_arguments(plan),
        "compiled": any(each.module for _, each in emitted_targets(plan)),
    }


def passes_arguments(plan: Plan) -> bool:
    """Whether the scripts hand the program the path of the Trainer's arguments."""
    return bool(option(plan, "transformers", "pass_path"))


def environment_values(plan: Plan, facts: Facts) -> dict[str, Any]:
    """What the templates of the environment are filled with."""
    gpus, cores = facts["cluster.gpus_per_node"], written(plan, "cluster.cpu_cores")
    variables = environment(plan, facts)
    names_cards = any(variable.name == "NCCL_IB_HCA" for variable in variables)
    return {
        "gpus_per_node": gpus,
        "threads": None if cores is None else max(1, cores // gpus),
        "network": names_cards and 1 < facts["cluster.nodes"],
        **script_values(variables),
    }


def deepspeed_flags(plan: Plan) -> tuple[str, ...]:
    """The words that stand before the path of ds_config.json among the script's arguments; none: it is not passed."""
    flags = option(plan, "deepspeed", "config_flag")
    if flags is None and option(plan, "deepspeed", "trainer") == "hf" and not passes_arguments(plan):
        return ("--deepspeed",)
    return tuple(flags or ())


def _check_script(plan: Plan, target: str) -> Iterator[Diagnostic]:
    choice = choice_of(plan, target)
    others = [each for _, each in emitted_targets(plan)]
    program = next((each.start.program for each in (load_target(target), *others) if each.start.program), "train.py")
    help = (f'write `launch {{ script = "{program}" }}`',)
    if choice is not None and is_unset(plan, "launch.script"):
        if load_target(target).start.bare and any(each.start.alone for each in others):
            return  # a script would not help: that trainer refuses this target
        message = f"`{target}` is emitted without `launch.script`"
        yield MISSING_SCRIPT.at(choice.span, message, "starts nothing", help=help)
    elif written(plan, "launch.script") == "":
        span = plan["launch.script"].span
        yield MISSING_SCRIPT.at(span, "`launch.script` is empty", "starts nothing", help=help)


def _as_file(path: str) -> str:
    """The path, spelled so that neither a launcher nor python takes it for an option."""
    return f"./{path}" if path.startswith("-") else path


def _why_unsettable(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        return "no name of a variable: letters, digits and `_`, no digit first"
    if name in _OF_THE_SHELL or (name.startswith("BASH") and name != "BASH_ENV"):
        return "the shell sets it itself"
    if name.lower().startswith("planc_"):
        return "the launch scripts use it"
    if name in _OF_THE_NODE:
        return "it differs from node to node"
    return "torchrun sets it for every rank" if name in _OF_TORCHRUN else ""
