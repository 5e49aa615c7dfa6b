"""The schedule is interleaved, and the pipeline has one stage.

Why: an interleaved schedule gives each rank several chunks, so that a micro batch passes through every stage
    several times and the stages wait less. With one stage nothing waits and nothing is passed on: Megatron refuses
    to make its groups.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      pipeline = interleaved { chunks = 2 }
      emit     = [megatron]
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
      parallel { pipeline = 2 }
      pipeline = interleaved { chunks = 2 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write one chunk, or the schedule `1f1b`; or split the layers over more stages. `--unsafe-fixes` writes one
    chunk.

Source: megatron-core 0.16.1, parallel_state.initialize_model_parallel; Megatron-LM, arguments.py, which reads one
    chunk as none, and takes two stages as long as sends between stages overlap (its default).

Versions: all of Megatron. Other trainers make no pipeline of one stage, and are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Several chunks on the only stage."""
    if facts.engine.name != "megatron" or facts["pipeline"] != "interleaved" or 1 < facts["parallel.pipeline"]:
        return
    chunks = plan.value("pipeline.chunks")
    if not isinstance(chunks, int) or chunks < 2:
        return
    span = place(plan, "pipeline.chunks", "pipeline")
    yield Diagnostic(
        f"{count_text(chunks)} chunks are interleaved over one pipeline stage",
        Label(span, "Megatron wants two stages or more"),
        related(plan, span, ("parallel.pipeline", "one stage")),
        help=("use `chunks = 1`, or more stages",),
        fixes=writing(plan, ("pipeline.chunks", "1")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("pipeline", "parallel.pipeline"))
