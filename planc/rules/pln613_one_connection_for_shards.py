"""One connection keeps gathers from running beside products.

Why: FSDP gathers the weights of the next layer while this one computes, on a stream of its own. With
    `CUDA_DEVICE_MAX_CONNECTIONS = 1` both reach the card through one queue, and what was to overlap runs in
    turn: the time of all gathers is added to the step.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      launch   { script = "train.py"  env { CUDA_DEVICE_MAX_CONNECTIONS = "1" } }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      launch   { script = "train.py"  env { NCCL_DEBUG = "WARN" } }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the variable out; it is Megatron's, and was taken along with a launch script. `--unsafe-fixes`
    removes it.

Source: Megatron-LM, megatron/training/arguments.py, validate_args: PyTorch's FSDP2 asserts a larger value
    there.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule

_NAME = "CUDA_DEVICE_MAX_CONNECTIONS"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """One connection where FSDP2 shares weights."""
    text = variables(plan).get(_NAME, "")
    if text.strip() != "1" or facts.engine.runtime != "fsdp2" or facts["shard.stage"] < 2 or facts["world.size"] < 2:
        return
    span = variable_place(plan, _NAME)
    yield Diagnostic(
        "with 1 connection no gather runs beside a product",
        Label(span, "one queue a card for both"),
        related(plan, span, ("shard.stage", "weights are gathered layer by layer")),
        help=(f'leave it out, or write `{_NAME} = "8"`',),
        fixes=without(plan, _NAME),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "shard.stage", "world.size"))
