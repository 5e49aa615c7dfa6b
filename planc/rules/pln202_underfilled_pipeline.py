"""There are fewer micro batches than pipeline stages.

Why: a stage works on one micro batch at a time, so with fewer micro batches than stages some stand idle at
    every moment: 4 on 8 stages leave the cards idle for 64 % of the step. PyTorch's 1F1B and Megatron's
    interleaved schedule refuse to start.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 8 }
      batch    { global = 4  micro = 1 }
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

Fix: use a larger global batch, a smaller micro batch or fewer stages. Megatron's interleaved schedule takes
    micro batches in groups of at least the stages: the last group may not be smaller. `--unsafe-fixes` makes
    the change where the help names only one.

Source: Megatron-LM, pipeline_parallel/schedules.py; PyTorch 2.13, distributed/pipelining/schedules.py;
    Narayanan et al. (2021).

Versions: all. PyTorch's interleaved schedule takes fewer micro batches than stages, and nanotron one fewer;
    there PLN203 judges the idle share.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, percent_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import is_reached, known, world_agrees
from planc.rules._pipelines import advice, group_size, is_underfilled, smallest_group
from planc.rules._places import place, related
from planc.rules._repairs import fixes, helps
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A pipeline that its micro batches cannot fill."""
    if not world_agrees(facts) or not is_underfilled(plan, facts) or not is_reached(facts):
        return
    stages, passes = facts["parallel.pipeline"], facts["batch.accumulation"]
    span = place(plan, "parallel.pipeline")
    idle = facts["pipeline.bubble"]
    label = plural(stages, "stage") + (f", idle for {percent_text(idle)} of the step" if known(idle) else "")
    message = f"{plural(passes, 'micro batch')} for {plural(stages, 'pipeline stage')}"
    group = smallest_group(plan, facts)
    if group < min(passes, stages):
        message = f"the last group has {plural(group, 'micro batch')} for {plural(stages, 'pipeline stage')}"
        groups = f"groups of {count_text(group_size(plan, facts))}"
        label = f"{plural(passes, 'micro batch')} in {groups} leave {count_text(group)}"
    repairs = tuple(advice(plan, facts))
    yield Diagnostic(
        message,
        Label(span, label),
        related(
            plan,
            span,
            ("batch.accumulation", plural(passes, "micro batch")),
            ("batch.global", _passes_text(facts, passes)),
            ("batch.micro", ""),
            ("pipeline.group", ""),
            ("pipeline", ""),
        ),
        help=helps(repairs),
        fixes=fixes(repairs),
    )


def _passes_text(facts: Facts, passes: int) -> str:
    samples, per_pass = facts["batch.global"], facts["batch.per_pass"]
    if not known(samples) or not known(per_pass):
        return ""
    return f"{plural(samples, 'sample')} / {count_text(per_pass)} a pass = {plural(passes, 'micro batch')}"


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.pipeline", "batch.accumulation", "pipeline"))
