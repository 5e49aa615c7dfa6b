"""A smaller batch of the ramp does not fill the groups of the interleaved schedule.

Why: Megatron's interleaved schedule takes micro batches in groups, of as many as there are stages unless `group`
    says more, and refuses a step whose last group is smaller than the pipeline. The full batch may suit, and the
    first sizes of the ramp not: with 2 replicas and micro batches of 1, a start of 4 samples is 2 micro batches for
    4 stages.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline = interleaved { chunks = 2 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  ramp = linear { start = 4  increment = 4  over = 1M samples } }
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
      pipeline = interleaved { chunks = 2 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  ramp = linear { start = 8  increment = 8  over = 1M samples } }
      precision = bf16
    }

Fix: start at, and grow by, whole groups of micro batches on every replica. `--unsafe-fixes` makes the change.

Source: megatron-core 0.16.1, pipeline_parallel/schedules.py.

Versions: Megatron core. Sizes that a resumed run has left behind are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import options, world_agrees
from planc.rules._pipelines import group_size, is_underfilled
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_MOST_SIZES = 1024  # of a ramp that are looked at


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first size of a linear ramp that leaves a group unfilled, where the full batch fills them all."""
    stages, per_pass, full = facts["parallel.pipeline"], facts["batch.per_pass"], facts["batch.global"]
    if facts.engine.name != "megatron" or facts["pipeline"] != "interleaved" or facts["batch.ramp"] != "linear":
        return
    if stages == 1 or plan.value("resume") is not None or not world_agrees(facts) or is_underfilled(plan, facts):
        return
    start, increment = plan.value("batch.ramp.start"), plan.value("batch.ramp.increment")
    if not (isinstance(start, int) and isinstance(increment, int)) or start % per_pass or increment % per_pass:
        return  # replicas that a size leaves over are PLN206's
    group = group_size(plan, facts)
    sizes = range(start, min(full, start + _MOST_SIZES * increment), increment)
    short = next((size for size in sizes if not _is_filled(size // per_pass, group, stages)), None)
    if short is None:
        return
    passes, whole = short // per_pass, per_pass * group
    fits = full % whole == 0 and whole < full
    span = place(plan, "batch.ramp.start" if short == start else "batch.ramp.increment")
    shown = [*options("start", (whole,)), *options("increment", (whole,))]
    texts = ("batch.ramp.start", count_text(whole)), ("batch.ramp.increment", count_text(whole))
    yield Diagnostic(
        f"{plural(short, 'sample')} of the ramp leave a group of micro batches short",
        Label(span, f"{plural(passes, 'micro batch')} a replica, in groups of {count_text(group)}"),
        related(
            plan,
            span,
            ("batch.ramp.start", ""),
            ("batch.ramp.increment", ""),
            ("parallel.pipeline", plural(stages, "stage")),
            ("pipeline.group", ""),
        ),
        help=(f"use {either(shown, 'and')}",) if fits else (f"use multiples of {plural(whole, 'sample')}",),
        fixes=writing(plan, *texts) if fits else (),
    )


def _is_filled(passes: int, group: int, stages: int) -> bool:
    return group <= passes and (passes % group == 0 or stages <= passes % group)


RULE = Rule(
    Severity.ERROR, "plan", check, ("batch.ramp", "batch.global", "batch.per_pass", "parallel.pipeline", "pipeline")
)
