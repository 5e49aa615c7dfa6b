"""Rank 0 writes a whole checkpoint for longer than the other ranks wait.

Why: with `format = full` one rank writes everything, while the others stand in the next collective. They give
    up after `launch.timeout`, 10 min unless the plan says otherwise: 112 GB at 100 MB/s take 18.7 min, and the
    watchdog ends the job just after it said `saving`.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  storage = 100 MB/s }
    model small { layers = 32  hidden = 4096  heads = 32  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 500 steps  format = full }
      batch    { global = 64  micro = 1 }  shard { stage = 3 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  storage = 100 MB/s }
    model small { layers = 32  hidden = 4096  heads = 32  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 500 steps  format = sharded }
      batch    { global = 64  micro = 1 }  shard { stage = 3 }
      precision = bf16
    }

Fix: let each rank write its own part, or wait for longer than a save takes. `planc explain` shows the time of a
    save.

Source: torch/distributed/distributed_c10d.py of torch 2.13, init_process_group (10 min with NCCL); accelerate
    1.15, utils/fsdp_utils.py, save_fsdp_model: FULL_STATE_DICT is written by rank 0.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from planc.diagnostics.amounts import time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A full save that takes longer than collectives wait; storage at its declared bandwidth is the best case."""
    saving, timeout = facts["checkpoint.save_time"], facts["launch.timeout"]
    if facts["checkpoint.format"] != "full" or plan.value("checkpoint.async") is not False or saving <= timeout:
        return
    span = place(plan, "launch.timeout", "checkpoint.format")
    enough = f"{ceil(saving / 60) * 2} min"
    yield Diagnostic(
        f"rank 0 saves for {time_text(saving)}, collectives give up after {time_text(timeout)}",
        Label(span, "the other ranks wait in a collective meanwhile"),
        related(plan, span, ("checkpoint.format", "one rank writes everything"), ("checkpoint.write_time", "")),
        help=(f"use `format = sharded`, or `timeout = {enough}`",),
    )


RULE = Rule(
    Severity.WARNING, "plan", check, ("checkpoint.save_time", "launch.timeout", "checkpoint.format", "checkpoint.async")
)
