"""The run is longer than the time between failures, and saves nothing.

Why: with so many cards one of them fails about every `mtbf_per_gpu` / ranks. A run of ten times that length,
    without checkpoints, begins again ten times and never ends.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  inter_node = 50 GB/s  mtbf_per_gpu = 500 h }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      train    { duration = 20_000 steps }
      batch    { global = 256  micro = 1  sequence_length = 8192 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  inter_node = 50 GB/s  mtbf_per_gpu = 500 h }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      train    { duration = 20_000 steps }
      checkpoint { every = 1 h }
      batch    { global = 256  micro = 1  sequence_length = 8192 }
      precision = bf16
    }

Fix: save at the interval that the help names, and let the program go on from the last checkpoint.

Source: planc: `world.mtbf` and `train.time` (`planc explain --all`); failures of independent parts add up.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import number_text, plural, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent, known
from planc.rules._places import place, related
from planc.rules.rule import Rule

_DOUBT = 1.5  # predicted steps may take that much less time than predicted


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A run without a checkpoint section beyond the mean time between failures; PLN606 tells of its walltime."""
    if not absent(plan, "checkpoint"):
        return
    seconds, between, walltime = facts["train.time"], facts["world.mtbf"], facts["launch.walltime"]
    if not known(seconds) or not 0 < between or seconds <= between * _DOUBT:
        return
    if known(walltime) and walltime * _DOUBT < seconds:
        return
    span, best = place(plan, "train.duration"), facts["checkpoint.best_interval"]
    every = f"every {time_text(best)}" if known(best) else "often"
    yield Diagnostic(
        f"a run of {time_text(seconds)} saves nothing, failures come every {time_text(between)}",
        Label(span, f"{number_text(seconds / between)} failures on the way"),
        related(plan, span, ("cluster.mtbf_per_gpu", f"/ {plural(facts['world.size'], 'rank')}")),
        help=(
            f"add a `checkpoint` section that saves {every}",
            f"at one failure on average ends `duration = {int(facts['train.steps'] * between / seconds)} steps`",
        ),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("world.mtbf", "train.steps"))
