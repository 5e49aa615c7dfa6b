"""A layout string does not lay out the layers of the model over the stages of the pipeline.

Why: Megatron-LM reads from it which layers each virtual stage holds: `E` the embedding, `t` a layer, `m` a layer
    for multi-token prediction, `L` the loss, `|` between stages; `x*n` and `(...)*n` repeat. It refuses a string of
    other letters, without embedding or loss at its ends, with another number of layers than the model has, with
    parts that the pipeline's stages do not divide, or beside another number of chunks.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 10  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { layout = "Ett|ttt|tt|ttL" }
      batch    { global = 256  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 10  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { layout = "Ett|ttt|tt|tttL" }
      batch    { global = 256  micro = 1 }
      precision = bf16
    }

Fix: count the letters; the label has the numbers.

Source: Megatron-LM, PipelineParallelLayerLayout.

Versions: Megatron core 0.13 and newer.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.facts.layouts import chunks_of
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A layout string against the model's layers and the pipeline's stages."""
    chunks = chunks_of(facts["pipeline.layout"])
    help: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    layers, mtp, stages = facts["model.layers"], facts["model.mtp_layers"], facts["parallel.pipeline"]
    if isinstance(chunks, str):
        message, text = "the layout string cannot be read", chunks
    elif (held := sum(chunk.count("t") for chunk in chunks)) != layers:
        message = f"the layout has {plural(held, 'layer')}, the model has {count_text(layers)}"
        text = "each `t` is a layer"
    elif (held := sum(chunk.count("m") for chunk in chunks)) != mtp:
        message = f"the layout has {plural(held, 'MTP layer')}, the model has {count_text(mtp)}"
        text = "each `m` is a layer for multi-token prediction"
    elif 0 < stages and len(chunks) % stages != 0:
        message = f"{plural(len(chunks), 'part')} of a layout for {plural(stages, 'stage')}"
        text = f"{count_text(len(chunks))} parts between `|`, of which each stage takes as many"
    elif _written_chunks(plan) not in (0, len(chunks) // max(1, stages)):
        per_stage, written = len(chunks) // max(1, stages), _written_chunks(plan)
        message = f"a layout of {plural(per_stage, 'part')} a stage beside {plural(written, 'chunk')}"
        text = f"{count_text(len(chunks))} parts / {plural(stages, 'stage')} = {count_text(per_stage)}"
        help = (f"use `chunks = {count_text(per_stage)}`",)
        fixes = each_size(plan, "pipeline.chunks", (per_stage,))
    else:
        return
    span = place(plan, "pipeline.layout")
    involved = related(
        plan,
        span,
        ("model.layers", ""),
        ("model.mtp_layers", ""),
        ("parallel.pipeline", ""),
        ("pipeline.chunks", "") if help else ("pipeline.layout", ""),
    )
    yield Diagnostic(message, Label(span, text), involved, help=help, fixes=fixes)


def _written_chunks(plan: Plan) -> int:
    """Chunks of the interleaved schedule; 0 where it is another, which takes what the layout has."""
    chunks = plan.value("pipeline.chunks") if plan.value("pipeline") == "interleaved" else 0
    return chunks if isinstance(chunks, int) else 0


RULE = Rule(Severity.ERROR, "plan", check, ("pipeline.layout", "model.layers", "model.mtp_layers", "parallel.pipeline"))
