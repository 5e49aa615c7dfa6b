"""`CUDA_DEVICE_MAX_CONNECTIONS` has a value with which Megatron-LM does not start.

Why: with one connection, kernels reach a card in the order in which they are launched; before Blackwell
    Megatron's overlap of tensor and context ranks relies on that, and asserts it. Its FSDP asserts the
    opposite, as gathers and products then wait for each other.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2 }
      launch   { script = "train.py"  env { CUDA_DEVICE_MAX_CONNECTIONS = "8" } }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2 }
      launch   { script = "train.py"  env { CUDA_DEVICE_MAX_CONNECTIONS = "1" } }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: set what the help names. `--unsafe-fixes` writes it, or removes the variable.

Source: Megatron-LM, megatron/training/arguments.py, validate_args; Megatron-Bridge, training/config.py, for its
    FSDP.

Versions: Megatron-LM as it is in 2026 (megatron-core 0.16); from Blackwell on only its FSDP asserts a value.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, with_text, without
from planc.rules.rule import Rule

_NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
_BLACKWELL = 10


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """One connection under Megatron's FSDP, or several for tensor and context ranks on cards before Blackwell."""
    text = variables(plan).get(_NAME)
    if text is None or not plan.emits("megatron", "megatron-bridge"):
        return
    span, is_one = variable_place(plan, _NAME), text.strip() == "1"
    if 2 <= facts["shard.stage"] and is_one:
        yield Diagnostic(
            f"`{_NAME} = {text}` stops Megatron's FSDP",
            Label(span, "it wants more than 1, or none stated"),
            related(plan, span, ("shard.stage", "Megatron's FSDP")),
            help=(f'leave it out, or write `{_NAME} = "8"`',),
            fixes=without(plan, _NAME),
        )
    elif facts["shard.stage"] < 2 and not is_one and _relies_on_order(facts):
        yield Diagnostic(
            f"`{_NAME} = {text}` stops Megatron",
            Label(span, "before Blackwell its overlap relies on 1"),
            related(plan, span, ("parallel.tensor", "ranks whose exchange is overlapped"), ("parallel.context", "")),
            help=(f'write `{_NAME} = "1"`',),
            fixes=with_text(plan, "launch.env", _NAME, "1"),
        )


def _relies_on_order(facts: Facts) -> bool:
    """Whether tensor or context ranks exchange, on cards that keep the order of launches with one connection only.

    Megatron asks for the major version of the architecture, which is 9 for AMD's too.
    """
    capability = facts["cluster.gpu.compute_capability"]
    split = 1 < facts["parallel.tensor"] or 1 < facts["parallel.context"]
    is_older = facts["cluster.gpu.vendor"] == "amd" or (known(capability) and capability < _BLACKWELL)
    return is_older and split


RULE = Rule(Severity.ERROR, "plan", check, ("launch.env", "shard.stage"))
