"""The pipeline does not divide the layers, and no uneven split is stated.

Why: Megatron gives every stage, and with an interleaved schedule every chunk, the same number of layers: 30
    layers on 4 stages would be 7.5 each. It refuses to start; some releases built 28 layers instead, and said
    nothing.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { first_stage_layers = 7  last_stage_layers = 7 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: choose a size that divides the layers, state an uneven split, or count the embedding and the loss as
    layers. `--unsafe-fixes` makes the change where the help names only one.

Source: Megatron-LM, get_num_layers_to_build and TransformerConfig; NVIDIA/Megatron-LM#1304.

Versions: all of Megatron. DeepSpeed and torchtitan spread the layers by themselves: see PLN107.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import chunks, counted_as_layers, nearest, options, pipeline_fits, states_split
from planc.rules._places import place, related
from planc.rules._repairs import Repair, each_size, fixes, helps, writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Layers that stages and chunks cannot share out evenly."""
    layers, stages = facts["model.layers"], facts["parallel.pipeline"]
    per_rank, extra = chunks(plan), counted_as_layers(plan)
    if facts.engine.runtime in ("deepspeed", "fsdp2") or stages == 1 or states_split(plan):
        return
    counted, slots = layers + extra, stages * per_rank
    if counted % slots == 0:
        return
    by_chunks = counted % stages == 0
    span = place(plan, "pipeline.chunks" if by_chunks else "parallel.pipeline", "parallel.pipeline")
    parts = plural(stages, "stage") + (f" x {plural(per_rank, 'chunk')}" if 1 < per_rank else "")
    total = f"{count_text(layers)} + {count_text(extra)}" if extra else count_text(layers)
    noun = "layer" if counted == 1 else "layers"
    share = f"{quotient_text(counted, slots)} a {'chunk' if 1 < per_rank else 'stage'}"
    repairs = tuple(_advice(plan, facts, layers, stages, per_rank))
    yield Diagnostic(
        f"{parts} do not divide {total} {noun}",
        Label(span, f"{plural(counted, 'slot' if extra else 'layer')} / {count_text(slots)} = {share}"),
        related(
            plan,
            span,
            ("model.layers", plural(layers, "layer")),
            ("parallel.pipeline", ""),
            ("pipeline.chunks", ""),
            ("pipeline.embedding_as_layer", "one more"),
            ("pipeline.loss_as_layer", "one more"),
        ),
        help=helps(repairs),
        fixes=fixes(repairs),
    )


def _advice(plan: Plan, facts: Facts, layers: int, stages: int, per_rank: int) -> Iterator[Repair]:
    counted = layers + counted_as_layers(plan)
    sizes = nearest(stages, pipeline_fits(plan, facts), least=2)
    counts = nearest(per_rank, lambda count: counted % (stages * count) == 0, least=2) if 1 < per_rank else ()
    if sizes or counts:
        shown = options("pipeline", sizes) + options("chunks", counts)
        edits = each_size(plan, "parallel.pipeline", sizes) + each_size(plan, "pipeline.chunks", counts)
        yield Repair(f"use {either(shown)}", edits)
    slots = stages * per_rank
    if counted == layers and (layers + 2) % slots == 0:
        yield Repair(
            f"`embedding_as_layer = true` and `loss_as_layer = true` fill {count_text(layers + 2)} slots",
            writing(plan, ("pipeline.embedding_as_layer", "true"), ("pipeline.loss_as_layer", "true")),
        )
    # The ends take what full middle stages leave: Megatron wants the middle even, and whole chunks at the ends.
    middle = -(-layers // slots) * per_rank * (stages - 2)
    first = (layers - middle) // 2 // per_rank * per_rank
    last = layers - middle - first
    if 2 < stages and 0 < first and last % per_rank == 0 and counted == layers:
        ends = options("first_stage_layers", (first,)) + options("last_stage_layers", (last,))
        paths = ("pipeline.first_stage_layers", count_text(first)), ("pipeline.last_stage_layers", count_text(last))
        yield Repair(f"or state the ends: {either(ends, 'and')}", writing(plan, *paths))


RULE = Rule(Severity.ERROR, "plan", check, ("model.layers", "parallel.pipeline", "pipeline"))
