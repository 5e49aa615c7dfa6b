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


class Target(NamedTuple):
    """How a plan is written for one consumer.

    summary: what is written, for `planc targets`; proved: the consumer and version that the tests hand it to.
    check: yields diagnostics of `faults` for what the target cannot express; runs in `lint`.
    emit: the files; called only if no error was reported, so every fact that it needs is known.
    engines: the byte conventions of the trainers it configures (`deepspeed`, `fsdp2`, `megatron`); none for launchers.
    variants: those of the engines for which files are written of a plan, where not all of them can say every plan.
    options: fields that `emit = [name { option = value }]` may set.
    """

    summary: str
    proved: str
    check: Callable[[Plan, Facts], Iterator[Diagnostic]]
    emit: Callable[[Plan, Facts], tuple[EmittedFile, ...]]
    engines: tuple[str, ...] = ()
    options: tuple[Field, ...] = ()
    faults: tuple[Fault, ...] = ()
    variants: Callable[[Plan], tuple[str, ...]] = lambda plan: ()
