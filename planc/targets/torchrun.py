"""torchrun: one script that starts the ranks of a node.

On one node the rendezvous is `--standalone`, so that two runs on one machine never meet. On several, every node calls
the same script; they meet at the first host of the Slurm allocation, or at `MASTER_ADDR`, with the job's id as
rendezvous id.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._faults import LAUNCH_FAULTS
from planc.targets._launch import check_launch, deepspeed_flags, launch_values
from planc.targets._megatron_launch import passes_flags
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Target


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a torchrun script cannot do for the plan."""
    yield from check_launch(plan, "torchrun")


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`torchrun.sh`."""
    values = launch_values(plan, facts)
    values.update(flags=deepspeed_flags(plan), megatron=passes_flags(plan), job_name=plan.name)
    text = render("torchrun/torchrun.sh.j2", values)
    return (EmittedFile("torchrun.sh", text, executable=True),)


TARGET = Target(
    summary="torchrun.sh: starts the ranks of a node, alone or with others",
    proved="torchrun of torch 2.13.0: its own parser, and a run on gloo",
    check=check,
    emit=emit,
    faults=LAUNCH_FAULTS,
)
