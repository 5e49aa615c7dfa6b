"""A variable has another name in this version of PyTorch.

Why: PyTorch gave its own variables names that begin with `TORCH_NCCL_`, to tell them from NCCL's. It still
    reads the old ones, after the new ones and with a warning in the log, and will stop to.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_ASYNC_ERROR_HANDLING = "1" } }
      versions { torch = "2.13" }
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
      launch   { script = "train.py"  env { TORCH_NCCL_ASYNC_ERROR_HANDLING = "1" } }
      versions { torch = "2.13" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the name that the help gives.

Source: torch 2.13, ProcessGroupNCCL.hpp and FlightRecorder.hpp: the lists of names under which each variable is
    looked for.

Versions: torch from 2.13 on, where `versions` says so; when each name changed is not in its source.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import text_place, variable_place, variables, version
from planc.rules.rule import Rule

_RENAMED = {
    "NCCL_ASYNC_ERROR_HANDLING": "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_BLOCKING_WAIT": "TORCH_NCCL_BLOCKING_WAIT",
    "NCCL_DESYNC_DEBUG": "TORCH_NCCL_DESYNC_DEBUG",
    "NCCL_ENABLE_TIMING": "TORCH_NCCL_ENABLE_TIMING",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE",
}
_SINCE = (2, 13)  # the version that was read


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A variable's old name beside a PyTorch that has the new one."""
    torch = version(plan, "torch")
    if torch is None or torch < _SINCE:
        return
    for name in variables(plan):
        if name in _RENAMED:
            yield Diagnostic(
                f"`{name}` is the old name of a variable",
                Label(variable_place(plan, name), "read after the new name, with a warning"),
                (Label(text_place(plan, "versions", "torch"), ""),),
                help=(f"call it `{_RENAMED[name]}`",),
            )


RULE = Rule(Severity.INFO, "plan", check, ("launch.env", "versions"))
