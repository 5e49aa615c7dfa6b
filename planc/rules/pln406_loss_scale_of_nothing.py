"""The loss is multiplied by nothing.

Why: the gradients are those of `loss_scale` times the loss, divided by it again. With 0 they are all 0, and 0
    / 0 is NaN: the run would learn nothing. DeepSpeed reads 0 as a word for a scale that it finds itself,
    which the plan calls `auto`.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp16 { loss_scale = 0 }
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp16 { loss_scale = auto }
    }

Fix: `auto`, or a power of two such as 65536. `--unsafe-fixes` writes `auto`.

Source: DeepSpeed 0.19.8, runtime/fp16/loss_scaler.py: 0 is dynamic; Megatron-LM, optimizer/grad_scaler.py,
    asserts a scale above 0.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A scale of 0."""
    if facts["precision.loss_scale"] != 0:
        return
    yield Diagnostic(
        "loss scale 0 makes every gradient 0",
        Label(place(plan, "precision.loss_scale", "precision"), "0 x loss, divided by 0 again"),
        help=("use `loss_scale = auto` or `loss_scale = 65536`",),
        fixes=writing(plan, ("precision.loss_scale", "auto")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("precision.loss_scale",))
