"""The run goes on from a step behind its end.

Why: the length of a run counts from its first step, not from the one at which it goes on. At step 10,000 of
    5,000 there is nothing to do: the program loads the checkpoint and ends.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { duration = 5000 steps }
      resume   { directory = "/ckpt/a"  step = 10_000 }
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
      train    { duration = 20_000 steps }
      resume   { directory = "/ckpt/a"  step = 10_000 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a `train.duration` that holds the steps already done; the help adds them.

Source: Megatron-LM, train_iters; torchtitan, training.steps; transformers 5.23, trainer.py, max_steps: all
    count from the first step.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A step at or behind the steps of the run."""
    step, steps = facts["resume.step"], facts["train.steps"]
    if step < steps or step == 0:
        return
    span = place(plan, "resume.step")
    yield Diagnostic(
        f"the run goes on at step {count_text(step)} of {count_text(steps)}",
        Label(span, "nothing is left to do"),
        related(plan, span, ("train.duration", f"{plural(steps, 'step')}, counted from the first")),
        help=(f"for as many steps more, use `duration = {count_text(step + steps)} steps`",),
        fixes=writing(plan, ("train.duration", f"{count_text(step + steps)} steps")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("resume.step", "train.steps"))
