"""`DEEPSPEED_TIMEOUT` says another time than `launch.timeout`.

Why: planc's launch scripts hand `launch.timeout` to DeepSpeed by this variable, which counts minutes, unless
    `launch.env` sets it: then that value holds, and the field, with which planc judges saves, does not.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  timeout = 30 min  env { DEEPSPEED_TIMEOUT = "10" } }
      emit     = [deepspeed, torchrun]
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
      launch   { script = "train.py"  timeout = 30 min }
      emit     = [deepspeed, torchrun]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: keep the field and remove the variable. `--unsafe-fixes` does.

Source: deepspeed 0.19.8, constants.py: DEEPSPEED_TIMEOUT, in minutes.

Versions: all, with DeepSpeed.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule

_NAME = "DEEPSPEED_TIMEOUT"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Another number of minutes in the variable than in the field, where both are written."""
    text, timeout = variables(plan).get(_NAME), facts["launch.timeout"]
    if text is None or facts.engine.runtime != "deepspeed" or not plan.is_written("launch.timeout"):
        return
    span, minutes = variable_place(plan, _NAME), count_text(timeout // 60)
    if timeout % 60 != 0 or text.strip() == minutes:
        return
    yield Diagnostic(
        f"`{_NAME}` says {text.strip()} min, `timeout` {minutes} min",
        Label(span, "this one holds"),
        related(plan, span, ("launch.timeout", time_text(timeout))),
        help=(f'leave it out, or write `{_NAME} = "{minutes}"`',),
        fixes=without(plan, _NAME),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "launch.timeout"))
