"""A variable is not heard by this version of PyTorch.

Why: `PYTORCH_ALLOC_CONF` is the allocator's variable for all devices. PyTorch 2.9 still takes
    `expandable_segments` from `PYTORCH_CUDA_ALLOC_CONF` alone and says nothing of the other, so that the
    fragmentation it was to cure remains.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { PYTORCH_ALLOC_CONF = "expandable_segments:True" } }
      versions { torch = "2.9.1" }
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
      launch   { script = "train.py"  env { PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" } }
      versions { torch = "2.9.1" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the old name until PyTorch 2.10, or a later PyTorch.

Source: pytorch/pytorch#183387; torch 2.13, c10/cuda/CUDAAllocatorConfig.h, which reads both.

Versions: torch before 2.10, where `versions` says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import text_place, texts, variable_place, variables, version
from planc.rules.rule import Rule

_HEARD = (2, 10)
_NEW, _OLD = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Expandable segments asked for by the new name alone, of a PyTorch that does not know it."""
    torch, found = version(plan, "torch"), variables(plan)
    if torch is None or _HEARD <= torch or _OLD in found or "expandable_segments" not in found.get(_NEW, ""):
        return
    stated = text_place(plan, "versions", "torch")
    yield Diagnostic(
        f"`{_NEW}` does not reach CUDA in torch {texts(plan, 'versions')['torch']}",
        Label(variable_place(plan, _NEW), "`expandable_segments` stays off"),
        (Label(stated, "heard from 2.10 on"),),
        help=(f'call it `{_OLD}`, or use `torch = "2.10"`',),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "versions"))
