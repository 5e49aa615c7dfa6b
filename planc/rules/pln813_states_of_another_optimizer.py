"""The checkpoint holds the states of another optimizer.

Why: moments of AdamW are not those of Lion or Muon: they cannot be loaded, or load into the wrong place. The
    weights can, and the new optimizer begins without a past; its warm-up should be as long as at a first start.

Example:
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
      optimizer = lion { learning_rate = 1e-5 }
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
      optimizer = adamw { learning_rate = 1e-5 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: load the weights alone, and warm up again.

Source: torch/optim/optimizer.py of torch 2.13, load_state_dict.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Another kind of optimizer than that of the plan that saved."""
    now, then = plan.value("optimizer"), plan.value("resume.saved_by.optimizer")
    if not (isinstance(now, str) and isinstance(then, str)) or now == then:
        return
    span = place(plan, "optimizer")
    yield Diagnostic(
        f"states of {then} are no states of {now}",
        Label(span, "begins without a past"),
        related(plan, span, ("resume.saved_by", f"saved by {then}")),
        help=("load the weights alone",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("resume.saved_by", "optimizer"))
