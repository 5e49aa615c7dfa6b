"""FSDP2 and the script are both told to recompute activations.

Why: the file for accelerate has FSDP2 recompute each layer. The flag has the model do it as well: the Hugging
    Face Trainer stops before the first step, and a loop that does not look computes each layer a third time.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      emit     = [accelerate]
      launch   { script = "train.py"  args = ["--gradient_checkpointing"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the flag out: FSDP2's own recomputation frees a layer's weights between the passes, the model's
    keeps the all-gather for a third time.

Source: transformers 5.23, trainer.py: fsdp_plugin.activation_checkpointing and the training argument exclude
    each other. transformers issue 30404.

Versions: accelerate with FSDP2. `--activation_checkpointing` is the name from transformers 5 on,
    `--gradient_checkpointing` before.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._arguments import recomputing_argument
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A flag beside the recomputation that accelerate's file switches on."""
    argument = recomputing_argument(plan)
    by_file = plan.emits("accelerate") and facts.engine.runtime == "fsdp2" and facts["recompute"] == "full"
    if argument is None or not by_file:
        return
    span = place(plan, "launch.args")
    yield Diagnostic(
        f"activations are recomputed by FSDP2 and by `{argument.flag}`",
        Label(span, "the Trainer stops at both"),
        related(plan, span, ("recompute", "FSDP2 is told so by accelerate's file")),
        help=(f"remove `{argument.flag}`",),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.args", "recompute"))
