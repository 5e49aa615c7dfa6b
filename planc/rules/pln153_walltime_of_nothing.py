"""The job's walltime is zero.

Why: Slurm takes a time limit of 0 for a wish to have none, so the job runs for as long as its partition lets it, or
    is refused where the partition has a limit: the opposite of what is written.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  walltime = 0 h }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [slurm]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  walltime = 24 h }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [slurm]
    }

Fix: write the time that the run needs, or leave `walltime` out: then the partition's own default holds.

Source: sbatch(1), --time: a limit of zero requests that there be none; tried with Slurm 22.05.8.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A walltime of 0 in a job of Slurm."""
    if facts["launch.walltime"] != 0 or not plan.emits("slurm"):
        return
    label = Label(place(plan, "launch.walltime"), "Slurm takes it for no limit, or refuses it")
    yield Diagnostic("the walltime is 0", label, help=("write the time of the run, or leave it out",))


RULE = Rule(Severity.ERROR, "plan", check, ("launch.walltime",))
