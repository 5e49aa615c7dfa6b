"""Experts stand beside tensor ranks, and sequence parallelism is off.

Why: without sequence parallelism every tensor rank holds all tokens of the sequence and would send each of them to
    the experts: with 4 tensor ranks each token arrives 4 times. Megatron's MoE layer stops at its first forward
    pass in training.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2  expert = 4 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2  sequence = true  expert = 4 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: switch sequence parallelism on, which saves memory too. `--unsafe-fixes` makes the change.

Source: megatron-core 0.7.0 and 0.16.1, MoELayer.forward; NVIDIA/Megatron-LM#1587.

Versions: Megatron core up to 0.16.1. torchtitan cuts the sequence by itself; nanotron and DeepSpeed do not ask for
    it.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Tensor ranks beside experts that all hold every token."""
    tensor = facts["parallel.tensor"]
    if facts.engine.name != "megatron" or tensor < 2 or facts["parallel.sequence"]:
        return
    span = place(plan, "parallel.sequence", "parallel.tensor")
    yield Diagnostic(
        f"{plural(facts['model.experts.count'], 'expert')} beside {plural(tensor, 'tensor rank')}, sequences undivided",
        Label(span, f"each of {plural(tensor, 'rank')} would send every token: Megatron's MoE layer refuses"),
        related(plan, span, ("parallel.tensor", plural(tensor, "rank")), ("model.experts", "")),
        help=("use `sequence = true`",),
        fixes=writing(plan, ("parallel.sequence", "true")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.tensor", "parallel.sequence", "model.experts.count"))
