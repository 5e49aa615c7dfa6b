"""The output layer shares the embedding, and torchtitan puts them on different stages.

Why: with a pipeline the embedding lies on the first stage and the output layer on the last. Sharing one weight
    between them needs a reduction of its gradient across the stages, which Megatron and DeepSpeed have; torchtitan
    does not, and refuses to build the model.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  tied = true }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 2 }
      shard    { stage = 3 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  tied = true }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 1 }
      shard    { stage = 3 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use one stage, and shard more or add tensor ranks for memory; or untie the embedding, if the model is trained
    from the start. `--unsafe-fixes` writes one stage.

Source: torchtitan, models/common/decoder.py (weight tying with pipeline parallel).

Versions: torchtitan. Megatron core has reduced the gradient rightly beside a distributed optimizer since 0.6.0
    (NVIDIA/Megatron-LM#844).
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """One weight for two stages."""
    stages = facts["parallel.pipeline"]
    if facts.engine.name != "torchtitan" or stages == 1 or facts["model.tied"] is not True:
        return
    span = place(plan, "parallel.pipeline")
    yield Diagnostic(
        f"tied embeddings lie on two of {plural(stages, 'pipeline stage')}",
        Label(span, f"stage 1 has the embedding, stage {stages} the output layer: torchtitan shares no weight"),
        related(plan, span, ("model.tied", "the output layer shares the embedding")),
        help=("use `pipeline = 1`, or untie them in a model that is trained from the start",),
        fixes=each_size(plan, "parallel.pipeline", (1,)),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.pipeline", "model.tied"))
