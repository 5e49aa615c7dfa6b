"""torchrun: one script that starts the ranks of a node.

On one node the rendezvous is `--standalone`, so that two runs on one machine never meet. On several, every node calls
the same script; they meet at the first host of the Slurm allocation, or at `MASTER_ADDR`, with the job's id as
rendezvous id. With `launch.min_nodes` the run starts with so many of the nodes, where that leaves the plan what it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._elastic import why_not_elastic
from planc.targets._faults import ELASTIC, LAUNCH_FAULTS
from planc.targets._launch import check_launch, deepspeed_flags, launch_values, written
from planc.targets._megatron_launch import passes_flags
from planc.targets._record import NO_RECORD, check_record, makes_record, record_files
from planc.targets._shell import render
from planc.targets.target import EmittedFile, Start, Target


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a torchrun script cannot do for the plan."""
    yield from check_launch(plan, "torchrun")
    yield from check_record(plan)
    reason = None if written(plan, "launch.min_nodes") is None else why_not_elastic(plan, facts)
    if reason is not None:
        yield ELASTIC.at(plan["launch.min_nodes"].span, reason.message, reason.label, help=reason.help)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`torchrun.sh`; with `evidence`, what makes the record too."""
    values = launch_values(plan, facts)
    least = written(plan, "launch.min_nodes")
    values["least"] = least if least is not None and least < values["num_nodes"] else None
    values.update(flags=deepspeed_flags(plan), megatron=passes_flags(plan), job_name=plan.name)
    values["record"] = makes_record(plan)
    text = render("torchrun/torchrun.sh.j2", values)
    return (EmittedFile("torchrun.sh", text, executable=True), *record_files(plan))


TARGET = Target(
    summary="torchrun.sh: starts the ranks of a node, alone or with others",
    proved="torchrun of torch 2.13.0: its own parser, and runs on gloo, on two nodes and with one of two",
    check=check,
    emit=emit,
    faults=(*LAUNCH_FAULTS, NO_RECORD),
    aliases=("torch", "pytorch", "ddp"),
    start=Start(bare=True, node=True, any_nodes=True),
)
