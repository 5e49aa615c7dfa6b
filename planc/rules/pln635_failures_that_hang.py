"""A rank that fails leaves the others waiting.

Why: PyTorch's watchdog ends a process whose collective failed or took longer than `launch.timeout`, so that the
    launcher sees it. With `TORCH_NCCL_ASYNC_ERROR_HANDLING = 0` it does not: one lost card, and all others are
    held until the walltime, at full price and with no line in the log.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { TORCH_NCCL_ASYNC_ERROR_HANDLING = "0" } }
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
      launch   { script = "train.py"  env { TORCH_NCCL_ASYNC_ERROR_HANDLING = "3" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: remove the variable: PyTorch's own value ends the process. `--unsafe-fixes` removes it.

Source: torch 2.13, ProcessGroupNCCL.hpp: ErrorHandlingMode, and the names under which the variable is looked
    for.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import is_on, variable_place, variables, without
from planc.rules.rule import Rule

_NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")  # the first that is set counts
_BLOCKING = ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT")  # then the program itself sees the error


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Errors of collectives that nothing handles, in a job of several ranks."""
    found, world = variables(plan), facts["world.size"]
    name = next((name for name in _NAMES if name in found), None)
    if name is None or found[name].strip() != "0" or world < 2 or any(is_on(found.get(each, "")) for each in _BLOCKING):
        return
    yield Diagnostic(
        f"a failed rank leaves {plural(world - 1, 'rank')} waiting",
        Label(variable_place(plan, name), "nothing ends what failed"),
        help=(f'remove it, or write `{name} = "3"`',),
        fixes=without(plan, name),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "world.size"))
