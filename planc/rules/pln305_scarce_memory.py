"""The card's memory may not suffice.

Why: by the formulas of planc the card needs more than it has, though not beyond doubt: fused kernels or a fused loss
    may make it fit, and the formulas err (`make accuracy` prints by how much). Such a run dies in its first steps, or
    late, when the allocator has fragmented its memory.

Example:
    gpu card { memory = 24 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 16  hidden = 2048  heads = 16  ffn = 8192  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      batch    { global = 64  micro = 2  sequence_length = 4096 }
      precision = bf16
    }

Instead:
    gpu card { memory = 24 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 16  hidden = 2048  heads = 16  ffn = 8192  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      batch    { global = 64  micro = 1  sequence_length = 4096 }
      precision = bf16
    }

Fix: leave some room, or measure: `planc calibrate` compares the prediction with a run's own log, and gives the factor
    that the plan may state in `calibration`. The help names changes that fit by the same formulas.

Source: Korthikanti et al., Reducing Activation Recomputation (2022), section 4; PyTorch's FSDP2 memory tracker.

Versions: all; each engine's bytes are its own (`planc explain`).
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import size_text
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._memory import fault, is_certain, needs_most
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """All that the card is predicted to need, over its usable memory, where that is not certain (PLN301 and PLN304)."""
    total, capacity = facts["memory.total"], facts["memory.capacity"]
    if total <= capacity or capacity < facts["memory.states"] or is_certain(facts):
        return
    if not needs_most(plan, facts, "memory.total"):
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    message = f"a card may need {size_text(total, in_gib)} of its {size_text(capacity, in_gib)}"
    yield fault(plan, facts, message, in_gib)


RULE = Rule(Severity.WARNING, "plan", check, ("memory.total", "memory.peak", "memory.capacity", "memory.states"))
