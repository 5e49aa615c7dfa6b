"""The job ends before the run does, and nothing is saved.

Why: Slurm kills the job when its walltime is over. By the predicted time of a step the run is not done by then,
    and without a checkpoint nothing of it remains. Runs that save may go on in the next job, so they are not
    reported here.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  inter_node = 50 GB/s }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      launch   { script = "train.py"  walltime = 1 h }
      train    { duration = 2000 steps }
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
      launch   { script = "train.py"  walltime = 48 h }
      train    { duration = 2000 steps }
      batch    { global = 256  micro = 1  sequence_length = 8192 }
      precision = bf16
    }

Fix: allow the time that the help names, or save checkpoints and go on from them in the next job.

Source: sbatch(1), --time; the step time is that of the cost model (`planc explain`).

Versions: all. It speaks only where the predicted time is at least half as long again as the walltime.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from planc.diagnostics.amounts import plural, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent, known
from planc.rules._places import place, related
from planc.rules.rule import Rule

_DOUBT = Fraction(
    3, 2
)  # predicted steps may take that much less time than predicted; docs/cost-model.md has the distribution
_HOUR = 3600


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A walltime that the predicted run passes beyond doubt, where nothing is saved on the way."""
    if not absent(plan, "checkpoint"):
        return
    seconds, walltime = facts["train.time"], facts["launch.walltime"]
    if not known(seconds) or seconds <= walltime * _DOUBT:
        return
    span = place(plan, "launch.walltime")
    yield Diagnostic(
        f"the run takes about {time_text(seconds)}, its job ends after {time_text(walltime)}",
        Label(span, f"no checkpoint, and about {plural(ceil(facts['train.steps']), 'step')} to do"),
        related(plan, span, ("train.duration", f"about {time_text(facts['step.taken'])} a step")),
        help=(f"use `walltime = {ceil(seconds * _DOUBT / _HOUR)} h`, or add a `checkpoint` section",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.walltime", "train.steps"))
