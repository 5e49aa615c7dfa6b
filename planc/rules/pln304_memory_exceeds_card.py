"""Model states and activations together do not fit the card's memory.

Why: beside weights, gradients and optimizer states a card holds the activations of every micro batch in flight, the
    logits of one, and what is gathered for use. Here they are too much even where each layer runs in fused kernels
    and the loss keeps its logits in 16 bits: the first step runs out of memory.

Example:
    gpu card { memory = 24 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 16  hidden = 2048  heads = 16  ffn = 8192  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      batch    { global = 64  micro = 8  sequence_length = 4096 }
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

Fix: a smaller micro batch, recomputation, sequence parallelism, a higher stage or more tensor ranks; the help names
    changes that fit by the same formulas. `planc explain` shows what each stage of the pipeline holds, and `--why
    memory.total` how it comes about. `--unsafe-fixes` makes the change where the help names only one.

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
    """Live tensors over the card's usable memory, however the layers are computed; model states alone are PLN301's."""
    capacity = facts["memory.capacity"]
    if facts["memory.states"] > capacity or not is_certain(facts) or not needs_most(plan, facts, "memory.total"):
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    needed = size_text(facts["memory.total"], in_gib)
    yield fault(plan, facts, f"a card needs {needed} of its {size_text(capacity, in_gib)}", in_gib)


RULE = Rule(Severity.ERROR, "plan", check, ("memory.peak", "memory.total", "memory.capacity", "memory.states"))
