"""The pipeline stands idle for more than a fifth of the step.

Why: stages wait while the first micro batch comes and the last one leaves: (s - 1) / (m + s - 1) of the step
    with s stages and m micro batches, (s - 1) / (v m + s - 1) with v chunks a rank. 8 stages and 8 micro
    batches idle for 46.7 % of it.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 8 }
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
      parallel { pipeline = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use more micro batches (a larger global batch, a smaller micro batch), fewer stages, or an interleaved
    schedule. `--unsafe-fixes` makes the change where the help names only one.

Source: Narayanan et al., Efficient Large-Scale Language Model Training (2021), section 2.2.

Versions: all; the schedules `zero-bubble` and `dual` have no formula here yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, percent_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import chunks, is_reached, world_agrees
from planc.rules._pipelines import IDLE_PERCENT, advice, is_underfilled
from planc.rules._places import place, related
from planc.rules._repairs import fixes, helps
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An idle share over the limit; a pipeline that is not even filled is PLN202's."""
    if facts["pipeline"] not in ("1f1b", "interleaved"):
        return  # the label and the help have the arithmetic of these two
    idle = facts["pipeline.bubble"]
    if 100 * idle <= IDLE_PERCENT or is_underfilled(plan, facts) or not world_agrees(facts):
        return
    if not is_reached(facts):
        return
    stages, passes, virtual = facts["parallel.pipeline"], facts["batch.accumulation"], chunks(plan)
    span = place(plan, "parallel.pipeline")
    waits = count_text(stages - 1)
    work = f"{count_text(virtual)} x {count_text(passes)}" if 1 < virtual else count_text(passes)
    repairs = tuple(advice(plan, facts))
    yield Diagnostic(
        f"the pipeline stands idle for {percent_text(idle)} of the step",
        Label(span, f"{waits} / ({work} + {waits}) with {plural(stages, 'stage')} and {plural(passes, 'micro batch')}"),
        related(
            plan,
            span,
            ("batch.accumulation", ""),
            ("batch.global", plural(passes, "micro batch") + " a step"),
            ("batch.micro", ""),
            ("pipeline", ""),
        ),
        help=helps(repairs),
        fixes=fixes(repairs),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("pipeline.bubble", "parallel.pipeline", "batch.accumulation"))
