"""Rates that kernels reach: matrix products, fused attention, and traffic to the card's memory."""

from __future__ import annotations

from typing import Any

from planc.facts import constants
from planc.facts.arithmetic import is_array, where
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.plan.model import Unknown


def peak_rate(precision: Any, fp32: Any, fp16: Any, bf16: Any, fp8: Any, fp4: Any) -> Any:
    """Peak rate of the card for matrix products in the plan's precision.

    Formula: the gpu's field of that name
    Source: the card's data sheet, dense products.
    Assumes: products in fp32 do not run as tf32; with fp8 and fp4, all products are held against that peak, though attention and
        output layer stay in bf16.
    """
    return _rate(precision, {"fp32": fp32, "fp16": fp16, "bf16": bf16, "fp8": fp8, "fp4": fp4}[precision])


def wide_peak_rate(precision: Any, fp32: Any, fp16: Any, bf16: Any) -> Any:
    """Peak rate of the card for the products that stay in 16 bits: attention and output layer.

    Formula: as `flops.peak`, with bf16 for fp8 and fp4
    Source: the card's data sheet; TransformerEngine quantizes the products of the layers alone.
    """
    name = precision if precision in ("fp32", "fp16") else "bf16"
    return _rate(name, {"fp32": fp32, "fp16": fp16, "bf16": bf16}[name])


def _rate(name: str, rate: Any) -> Any:
    path = f"cluster.gpu.{name}"
    if rate is None:
        return Unknown(f"`{path}` is not set", (path,), unset=True)
    if isinstance(rate, bool):
        reason = f"the rate of `{path}` is not given" if rate else f"the card has no {name}"
        return Unknown(reason, (path,))
    return rate


def attention_kernel(precision: Any, capability: Any) -> Any:
    """How scores and values are computed: by one `fused` kernel, or as `plain` products that write every score.

    Formula: plain in fp32, and below compute capability 8.0; else fused
    Source: FlashAttention-2 needs 16-bit inputs and an Ampere card; trainers before 2023 did not have it.
    """
    if precision == "fp32":
        return "plain"
    if capability is None or is_array(capability):
        return "fused"
    return "plain" if capability < 8 else "fused"


@in_floats
def matmul_rate(peak: Any, capability: Any, precision: Any) -> Any:
    """Rate that large matrix products of the layers reach.

    Formula: peak x {MATMUL_SHARE_AMPERE} before Hopper (compute capability 9), x {MATMUL_SHARE} from it on; with fp8 and fp4 x {NARROW_SHARE}
    Source: measured steps, see `docs/cost-model.md`.
    """
    if precision in ("fp8", "fp4"):
        return peak * constants.NARROW_SHARE.value
    return peak * _share(capability, constants.MATMUL_SHARE_AMPERE.value, constants.MATMUL_SHARE.value)


@in_floats
def wide_matmul_rate(peak: Any, capability: Any) -> Any:
    """Rate that large matrix products in 16 bits reach: those of the output layer.

    Formula: peak x {MATMUL_SHARE_AMPERE} before Hopper (compute capability 9), x {MATMUL_SHARE} from it on
    Source: as for `kernel.matmul_rate`.
    """
    return peak * _share(capability, constants.MATMUL_SHARE_AMPERE.value, constants.MATMUL_SHARE.value)


@in_floats
def attention_rate(peak: Any, capability: Any, engine: Any) -> Any:
    """Rate that a fused attention kernel reaches, in FLOPs that the causal mask leaves.

    Formula: peak x {FUSED_ATTENTION_SHARE_AMPERE} before Hopper (compute capability 9), x {FUSED_ATTENTION_SHARE} from it on, under Megatron
        x {CUDNN_ATTENTION_SHARE}
    Source: measured steps, see `docs/cost-model.md`.
    """
    ampere, later = constants.FUSED_ATTENTION_SHARE_AMPERE.value, constants.FUSED_ATTENTION_SHARE.value
    if engine == "megatron":
        later = constants.CUDNN_ATTENTION_SHARE.value
    return peak * _share(capability, ampere, later)


@in_floats
def memory_rate(bandwidth: Any) -> Any:
    """Bytes per second that kernels bound by memory reach.

    Formula: memory_bandwidth x {MEMORY_SHARE}
    Source: copies on data-centre cards.
    """
    return bandwidth * constants.MEMORY_SHARE.value


def _share(capability: Any, ampere: Any, later: Any) -> Any:
    return later if capability is None else where(capability < 9, ampere, later)


_CAPABILITY = "cluster.gpu.compute_capability?"
_WIDE = ("cluster.gpu.fp32?", "cluster.gpu.fp16?", "cluster.gpu.bf16?")

FACTS = (
    Fact("flops.peak", "FLOP/s", peak_rate, ("precision", *_WIDE, "cluster.gpu.fp8?", "cluster.gpu.fp4?")),
    Fact("flops.wide_peak", "FLOP/s", wide_peak_rate, ("precision", *_WIDE)),
    Fact("kernel.attention", "word", attention_kernel, ("precision", _CAPABILITY)),
    Fact("kernel.matmul_rate", "FLOP/s", matmul_rate, ("flops.peak", _CAPABILITY, "precision")),
    Fact("kernel.wide_matmul_rate", "FLOP/s", wide_matmul_rate, ("flops.wide_peak", _CAPABILITY)),
    Fact("kernel.attention_rate", "FLOP/s", attention_rate, ("flops.wide_peak", _CAPABILITY, "engine.name")),
    Fact("kernel.memory_rate", "bytes/s", memory_rate, ("cluster.gpu.memory_bandwidth",)),
)  # fmt: skip
