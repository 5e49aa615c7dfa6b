"""The sequences are longer than the model has learned positions.

Why: learned positions are a table with `max_sequence_length` rows. A token behind the last row has none: the
    look-up fails on the card with a device-side assertion, or Megatron refuses at start-up.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      positions = learned  max_sequence_length = 2048
    }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2 }
      batch    { global = 64  micro = 1  sequence_length = 4096 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      positions = learned  max_sequence_length = 2048
    }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2 }
      batch    { global = 64  micro = 1  sequence_length = 2048 }
      precision = bf16
    }

Fix: cut the sequences to what the model takes, or describe a model with more positions. `--unsafe-fixes` cuts the
    sequences.

Source: Megatron-LM, arguments.py (max-position-embeddings); torch.nn.Embedding, whose indices are below its number
    of rows.

Versions: all. Rotary positions have no last row and are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import in_the_manner_of
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More tokens than rows."""
    length, rows = facts["batch.sequence_length"], facts["model.max_sequence_length"]
    if facts["model.positions"] != "learned" or length <= rows:
        return
    span = place(plan, "batch.sequence_length")
    fit = in_the_manner_of(plan["batch.sequence_length"].span.text, rows)
    yield Diagnostic(
        f"{plural(length, 'token')} a sequence, and {plural(rows, 'learned position')}",
        Label(span, f"{plural(length - rows, 'token')} without a position"),
        related(plan, span, ("model.max_sequence_length", plural(rows, "row")), ("model.positions", "")),
        help=(f"use `sequence_length = {fit}`",),
        fixes=writing(plan, ("batch.sequence_length", fit)),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("batch.sequence_length", "model.max_sequence_length", "model.positions"))
