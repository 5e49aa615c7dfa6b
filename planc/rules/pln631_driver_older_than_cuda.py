"""The driver is older than the CUDA release needs.

Why: each major release of CUDA needs a driver of its time: 13 from 580 on, 12 from 525, 11 from 450. With an
    older one the first call of CUDA fails: `driver version is insufficient`. Minor releases run with the driver
    of their major one.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { cuda = "13.0"  driver = "570.86.15" }
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
      versions { cuda = "13.0"  driver = "580.65.06" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a newer driver, the compatibility package of CUDA on data centre cards, or an older CUDA. `nvidia-smi`
    shows the driver of a node.

Source: NVIDIA, CUDA Compatibility, Minor Version Compatibility, table 1.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._variables import cuda_of, text_place, texts, version
from planc.rules.rule import Rule

#: The first branch of drivers for each major release of CUDA.
_DRIVERS = {11: 450, 12: 525, 13: 580}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A stated driver below the least of the stated CUDA."""
    found, driver = cuda_of(plan), version(plan, "driver")
    if found is None:
        return
    text, key = found
    major = version_key(text)[0]
    least = _DRIVERS.get(major)
    if not driver or least is None or least <= driver[0]:
        return
    span, stated = text_place(plan, "versions", "driver"), texts(plan, "versions")
    older = [other for other, needed in _DRIVERS.items() if needed <= driver[0]]
    yield Diagnostic(
        f"driver {stated['driver']} is too old for CUDA {text}",
        Label(span, f"CUDA {major} needs {least} or later"),
        (Label(text_place(plan, "versions", key), ""),),
        help=(f'use `driver = "{least}"` or later', *(f"CUDA {max(older)} runs with this driver" for _ in older[:1])),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("versions",))
