"""A variable for the search of faults slows every step.

Why: these variables check or wait at every call: with `CUDA_LAUNCH_BLOCKING` no kernel starts before the one
    before it has ended, so that nothing overlaps; without the caching allocator each tensor is a `cudaMalloc`;
    `DETAIL` compares all collectives among ranks first. They belong into one run that looks for a fault.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { CUDA_LAUNCH_BLOCKING = "1" } }
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
      launch   { script = "train.py"  env { NCCL_DEBUG = "INFO" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: remove the variable from the plan, and set it by hand for the run that needs it: a launch script lets the
    caller's environment win. `--unsafe-fixes` removes it.

Source: CUDA C++ Programming Guide, environment variables; PyTorch, notes on CUDA semantics and on
    torch.distributed; the NCCL user guide, Environment Variables.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule

#: What slows, the values that do, what happens, and a value that does not.
_SLOW: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("CUDA_LAUNCH_BLOCKING", ("1",), "every kernel waits for the one before it", "0"),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", ("1",), "every tensor is allocated by the driver", ""),
    ("TORCH_DISTRIBUTED_DEBUG", ("DETAIL",), "ranks compare every collective first", "OFF"),
    ("NCCL_DEBUG", ("TRACE",), "every call of NCCL is written down", "WARN"),
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A variable with a value that makes each call slower."""
    found = variables(plan)
    for name, values, effect, instead in _SLOW:
        if found.get(name, "").strip().upper() in values and not _is_asked_for(plan, name):
            span = variable_place(plan, name)
            yield Diagnostic(
                f"`{name} = {found[name].strip()}` slows every step",
                Label(span, effect),
                help=(f'remove it, or write `{name} = "{instead}"`' if instead else "remove it",),
                fixes=without(plan, name),
            )


def _is_asked_for(plan: Plan, name: str) -> bool:
    """Whether it is one of those that a deterministic run sets on purpose."""
    return name == "CUDA_LAUNCH_BLOCKING" and plan.value("train.deterministic") is not False


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env",))
