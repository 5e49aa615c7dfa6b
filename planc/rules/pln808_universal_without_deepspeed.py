"""Universal checkpoints are asked of a trainer that does not write them.

Why: the universal format is DeepSpeed's: its tool makes one of a ZeRO checkpoint. The distributed checkpoints
    of PyTorch and Megatron can be loaded in another layout as they are, and have no such format.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      checkpoint { every = 500 steps  format = universal }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
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
      shard    { stage = 3 }
      checkpoint { every = 500 steps  format = sharded }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use `sharded`. `--unsafe-fixes` writes it.

Source: deepspeed 0.19.8, checkpoint/ds_to_universal.py; torch 2.13, torch.distributed.checkpoint.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import trained_only_by
from planc.rules._places import place
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """DeepSpeed's format in a plan that DeepSpeed does not train."""
    if facts["checkpoint.format"] != "universal" or not trained_only_by(plan, "fsdp2", "megatron"):
        return
    span = place(plan, "checkpoint.format")
    yield Diagnostic(
        "the universal format is DeepSpeed's alone",
        Label(span, "no emitted trainer writes it"),
        help=("use `format = sharded`, which loads in other layouts",),
        fixes=writing(plan, ("checkpoint.format", "sharded")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("checkpoint.format",))
