"""Steps before and after the checkpoint hold different amounts of data.

Why: the program goes on at a step, and finds its place in the data by step x batch: with another global batch
    it skips data that was not read, or reads some twice. The learning rate belongs to the batch as well.

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
      resume   { directory = "/ckpt/before"  saved_by = before  step = 5000 }
      batch    { global = 128  micro = 1 }
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

Fix: keep the batch, by `accumulation` if the ranks change, or let the program count samples.

Source: Megatron-LM, consumed_train_samples; transformers 5.23, trainer.py: batches are skipped by step.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import Amount
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Another global batch beside a step to go on from."""
    now, then = facts["batch.global"], plan.value("resume.saved_by.batch.global")
    then = then.value if isinstance(then, Amount) else then
    if not isinstance(then, int) or then == now or plan.value("batch.ramp") is not None or facts["resume.step"] == 0:
        return
    span = place(plan, "batch.global")
    yield Diagnostic(
        f"the batch was {count_text(then)} and is {count_text(now)} from step {count_text(facts['resume.step'])} on",
        Label(span, f"{plural(facts['resume.step'] * then, 'sample')} were read"),
        related(plan, span, ("resume.step", ""), ("resume.saved_by", "")),
        help=(f"use `global = {count_text(then)}`",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("resume.saved_by", "resume.step", "batch.global"))
