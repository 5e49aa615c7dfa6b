"""The pipeline's stages hold unlike numbers of layers.

Why: DeepSpeed and torchtitan spread layers over stages as evenly as they go. Every micro batch waits for the
    longest stage: 30 layers on 4 stages run at the pace of 8 a stage where 7.5 are the mean, so 6 % of the
    cards' time is lost.

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
      emit     = [deepspeed]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Fix: choose a pipeline size that divides the layers. `--unsafe-fixes` makes the change where the help names only
    one.

Source: DeepSpeed, PipelineModule(partition_method); torchtitan, pipeline_parallel: stages differ by at most
    one layer.

Versions: all. Megatron refuses such a split: see PLN106.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, percent_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.arithmetic import divide
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import (
    chunks,
    counted_as_layers,
    nearest,
    options,
    pipeline_fits,
    states_split,
    trained_only_by,
)
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Layers that the trainer spreads unevenly; where Megatron trains the plan too, PLN106 has said so."""
    layers, stages = facts["model.layers"], facts["parallel.pipeline"] * chunks(plan)
    counted = layers + counted_as_layers(plan)
    if not trained_only_by(plan, "deepspeed", "fsdp2") or states_split(plan) or counted % stages == 0:
        return
    longest = -(-counted // stages)
    span = place(plan, "parallel.pipeline")
    lost = percent_text(1 - divide(counted, stages * longest))
    lengths = f"{count_text(longest)} and {count_text(longest - 1)}"
    sizes = nearest(facts["parallel.pipeline"], pipeline_fits(plan, facts), least=2)
    choices = either(options("pipeline", sizes))
    yield Diagnostic(
        f"{plural(counted, 'layer')} on {plural(stages, 'stage')} leave stages of {lengths}",
        Label(span, f"the longest stage sets the pace, so {lost} of the cards' time is lost"),
        related(plan, span, ("model.layers", plural(layers, "layer"))),
        help=(f"{choices} {'divides' if len(sizes) == 1 else 'divide'} the layers",) if sizes else (),
        fixes=each_size(plan, "parallel.pipeline", sizes),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("model.layers", "parallel.pipeline", "pipeline"))
