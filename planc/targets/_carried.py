"""Launch scripts that are carried to the nodes with the files that they read, and started there.

Pods, machines of a cloud and tasks of a scheduler see none of the folder into which a plan is compiled. So the files of
the plan's trainers go with the job, and the script that starts a node's ranks is the one that the trainer has itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Fault
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.source import Span
from planc.targets import emitted_targets, load_target, target_names
from planc.targets._launch import choice_of, option, written
from planc.targets._record import record_files

PORT = 29500  # torchrun's own default
WAIT = 1800  # seconds for the slowest node to fetch its image

_END = "PLANC_END"


class Carried(NamedTuple):
    """What every node gets: texts by path, the launch script among them."""

    files: Mapping[str, str]
    script: str

    @property
    def has_modules(self) -> bool:
        """Whether a module for the program was compiled, which Python has to find."""
        return any(path.endswith(".py") for path in self.files)


def own_launchers(plan: Plan) -> tuple[str, ...]:
    """The trainers of the plan that have a script with their flags in it."""
    return tuple(choice.name for choice, target in emitted_targets(plan) if target.start.own and target.start.node)


def launcher_of(plan: Plan, target: str) -> str:
    """The target whose script starts a node's ranks, as the option `launcher` of a target says, or as follows."""
    chosen, own = option(plan, target, "launcher"), own_launchers(plan)
    if chosen is not None or own:
        return str(chosen or own[0])
    return "accelerate" if plan.emits("accelerate") and not plan.emits("torchrun") else "torchrun"


def needs_script(plan: Plan, target: str) -> bool:
    """Whether `launch.script` has to name the program: some trainers start one of their own."""
    start = load_target(launcher_of(plan, target)).start
    return not start.own or bool(start.program)


def check_launcher(plan: Plan, target: str, fault: Fault, nodes: str) -> Iterator[Diagnostic]:
    """A trainer whose settings would reach no program; `nodes` is what starts the script, as in `pods`."""
    launcher, own = launcher_of(plan, target), own_launchers(plan)
    if not load_target(launcher).start.node:
        known = (f"`{name}`" for name in target_names() if load_target(name).start.node)
        notes = (f"those that do are {', '.join(known)}",)
        message = f"`{launcher}` does not start the ranks of a node"
        yield fault.at(span_of_option(plan, target, "launcher"), message, "no such launcher", notes=notes)
        return
    if launcher != "torchrun" and not plan.emits(launcher):
        help = (f"emit `{launcher}` too",)
        yield fault.at(span_of_option(plan, target, "launcher"), f"`{launcher}` is not emitted", help=help)
        return
    for choice, each in emitted_targets(plan):
        if each.start.own and (not each.start.node or choice.name != launcher):
            message = f"{nodes} do not start the command of `{choice.name}`"
            label = f"they start that of `{launcher}`" if own else "its flags would reach no program"
            help = (f"emit `{choice.name}` in another plan",)
            yield fault.at(choice.span, message, label, help=help)


def span_of_option(plan: Plan, target: str, name: str) -> Span:
    """Where an option stands, or the target's name where it is not written."""
    choice = choice_of(plan, target)
    assert choice is not None  # the target's check runs only where it is emitted
    return choice.options[name].span


def carried(plan: Plan, facts: Facts, launcher: str) -> Carried:
    """The files of the plan's trainers, and the launcher's script; other scripts are for other places."""
    files: dict[str, str] = {}
    for choice in plan.targets:
        target = load_target(choice.name)
        if target.engines:
            files.update((file.path, file.text) for file in target.emit(plan, facts) if not file.executable)
    script = next(file for file in load_target(launcher).emit(plan, facts) if file.executable)
    if launcher == "torchrun":  # it makes the record itself
        files.update((file.path, file.text) for file in record_files(plan))
    return Carried({**files, script.path: script.text}, script.path)


def port_of(plan: Plan) -> int:
    """The port at which nodes meet; on one node a plan may say 0, for any free port."""
    return int((written(plan, "launch.env") or {}).get("MASTER_PORT", PORT)) or PORT


def seconds(time: Any) -> int | None:
    """A time in whole seconds, rounded up; None where there is none."""
    return None if time is None else int(-(-time // 1))


def unpacking(files: Mapping[str, str]) -> str:
    """Commands of bash that write the files, byte for byte, into a new folder `planc_files`."""
    lines = {line for text in files.values() for line in text.split("\n")}
    end = _END
    while end in lines:
        end += "_"
    folders = sorted({path.rpartition("/")[0] for path in files} - {""})
    commands = ["planc_files=$(mktemp -d) || exit 1\n"]
    commands += [f'mkdir -p -- "${{planc_files}}"/{shlex.quote(folder)}\n' for folder in folders]
    for path, text in files.items():
        assert text.endswith("\n")
        commands.append(f"cat > \"${{planc_files}}\"/{shlex.quote(path)} << '{end}'\n{text}{end}\n")
    return "".join(commands)
