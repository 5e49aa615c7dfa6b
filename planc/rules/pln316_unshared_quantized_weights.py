"""These versions cannot share 4-bit weights over ranks.

Why: QLoRA over FSDP or ZeRO 3 took changes in four libraries: bitsandbytes had to store its 4-bit values in
    tensors that can be cut, and the others had to load them so. Before, each card loads the weights unpacked
    and packs them then, or the wrapping stops: it takes more memory than without 4 bits.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      adapter  = lora { rank = 16  base = nf4 }
      versions { transformers = "4.38.2" }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      adapter  = lora { rank = 16  base = nf4 }
      versions { transformers = "4.39.0" }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: the versions that the help names, or stage 2 with DeepSpeed, where each card keeps all 4-bit weights.

Source: peft, release notes of 0.10.0: bitsandbytes 0.43.0, accelerate 0.28.0, transformers above 4.38.2, trl
    above 0.7.11. transformers issues 24395 and 29587.

Versions: those that `versions` states; what is not stated is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._variables import texts, version
from planc.rules.rule import Rule

_LEAST = {"bitsandbytes": "0.43.0", "accelerate": "0.28.0", "transformers": "4.39.0", "peft": "0.10.0", "trl": "0.8.0"}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """4-bit weights at stage 3 with a library from before."""
    if facts["adapter.base"] != "nf4" or facts["shard.stage"] != 3:
        return
    stated = texts(plan, "versions")
    old = [name for name, least in _LEAST.items() if name in stated and _is_before(plan, name, least)]
    if not old:
        return
    span = place(plan, "adapter.base", "adapter")
    yield Diagnostic(
        f"{old[0]} {stated[old[0]]} shares no 4-bit weights",
        Label(span, "each card holds all of them, first unpacked"),
        related(plan, span, ("versions", ""), ("shard.stage", "")),
        help=(f"use {either([f'{name} {_LEAST[name]}' for name in old], 'and')} or later",),
    )


def _is_before(plan: Plan, name: str, least: str) -> bool:
    own = version(plan, name)
    return own is not None and own < version_key(least)


RULE = Rule(Severity.WARNING, "plan", check, ("adapter.base", "shard.stage"))
