"""The layers of a stage are no multiple of a recomputed chunk.

Why: with `uniform` Megatron cuts the layers of each stage, or of each model chunk of it, into pieces of
    `layers`, and keeps the input of each. It does not look whether the last is whole: 4 layers in pieces of 3
    end with layers 3, 4 and 5, and the forward pass stops at an index beyond the list.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 2 }
      recompute = full { method = uniform  layers = 3 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
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
      recompute = full { method = uniform  layers = 2 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
      precision = bf16
    }

Fix: a number that divides the layers of a stage. `--unsafe-fixes` makes the change where the help names only
    one.

Source: Megatron Core 0.16.1, transformer_block.py, _checkpointed_forward.

Versions: Megatron and Megatron Bridge. An uneven split of the stages is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import chunks, counted_as_layers, nearest, options, states_split, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Uniform pieces with a rest, in an even split."""
    if facts.engine.name != "megatron" or facts["recompute.method"] != "uniform":
        return
    parts = facts["parallel.pipeline"] * chunks(plan)
    if states_split(plan) or counted_as_layers(plan) or facts["model.layers"] % parts != 0:
        return
    own, piece = facts["model.layers"] // parts, facts["recompute.layers"]
    if own % piece == 0:
        return
    span = place(plan, "recompute.layers", "recompute")
    fits = nearest(min(piece, own + 1), lambda size: size <= own and own % size == 0)
    yield Diagnostic(
        f"pieces of {count_text(piece)} layers in a stage of {count_text(own)}",
        Label(
            span, f"{count_text(own)} / {count_text(piece)} = {quotient_text(own, piece)}: the last reads past the end"
        ),
        related(plan, span, ("parallel.pipeline", ""), ("pipeline.chunks", ""), ("model.layers", "")),
        help=use(options("layers", fits)),
        fixes=each_size(plan, "recompute.layers", fits),
    )


RULE = Rule(
    Severity.ERROR, "plan", check, ("recompute.layers", "recompute.method", "model.layers", "parallel.pipeline")
)
