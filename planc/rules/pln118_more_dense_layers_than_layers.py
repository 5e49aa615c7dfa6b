"""More leading layers are dense than the model has layers.

Why: `dense_layers` counts the layers before the first one with experts; they are part of `layers`. With
    more of them than layers every number that is derived of the model is wrong.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024  dense_layers = 9 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024  dense_layers = 1 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: correct `dense_layers` or `layers`.

Source: Hugging Face, DeepseekV3Config.first_k_dense_replace.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More dense layers than layers."""
    dense, layers = facts["model.experts.dense_layers"], facts["model.layers"]
    if dense <= layers:
        return
    span = place(plan, "model.experts.dense_layers")
    yield Diagnostic(
        f"{plural(dense, 'dense layer')} in a model of {plural(layers, 'layer')}",
        Label(span, f"{count_text(layers)} - {count_text(dense)} layers are left for experts"),
        related(plan, span, ("model.layers", plural(layers, "layer"))),
        help=(f"use less than `dense_layers = {count_text(layers)}`",),
    )


RULE = Rule(Severity.ERROR, "model", check, ("model.experts.dense_layers", "model.layers"))
