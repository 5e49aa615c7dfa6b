"""The layers are split over the stages in two ways that Megatron does not combine.

Why: layers at the ends, an embedding or loss that counts as a layer, and a layout string each say how many layers a
    stage has. Megatron takes one of them and refuses two.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { first_stage_layers = 7  last_stage_layers = 7  embedding_as_layer = true }
      emit     = [megatron]
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
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave all but one of them out. `--unsafe-fixes` switches off what counts as a layer beside layers at the ends.

Source: megatron-core 0.16.1, TransformerConfig.

Versions: Megatron core: the layout string since 0.13.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related, stands
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_ENDS = ("pipeline.first_stage_layers", "pipeline.last_stage_layers")
_COUNTED = ("pipeline.embedding_as_layer", "pipeline.loss_as_layer")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Two splits of one pipeline."""
    if facts.engine.name != "megatron" or facts["parallel.pipeline"] == 1:
        return
    ends = [path for path in _ENDS if stands(plan, path) and isinstance(plan.value(path), int)]
    counted = [path for path in _COUNTED if plan.value(path) is True]
    laid_out = ["pipeline.layout"] if isinstance(plan.value("pipeline.layout"), str) else []
    splits = [paths for paths in (laid_out, ends, counted) if paths]
    if len(splits) < 2:
        return
    span = place(plan, splits[-1][0])
    names = [f"`{paths[0].rpartition('.')[2]}`" for paths in splits]
    off = [(path, "false") for path in counted] if not laid_out else []
    yield Diagnostic(
        f"layers are split by {either(names, 'and')} at once",
        Label(span, "Megatron takes one of them"),
        related(plan, span, *((path, "") for paths in splits for path in paths)),
        help=(f"use {_switched_off(off)}" if off else f"leave out all but {names[0]}",),
        fixes=writing(plan, *off),
    )


def _switched_off(changes: list[tuple[str, str]]) -> str:
    return either([f"`{path.rpartition('.')[2]} = {text}`" for path, text in changes], "and")


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.pipeline", "pipeline"))
