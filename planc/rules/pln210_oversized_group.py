"""A chunk is to take more micro batches in a row than a step has.

Why: with Megatron's interleaved schedule a rank takes `group` micro batches through one chunk before the next chunk
    takes its turn. A group of more than the step has cannot be filled, and Megatron refuses it at the first step.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 2 }
      pipeline = interleaved { chunks = 2  group = 32 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 2 }
      pipeline = interleaved { chunks = 2  group = 16 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use a group between the number of stages and that of the micro batches, or leave it out: then it is the number
    of stages. `--unsafe-fixes` makes the change.

Source: megatron-core 0.16.1, pipeline_parallel/schedules.py.

Versions: Megatron core since 0.10.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known, options, world_agrees
from planc.rules._pipelines import is_underfilled
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A group that no step fills; too few micro batches for the pipeline are PLN202's."""
    passes = facts["batch.accumulation"]
    if facts.engine.name != "megatron" or facts["pipeline"] != "interleaved" or facts["parallel.pipeline"] == 1:
        return
    group = plan.value("pipeline.group")
    if not isinstance(group, int) or group <= passes or is_underfilled(plan, facts) or not world_agrees(facts):
        return
    span = place(plan, "pipeline.group")
    samples = facts["batch.global"]
    yield Diagnostic(
        f"groups of {plural(group, 'micro batch')} in a step of {count_text(passes)}",
        Label(span, f"{count_text(group - passes)} more than a replica has"),
        related(
            plan,
            span,
            ("batch.accumulation", plural(passes, "micro batch")),
            ("batch.global", plural(samples, "sample") if known(samples) else ""),
        ),
        help=(f"use {options('group', (passes,))[0]}, or a smaller one",),
        fixes=each_size(plan, "pipeline.group", (passes,)),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("pipeline", "parallel.pipeline", "batch.accumulation"))
