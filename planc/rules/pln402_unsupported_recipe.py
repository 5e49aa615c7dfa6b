"""The scaling recipe does not run on this card, or with this CUDA.

Why: a recipe says over which block of a matrix a scale holds, and the products take the blocks that the
    card's units know: MXFP8 and NVFP4 scale blocks of 32 and 16 elements in hardware that begins with compute
    capability 10.0; scales of 128 x 128 blocks need 9.0 and CUDA 12.9. The first layer that is run stops
    otherwise, on every card.

Example:
    gpu card { memory = 80 GiB  bf16 = true  fp8 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp8 { recipe = mxfp8 }
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true  fp8 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp8 { recipe = tensorwise }
    }

Fix: a recipe that the help names; `--unsafe-fixes` makes the change where it names only one. A card without
    fp8 at all is PLN401.

Source: TransformerEngine, pytorch/quantization.py, check_recipe_support: fp8 from 8.9 on, there with CUDA
    12.1; block scaling from 9.0 on with CUDA 12.9; MXFP8 from 10.0 on, and not yet from 12.0 on; NVFP4 from
    10.0 on. TransformerEngine issue 3195.

Versions: the CUDA of `versions`, by `cuda` or by the end of torch's version (`2.6.0+cu124`); what is not
    stated is no fault. That MXFP8 lacks 12.0 is said of Megatron alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules._variables import cuda_of
from planc.rules.rule import Rule

#: Lowest compute capability of each recipe, and the CUDA that it takes.
_LEAST: dict[str, tuple[float, tuple[int, ...]]] = {
    "delayed": (8.9, ()), "tensorwise": (8.9, ()), "blockwise": (9.0, (12, 9)),
    "mxfp8": (10.0, ()), "nvfp4": (10.0, ()),
}  # fmt: skip
_OF_FP8 = ("delayed", "tensorwise", "blockwise", "mxfp8")
_ADA, _OF_ADA = 9.0, (12, 1)
_NOT_YET = 12.0
_HIGHEST = 1000  # beyond any, and still a float


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A recipe above the card's capability, or above the CUDA that the plan states."""
    recipe = facts["precision.recipe"]
    if recipe not in _LEAST or plan.value(f"cluster.gpu.{facts['precision']}") is False:
        return
    capability, cuda = float(min(facts["cluster.gpu.compute_capability"], _HIGHEST)), _cuda(plan)
    lacking = _lacking(recipe, capability, cuda, facts)
    if not lacking:
        return
    span = place(plan, "precision.recipe", "precision")
    fits = [other for other in _OF_FP8 if recipe in _OF_FP8 and not _lacking(other, capability, cuda, facts)]
    yield Diagnostic(
        f"recipe {recipe} on {lacking[0]}",
        Label(span, f"it needs {lacking[1]}"),
        related(plan, span, ("cluster.gpu.compute_capability", ""), ("versions", ""), ("cluster.gpu", "")),
        help=(f"use {either([f'`recipe = {other}`' for other in fits])}",) if fits else ("use `precision = bf16`",),
        fixes=tuple(fix for other in fits for fix in writing(plan, ("precision.recipe", other))),
    )


def _lacking(recipe: str, capability: float, cuda: tuple[int, ...] | None, facts: Facts) -> tuple[str, str] | None:
    """What is there and what would be needed, in words; None where nothing is lacking."""
    least, of_cuda = _LEAST[recipe]
    if capability < least:
        return f"a card of compute capability {capability}", f"{least} or later"
    if recipe == "mxfp8" and _NOT_YET <= capability and facts.engine.name == "megatron":
        return f"a card of compute capability {capability}", f"{least} to below {_NOT_YET} in TransformerEngine"
    if capability < _ADA:
        of_cuda = _OF_ADA
    if cuda is not None and cuda < of_cuda:
        return f"CUDA {_text(cuda)}", f"CUDA {_text(of_cuda)} or later"
    return None


def _cuda(plan: Plan) -> tuple[int, ...] | None:
    """The stated version of CUDA, or that of the stated build of torch."""
    found = cuda_of(plan)
    return version_key(found[0]) if found else None


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


RULE = Rule(Severity.ERROR, "plan", check, ("precision.recipe", "cluster.gpu.compute_capability"))
