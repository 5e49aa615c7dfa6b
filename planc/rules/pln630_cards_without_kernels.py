"""The stated PyTorch or CUDA has no kernels for the card.

Why: PyTorch's wheels hold machine code for a list of cards, and CUDA compiles for those that it knew. Beyond
    the list the first operation ends with `no kernel image is available`. Blackwell needs PyTorch 2.7 and CUDA
    12.8; cards before Turing left the wheels one after the other.

Example:
    use "planc/gpus"
    cluster one { gpu = b200-sxm-180gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { torch = "2.6" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = b200-sxm-180gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { torch = "2.7"  cuda = "12.8" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the version that the help names, or a build of your own for this card.

Source: pytorch/pytorch#164471 and #172352 (the matrix of CUDA and cards in RELEASE.md), #175253 (Volta leaves
    CUDA 12.8); PyTorch's developer mailing list, 3128 (Maxwell and Pascal leave CUDA 12.8).

Versions: PyTorch's own wheels, up to 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import cuda_of, text_place, texts, version
from planc.rules.rule import Rule


class _Need(NamedTuple):
    """Cards of a range of compute capabilities: the least or the first version that has no kernels for them."""

    least: float
    below: float
    package: str
    since: tuple[int, ...]
    is_enough: bool  # from this version on there are kernels; else there are none any more
    shown: str
    torch: tuple[int, ...] = ()  # from this PyTorch on


_NEEDS = (
    _Need(10, 99, "torch", (2, 7), True, "2.7"),
    _Need(10, 99, "cuda", (12, 8), True, "12.8"),
    _Need(0, 7.5, "cuda", (13,), False, "12.6"),
    _Need(0, 7.5, "cuda", (12, 8), False, "12.6", (2, 11)),
    _Need(0, 7, "cuda", (12, 8), False, "12.6", (2, 8)),
)  # fmt: skip


def _stated(plan: Plan, package: str) -> tuple[str, str, tuple[int, ...] | None]:
    """The key of `versions` that states a package's version, its text, and the version; CUDA may be that of torch."""
    if package == "cuda":
        text, key = cuda_of(plan) or ("", package)
    else:
        text, key = texts(plan, "versions").get(package, ""), package
    return key, text, version_key(text) if text else None


def _as_stated(plan: Plan, key: str, need: _Need) -> str:
    """The version that has kernels, as the plan states it: a build of PyTorch where that is what names the CUDA."""
    if key == need.package:
        return f'{key} = "{need.shown}"'
    release = texts(plan, "versions")[key].partition("+")[0]
    return f'{key} = "{release}+cu{need.shown.replace(".", "")}"'


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first need of the card that a stated version does not meet."""
    capability = facts["cluster.gpu.compute_capability"]
    torch = version(plan, "torch")
    for need in _NEEDS:
        key, stated, found = _stated(plan, need.package)
        if found is None or not need.least <= capability < need.below or (found < need.since) != need.is_enough:
            continue
        if need.torch and (torch is None or torch < need.torch):
            continue
        span = text_place(plan, "versions", key)
        verb = "needs" if need.is_enough else "was left out after"
        yield Diagnostic(
            f"{need.package} {stated} has no kernels for compute capability {float(capability):.1f}",
            Label(span, f"this card {verb} {need.package} {need.shown}"),
            related(plan, span, ("cluster.gpu.compute_capability", ""), ("cluster.gpu", "")),
            help=(f"use `{_as_stated(plan, key, need)}`{' or later' if need.is_enough else ''}",),
        )
        return


RULE = Rule(Severity.WARNING, "plan", check, ("versions", "cluster.gpu.compute_capability"))
