"""Gradients of more than 256 ranks are added up in bf16.

Why: a bf16 number has 8 significant bits. A ring adds the gradients of one rank after the other, and rounds
    each sum: from 256 times its own size on, a summand is less than half of the last bit and is lost. With
    384 ranks the sum of equal gradients ends at 256 of them. A run that was stable on 96 cards was not on
    384, until its gradients were reduced in fp32.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 48  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 1 }
      emit     = [deepspeed]
      batch    { global = 768  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 48  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 1 }
      emit     = [deepspeed]
      batch    { global = 768  micro = 1 }
      precision = bf16 { gradients = fp32 }
    }

Fix: `gradients = fp32`, which doubles the bytes of the reduction; Megatron and torchtitan reduce so unless
    told otherwise.

Source: pytorch issue 106395; Megatron-LM, accumulate_allreduce_grads_in_fp32, which bf16 switches on;
    torchtitan, mixed_precision_reduce.

Versions: all. accelerate reduces in the plan's precision and cannot be told otherwise: there the change is
    another trainer. DDP, by which accelerate, transformers and lightning train without shards, keeps fp32
    weights and reduces fp32 gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

#: Equal summands of which one more is lost in bf16: 2 to the power of its significant bits.
_SUMMANDS = 256


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """bf16 gradients of more ranks than bf16 can count."""
    ranks = facts["parallel.data"] * facts["parallel.context"]
    if facts["precision.gradients"] != "bf16" or ranks <= _SUMMANDS:
        return
    if facts.engine.runtime == "generic" and not plan.is_written("precision.gradients"):
        return  # no trainer is named, so the dtype is a guess
    if facts["shard.stage"] == 0 and not plan.is_written("precision.gradients") and _is_by_ddp(plan):
        return
    span = place(plan, "precision.gradients", "precision")
    fixed = plan.emits("accelerate")
    change = [("precision.gradients", "fp32")]
    if facts.engine.runtime == "deepspeed" and facts["shard.stage"] == 0:
        change.append(("shard.stage", "1"))  # below it DeepSpeed keeps gradients in the dtype of the weights
    texts = either([f"`{path.rpartition('.')[2]} = {text}`" for path, text in change], "and")
    yield Diagnostic(
        f"bf16 sums of gradients over {count_text(ranks)} ranks",
        Label(span, f"8 significant bits count to {_SUMMANDS} equal summands"),
        related(plan, span, ("parallel.data", ""), ("cluster.nodes", "")),
        help=("emit `deepspeed` or `torchtitan` with `gradients = fp32`" if fixed else f"use {texts}",),
        fixes=() if fixed else writing(plan, *change),
    )


def _is_by_ddp(plan: Plan) -> bool:
    """Whether a plan without shards is trained by DDP: with a trainer that has several backends, and none named."""
    return any(
        choice.name in ("accelerate", "transformers", "lightning")
        and not (choice.name == "accelerate" and plan.emits("deepspeed"))
        and (choice.options.value("backend") if "backend" in choice.options else None) != "deepspeed"
        for choice in plan.targets
    )


RULE = Rule(Severity.WARNING, "plan", check, ("precision.gradients", "parallel.data", "parallel.context"))
