"""NCCL is given an algorithm with which Megatron is not deterministic.

Why: for a deterministic run Megatron-LM wants `NCCL_ALGO` to name one algorithm that adds up in a fixed order,
    and stops with any other value.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { deterministic = true  seed = 1 }
      launch   { script = "train.py"  env { NCCL_ALGO = "NVLS" } }
      emit     = [megatron]
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
      train    { deterministic = true  seed = 1 }
      launch   { script = "train.py"  env { NCCL_ALGO = "Ring" } }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write one of those that the help names. `--unsafe-fixes` writes `Ring`.

Source: Megatron-LM, megatron/training/arguments.py, validate_args, deterministic_mode.

Versions: Megatron-LM as it is in 2026 (megatron-core 0.16).
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, with_text
from planc.rules.rule import Rule

_CHOICES = ("Tree", "Ring", "CollnetDirect", "CollnetChain", "^NVLS")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An algorithm that is none of Megatron's, in a deterministic run."""
    text = variables(plan).get("NCCL_ALGO")
    if (
        text is None
        or text in _CHOICES
        or facts["train.deterministic"] is not True
        or not plan.emits("megatron", "megatron-bridge")
    ):
        return
    span = variable_place(plan, "NCCL_ALGO")
    yield Diagnostic(
        f"`NCCL_ALGO = {text}` stops a deterministic Megatron",
        Label(span, f"it takes {either(_CHOICES)}"),
        related(plan, span, ("train.deterministic", "sums in a fixed order")),
        help=('write `NCCL_ALGO = "Ring"`, or another of those',),
        fixes=with_text(plan, "launch.env", "NCCL_ALGO", "Ring"),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.env", "train.deterministic"))
