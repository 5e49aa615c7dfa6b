"""The run goes on from a step at which nothing was saved.

Why: the plan that wrote the checkpoints saved every so many steps. Between two of them there is none: the
    program finds no folder of this step and stops, or begins at step 0.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      resume   { directory = "/ckpt/before"  saved_by = before  step = 5250 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      resume   { directory = "/ckpt/before"  saved_by = before  step = 5000 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name a step that was saved; the help names those on either side. `--unsafe-fixes` writes it where there is
    only one.

Source: Megatron-LM, --ckpt-step; torchtitan, checkpoint.load_step: the folder of that step.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import STEPS, Amount
from planc.rules._numbers import multiples, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A step that is no multiple of the interval, nor the last one of the run that saved."""
    step, every = facts["resume.step"], plan.value("resume.saved_by.checkpoint.every")
    duration = plan.value("resume.saved_by.train.duration")
    if not isinstance(every, Amount) or every.dimension != STEPS or not isinstance(every.value, int) or every.value < 1:
        return
    if step % every.value == 0 or not isinstance(duration, Amount) or duration.dimension != STEPS:
        return
    if step == duration.value:
        return
    span, name = place(plan, "resume.step"), plan.value("resume.saved_by")
    saved = [f"`step = {count_text(size)}`" for size in multiples(step, every.value) if size <= duration.value]
    yield Diagnostic(
        f"`{name}` saved nothing at step {count_text(step)}",
        Label(span, f"it saves every {amount_words(every)}"),
        related(plan, span, ("resume.saved_by", "")),
        help=use(saved),
        fixes=each_size(plan, "resume.step", multiples(step, every.value)),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("resume.step", "resume.saved_by"))
