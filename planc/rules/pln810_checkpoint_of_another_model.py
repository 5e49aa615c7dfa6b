"""The checkpoint is one of a model with other dimensions.

Why: tensors of other shapes, or of layers that are not there, cannot be loaded: the run stops when it has
    started, or leaves them at random where the program does not insist.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 16  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    model shallow { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = shallow
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      resume   { directory = "/ckpt/before"  saved_by = before }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      resume   { directory = "/ckpt/before"  saved_by = before }
      optimizer = adamw
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name the plan that wrote the checkpoint, or give the model its dimensions.

Source: torch/nn/modules/module.py of torch 2.13, load_state_dict: sizes have to match.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule

_DIMENSIONS = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "experts.count")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first dimension in which the two models differ; the vocabulary may have grown."""
    for name in _DIMENSIONS:
        now, then = plan.value(f"model.{name}"), plan.value(f"resume.saved_by.model.{name}")
        if not (isinstance(now, int) and isinstance(then, int)) or now == then:
            continue
        span, field = place(plan, "resume.saved_by"), name.rpartition(".")[2]
        yield Diagnostic(
            f"the checkpoint's model has `{field} = {count_text(then)}`, this one {count_text(now)}",
            Label(span, "what it holds has other shapes"),
            related(plan, span, (f"model.{name}", "")),
            help=(f"use `{field} = {count_text(then)}`, or name the plan that wrote the checkpoint",),
        )
        return


RULE = Rule(Severity.ERROR, "plan", check, ("resume.saved_by", "model"))
