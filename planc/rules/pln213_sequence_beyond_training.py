"""Samples are longer than the model was made for.

Why: rotary positions and the like have no table that ends, so the run works; but beyond `max_sequence_length` a model
    that was trained for it sees angles that it never saw, unless its positions are scaled.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      max_sequence_length = 1024
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1  sequence_length = 4096 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      max_sequence_length = 1024
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1  sequence_length = 1024 }
      precision = bf16
    }

Fix: shorter samples; or scale the positions in the program, and say the new length in the model:
    `model = m { max_sequence_length = ... }`.

Source: Hugging Face config.json, max_position_embeddings and rope_scaling.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import Repair, each_size, fixes, helps
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A sequence longer than the model states, where positions have no table (PLN211)."""
    length, longest = facts["batch.sequence_length"], facts["model.max_sequence_length"]
    if length <= longest or facts["model.positions"] == "learned":
        return
    span = place(plan, "batch.sequence_length", "batch")
    shorter = each_size(plan, "batch.sequence_length", (longest,))
    known = (Repair(f"use `sequence_length = {count_text(longest)}`", shorter),)
    yield Diagnostic(
        f"samples of {plural(length, 'token')}, the model takes {count_text(longest)}",
        Label(span, f"{count_text(length - longest)} more than `max_sequence_length`"),
        related(plan, span, ("model.max_sequence_length", ""), ("model", "")),
        help=helps(known),
        fixes=fixes(known),
    )


RULE = Rule(Severity.INFO, "plan", check, ("batch.sequence_length", "model.max_sequence_length", "model.positions"))
