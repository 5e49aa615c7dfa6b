"""The job ends before its first checkpoint.

Why: checkpoints are written every `checkpoint.every`, and the walltime is shorter: each job ends with nothing
    saved, and the next begins again where this one began. Of an interval in steps the predicted time of a step
    counts.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  inter_node = 50 GB/s }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      launch   { script = "train.py"  walltime = 2 h }
      train    { duration = 20_000 steps }
      checkpoint { every = 4 h }
      batch    { global = 256  micro = 1  sequence_length = 8192 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  inter_node = 50 GB/s }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      launch   { script = "train.py"  walltime = 6 h }
      train    { duration = 20_000 steps }
      checkpoint { every = 1 h }
      batch    { global = 256  micro = 1  sequence_length = 8192 }
      precision = bf16
    }

Fix: save more often than a job ends; the help names an interval that gives each job several checkpoints.

Source: sbatch(1), --time.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from planc.diagnostics.amounts import time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import TIME, Amount
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules.rule import Rule

_DOUBT = Fraction(3, 2)  # predicted steps may take that much less time than predicted


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An interval over the walltime, unless the run is done by then."""
    walltime, every = facts["launch.walltime"], facts["checkpoint.every"]
    interval = facts["checkpoint.planned_interval"]
    doubt = 1 if every.dimension == TIME else _DOUBT
    if not known(interval) or interval <= walltime * doubt:
        return
    run = facts["train.time"]
    if known(run) and run <= walltime * _DOUBT:
        return
    span = place(plan, "launch.walltime")
    yield Diagnostic(
        f"first save due after {time_text(interval)}, the walltime is {time_text(walltime)}",
        Label(span, "the job ends with nothing saved"),
        related(plan, span, ("checkpoint.every", f"every {amount_words(every)}")),
        help=(f"save more often, such as `every = {_shorter(every, walltime / interval)}`",),
    )


def _shorter(every: Amount, share: Any) -> str:
    """An interval of which several fit into the walltime, in the unit of the plan's."""
    part = every.value * share / 4
    return f"{max(1, int(part / 60))} min" if every.dimension == TIME else f"{max(1, int(part))} steps"


RULE = Rule(Severity.WARNING, "plan", check, ("launch.walltime", "checkpoint.every"))
