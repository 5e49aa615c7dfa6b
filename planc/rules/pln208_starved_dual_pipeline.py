"""A dual pipeline has fewer than two micro batches for each stage.

Why: with `dual` every rank holds two stages, and the micro batches go through them from both ends (or there and
    back). To start, each of the 2 s stages needs a micro batch: PyTorch and DeepSpeed refuse fewer than 2 s, 8 for
    4 ranks.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline = dual
      batch    { global = 8  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline = dual
      batch    { global = 16  micro = 1 }
      precision = bf16
    }

Fix: a larger global batch, a smaller micro batch or fewer stages. `--unsafe-fixes` makes the change where the help
    names only one.

Source: PyTorch 2.13, distributed/pipelining/schedules.py (ScheduleDualPipeV); DeepSpeed 0.19.8,
    runtime/pipe/schedule.py (DualPipeV); DeepSeek-V3 (2024), section 3.2.1.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._batch import global_text
from planc.rules._numbers import known, world_agrees
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Enough micro batches for the ranks, which PLN202 judges, and not for the stages."""
    ranks, passes, per_pass = facts["parallel.pipeline"], facts["batch.accumulation"], facts["batch.per_pass"]
    if facts["pipeline"] != "dual" or ranks == 1 or passes < ranks or 2 * ranks <= passes or not world_agrees(facts):
        return
    span = place(plan, "batch.accumulation", "batch.global")
    needed = 2 * ranks
    help: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    if known(per_pass) and not plan.is_written("batch.accumulation"):
        samples = global_text(plan, facts, per_pass * needed)
        help = (f"use `global = {samples}`, which makes {plural(needed, 'micro batch')}",)
        fixes = writing(plan, ("batch.global", samples))
    yield Diagnostic(
        f"{plural(passes, 'micro batch')} for a dual pipeline of {plural(needed, 'stage')}",
        Label(span, f"{count_text(ranks)} ranks hold two stages each, and each stage starts with one"),
        related(plan, span, ("parallel.pipeline", plural(ranks, "rank")), ("pipeline", ""), ("batch.micro", "")),
        help=help or (f"make it {plural(needed, 'micro batch')} or more",),
        fixes=fixes,
    )


RULE = Rule(Severity.ERROR, "plan", check, ("pipeline", "parallel.pipeline", "batch.accumulation"))
