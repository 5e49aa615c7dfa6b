"""Megatron recomputes no module of this name in this model.

Why: Megatron knows seven names and stops at any other before the first step. `mla_up_proj` is there in models
    with latent attention alone, and with delayed fp8 scaling neither `layernorm` nor `moe_act` can be
    computed twice: the second pass would move the scales. `moe_act` wants experts in grouped products.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      recompute = selective { modules = ["core_attn", "mpl"] }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      recompute = selective { modules = ["core_attn", "mlp"] }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
      precision = bf16
    }

Fix: the names that the help lists.

Source: Megatron Core 0.16.1, transformer_config.py, __post_init__.

Versions: Megatron and Megatron Bridge; unknown names only up to Megatron Core 0.16 where `versions` states a
    later `megatron-core`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules._variables import version
from planc.rules.rule import Rule

_MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")
_TWICE = ("layernorm", "moe_act")
_JUDGED = (0, 17)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first name that the model lacks, or that the recipe forbids."""
    if facts.engine.name != "megatron" or not isinstance(facts["recompute.modules"], tuple):
        return
    modules = facts["recompute.modules"]
    faulty = {name: why for name in modules if (why := _why_not(plan, facts, name)) is not None}
    if not faulty:
        return
    from difflib import get_close_matches  # few plans name a module that there is not

    span = place(plan, "recompute.modules", "recompute")
    name, why = next(iter(faulty.items()))
    meant = [
        get_close_matches(each, _MODULES, 1) if each in faulty and each not in _MODULES else [each] for each in modules
    ]
    left = [each for match in meant for each in match if each not in faulty]
    text = f"[{', '.join(f'{chr(34)}{each}{chr(34)}' for each in dict.fromkeys(left))}]"
    yield Diagnostic(
        f"`{name}` cannot be recomputed here",
        Label(span, why),
        related(plan, span, ("model.attention", ""), ("precision.recipe", "")),
        help=(f"use `modules = {text}`",) if left else ("use `recompute = full`, or none",),
        fixes=writing(plan, ("recompute.modules", text)) if left else (),
        notes=("Megatron knows " + ", ".join(f"`{each}`" for each in _MODULES),),
    )


def _why_not(plan: Plan, facts: Facts, name: str) -> str | None:
    core = version(plan, "megatron-core")
    if name not in _MODULES:
        return None if core is not None and _JUDGED <= core else "Megatron has no module of this name"
    if name == "mla_up_proj" and plan.value("model.attention") != "mla":
        return "only latent attention has it"
    if name == "moe_act" and absent(plan, "model.experts"):
        return "only grouped experts have it"
    delayed = facts["precision"] == "fp8" and plan.value("precision.recipe") == "delayed"
    return "delayed scaling does not allow it" if delayed and name in _TWICE else None


RULE = Rule(Severity.ERROR, "plan", check, ("recompute.modules", "precision"))
