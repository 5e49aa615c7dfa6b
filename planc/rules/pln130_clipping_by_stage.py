"""Gradients are clipped in a program of one's own, whose pipeline stages each see their own norm.

Why: `torch.nn.utils.clip_grad_norm_` sums the squares of the gradients that it is given. With a pipeline those are
    the gradients of one stage: a stage of norm 3 beside one of norm 4 is not clipped by 5, the norm of the model,
    and stages that are clipped by unlike factors turn the direction of the step. Megatron, torchtitan and DeepSpeed
    sum over the stages; a loop of one's own has to.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      optimizer = adamw { clip = 1.0 }
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
      parallel { pipeline = 1 }
      optimizer = adamw { clip = 1.0 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: reduce the sum of the squares over the stages before the root is taken; or emit a trainer that does.

Source: pytorch/torchtitan#596; torch.nn.utils.clip_grad_norm_ (PyTorch 2.13), which sums what it is given;
    torchtitan, distributed/utils.py, which reduces the norm over the stages.

Versions: all. FSDP2 shards and tensor ranks are counted in full by recent PyTorch, as their gradients are DTensors.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import number_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A largest norm, several stages, and no trainer that is known to sum over them."""
    stages, clip = facts["parallel.pipeline"], facts["optimizer.clip"]
    if facts.engine.name != "generic" or stages == 1 or clip == 0:
        return
    span = place(plan, "optimizer.clip")
    yield Diagnostic(
        f"gradients are clipped at {number_text(clip)} beside {plural(stages, 'pipeline stage')}",
        Label(span, f"PyTorch's utility sees the norm of one of {plural(stages, 'stage')}"),
        related(plan, span, ("parallel.pipeline", "each has its own gradients")),
        help=("reduce the sum of the squares over the stages before the root is taken",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("parallel.pipeline", "optimizer.clip"))
