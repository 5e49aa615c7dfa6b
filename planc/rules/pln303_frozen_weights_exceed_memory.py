"""The frozen weights alone do not fit the card.

Why: an adapter trains few parameters, and the forward pass needs all the others: below stage 3 every card
    holds them whole. What the adapter, its optimizer states and the activations take comes on top.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model big { layers = 80  hidden = 8192  heads = 64  ffn = 28_672  vocab = 128_256 }
    plan run {
      model    = big
      cluster  = one
      adapter  = lora { rank = 16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model big { layers = 80  hidden = 8192  heads = 64  ffn = 28_672  vocab = 128_256 }
    plan run {
      model    = big
      cluster  = one
      adapter  = lora { rank = 16 }
      shard    { stage = 3 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: shard the weights with stage 3, split them over tensor or pipeline ranks, or keep them in a smaller dtype
    with `base`. `--unsafe-fixes` writes stage 3 where that is enough.

Source: Hu et al., LoRA (2021), section 4.2; Dettmers et al., QLoRA (2023), section 3, for nf4 at half a
    byte a parameter.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import parameters_text, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.arithmetic import divide
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.plan.units import exact
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import Repair, writing
from planc.rules.rule import Rule

#: Bits of a parameter by the dtype of the frozen weights.
_BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "nf4": 4}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Frozen weights over the usable memory, without the scales of quantized ones: a lower bound."""
    if plan["adapter"].value is None or known(plan.value("offload.weights")):
        return
    base, stage = plan.value("adapter.base"), facts["shard.stage"]
    if isinstance(base, Unknown) and not base.unset:
        return
    width = exact(_BITS[base], 8) if known(base) else facts["memory.compute_width"]
    capacity, ranks = facts["memory.capacity"], facts["shard.group"] if _sharded(facts, stage) else 1
    held = divide(facts["parallel.parameters_per_rank"] * width, ranks)
    if not known(held) or held <= capacity:
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    span = place(plan, "adapter.base", "adapter")
    card = plan["cluster.gpu"].value.word
    parameters = parameters_text(facts["parallel.parameters_per_rank"])
    shared = f", shared by {ranks}" if 1 < ranks else ""
    repair = _repair(plan, facts, stage, held * ranks)
    yield Diagnostic(
        f"frozen weights take {size_text(held, in_gib)} of a card's {size_text(capacity, in_gib)}",
        Label(span, f"{parameters} parameters of {_width_text(width)} each on the fullest rank{shared}"),
        related(
            plan,
            span,
            ("model", ""),
            ("shard.stage", ""),
            ("cluster.gpu", f"`{card}` has {size_text(capacity, in_gib)} that a process can use"),
        ),
        help=(repair.help,),
        notes=("a lower bound: the adapter, its states and activations come on top",),
        fixes=repair.fixes,
    )


def _sharded(facts: Facts, stage: int) -> bool:
    return stage == 3 or (stage == 2 and facts.engine.weights_in_fp32)


def _width_text(width: Any) -> str:
    return "half a byte" if width < 1 else "1 byte" if width == 1 else f"{width} bytes"


def _repair(plan: Plan, facts: Facts, stage: int, whole: Any) -> Repair:
    shared = divide(whole, facts["shard.group"])
    if not _sharded(facts, stage) and known(shared) and shared <= facts["memory.capacity"]:
        return Repair("`stage = 3` shares them", writing(plan, ("shard.stage", "3")))
    return Repair("more tensor or pipeline ranks split them, and `base` may name a smaller dtype")


RULE = Rule(
    Severity.ERROR,
    "plan",
    check,
    ("adapter", "parallel.parameters_per_rank", "memory.compute_width", "memory.capacity", "shard.group"),
)
