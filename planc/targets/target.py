"""What a target is. A target is one file, `planc/targets/torchrun.py`, with `templates/torchrun/` beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Fault
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import Field


class EmittedFile(NamedTuple):
    """A file below the plan's folder: relative path with `/`, text ending in a newline, and whether it is run."""

    path: str
    text: str
    executable: bool = False


class Start(NamedTuple):
    """What the scripts of a target start, and how; what other targets have to know of it.

    bare: the program of `launch.script`, without what a trainer's own script passes to it.
    own: a trainer's own program, with its settings; program: what a checkout calls that one, where `launch.script` has
    to name it. alone: whether a script that starts a bare program has no part in it, even with what it passes.
    node: the script starts the ranks of one node, and can be carried to it.
    containers: the container of `launch.container`. any_nodes: nothing in the files depends on the number of nodes.
    """

    bare: bool = False
    own: bool = False
    program: str = ""
    alone: bool = False
    node: bool = False
    containers: bool = False
    any_nodes: bool = False


class Target(NamedTuple):
    """How a plan is written for one consumer.

    summary: what is written, for `planc targets`; proved: the consumer and version that the tests hand it to.
    check: yields diagnostics of `faults` for what the target cannot express; runs in `lint`.
    emit: the files; called only if no error was reported, so every fact that it needs is known.
    engines: the byte conventions of the trainers it configures (`deepspeed`, `fsdp2`, `megatron`); none for launchers.
    variants: those of the engines for which files are written of a plan, where not all of them can say every plan.
    options: fields that `emit = [name { option = value }]` may set.
    gradients: of a trainer, the dtype of gradients by default; `weights`: that of the matrix products. Empty for what
    trains nothing. aliases: other names that people have for it, or for what reads its files.
    start: what its scripts start. module: the program imports a module that is compiled for it.
    timeout: its files or its environment carry the timeout of collectives.
    """

    summary: str
    proved: str
    check: Callable[[Plan, Facts], Iterator[Diagnostic]]
    emit: Callable[[Plan, Facts], tuple[EmittedFile, ...]]
    engines: tuple[str, ...] = ()
    options: tuple[Field, ...] = ()
    faults: tuple[Fault, ...] = ()
    variants: Callable[[Plan], tuple[str, ...]] = lambda plan: ()
    gradients: str = ""
    aliases: tuple[str, ...] = ()
    start: Start = Start()
    module: bool = False
    timeout: bool = False

    @property
    def trains(self) -> bool:
        """Whether it configures a trainer."""
        return bool(self.gradients)
