"""Memory of the model states on one card: weights, gradients and optimizer states.

N is the number of parameters that the heaviest rank holds, p the ranks that share sharded states. Activations, buffers and
fragmentation are not counted in this version, so `memory.free` and `memory.headroom` are upper bounds.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, where
from planc.facts.fact import Fact
from planc.plan.model import Unknown

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}

#: Moments that an optimizer keeps for each parameter: how many, and bytes of each (None: as `optimizer.states`).
MOMENTS: dict[str, tuple[int, int | None]] = {
    "adamw": (2, None), "adamw-8bit": (2, 1), "lion": (1, None), "muon": (1, None),
}  # fmt: skip


def compute_width(precision: Any) -> Any:
    """Bytes of one weight in the dtype of the matrix products, as a layer is gathered for use.

    Formula: 4 for fp32, else 2
    Source: ZeRO (2020), section 3. fp8 and fp4 runs keep bf16 weights beside the products.
    """
    return 4 if precision == "fp32" else 2


def weight_width(compute: Any, in_fp32: Any) -> Any:
    """Bytes of one resident weight.

    Formula: 4 where the engine keeps fp32 shards (FSDP2), else as in the matrix products
    Source: ZeRO (2020), section 3; PyTorch FSDP2, MixedPrecisionPolicy.
    """
    return 4 if in_fp32 else compute


def gradient_width(gradients: Any) -> Any:
    """Bytes of one gradient as it is reduced, b in the communication formulas.

    Formula: 4 for fp32, 2 for bf16 and fp16, 1 for fp8
    Source: ZeRO (2020), section 3: 16-bit gradients; Megatron-LM: fp32 with bf16 under its DDP.
    """
    return DTYPE_BYTES[gradients]


def resident_gradient_width(reduced: Any, precision: Any, in_fp32: Any) -> Any:
    """Bytes of one gradient as it is kept until the optimizer steps.

    Formula: 4 for fp32 gradients, fp32 training and fp32 shards (FSDP2), else as they are reduced
    Source: ZeRO (2020), section 3; FSDP2 keeps gradients in the dtype of its shards.
    """
    return 4 if in_fp32 or precision == "fp32" else reduced


def optimizer_width(optimizer: Any, states: Any, momentum: Any, master: Any, precision: Any, in_fp32: Any) -> Any:
    """Bytes of optimizer states and master copy for one parameter: 12 for Adam in mixed precision.

    Formula: master copy (none if the resident weights are fp32 already) + moments x bytes of each
    Source: ZeRO (2020), section 3: K = 12. DeepSpeed, bf16_master_weights_and_grads: the copy is then of 2 bytes.
    Assumes: muon keeps one moment for every parameter; the scales of 8-bit states are left out.
    """
    copy = 0 if in_fp32 or precision == "fp32" else DTYPE_BYTES[master]
    if optimizer == "sgd":
        return copy + (0 if momentum is None or momentum == 0 else DTYPE_BYTES[states])
    if optimizer not in MOMENTS:
        return Unknown(f"the states of `{optimizer}` are not derived in this version", ("optimizer",))
    count, width = MOMENTS[optimizer]
    return copy + count * (DTYPE_BYTES[states] if width is None else width)


def weight_bytes(
    num_parameters: Any, width: Any, group: Any, stage: Any, compute: Any, in_fp32: Any, offload: Any, adapter: Any
) -> Any:
    """Bytes of weights on the heaviest card.

    Formula: N x width; / p at stage 3; 0 if they are offloaded; FSDP2 at stage 2 shares its fp32 shards and keeps the gathered
        weights until the backward pass ends: N x 4 / p + N x bytes in the matrix products
    Source: ZeRO (2020), section 5.3; PyTorch FSDP2, reshard_after_forward = False.
    Assumes: even sharding; the layer that is gathered for use is not counted.
    """
    if in_fp32:
        gathered = where(stage == 2, num_parameters * compute, 0)
        return _states(num_parameters, width, group, 2 <= stage, gathered, offload, adapter)
    return _states(num_parameters, width, group, 3 <= stage, 0, offload, adapter)


def gradient_bytes(num_parameters: Any, width: Any, group: Any, stage: Any, adapter: Any) -> Any:
    """Bytes of gradients on the heaviest card.

    Formula: N x width; / p from stage 2 on
    Source: ZeRO (2020), section 5.2; fp32 gradients beside 16-bit weights add 2 N, sharded as these are.
    Assumes: even sharding.
    """
    return _states(num_parameters, width, group, 2 <= stage, 0, None, adapter)


def optimizer_bytes(num_parameters: Any, width: Any, group: Any, stage: Any, offload: Any, adapter: Any) -> Any:
    """Bytes of optimizer states and master weights on the heaviest card.

    Formula: N x width; / p from stage 1 on; 0 if they are offloaded
    Source: ZeRO (2020), section 5.1.
    Assumes: even sharding.
    """
    return _states(num_parameters, width, group, 1 <= stage, 0, offload, adapter)


def _states(
    num_parameters: Any, width: Any, group: Any, sharded: Any, gathered: Any, offload: Any, adapter: Any
) -> Any:
    if adapter is not None:
        return Unknown("the states of adapters are not derived in this version", ("adapter",))
    if offload is not None:
        return gathered
    shared = divide(num_parameters * width, where(sharded, group, 1))
    return shared if isinstance(shared, Unknown) else shared + gathered


def total_bytes(weights: Any, gradients: Any, optimizer: Any) -> Any:
    """Bytes of model states on the heaviest card.

    Formula: weights + gradients + optimizer; for Adam in 16 bits 16 N at stage 0, 4 N + 12 N / p at 1, 2 N + 14 N / p at 2,
        16 N / p at 3
    Source: ZeRO (2020), figure 1.
    Assumes: model states only; activations, buffers and fragmentation come on top.
    """
    return weights + gradients + optimizer


def capacity_bytes(usable: Any) -> Any:
    """Bytes that a process can allocate on the card.

    Formula: gpu.usable_memory
    Source: the card; the label counts memory that the driver keeps.
    """
    return usable


def free_bytes(capacity: Any, total: Any) -> Any:
    """Bytes left on the heaviest card beside the model states.

    Formula: capacity - total
    Source: definition.
    Assumes: model states only, so this is an upper bound.
    """
    return capacity - total


def headroom(free: Any, capacity: Any) -> Any:
    """Share of the card that is left beside the model states.

    Formula: free / capacity
    Source: definition.
    Assumes: model states only, so this is an upper bound.
    """
    return divide(free, capacity)


_N = "parallel.parameters_per_rank"
_SHARED = ("shard.group", "shard.stage")

FACTS = (
    Fact("memory.compute_width", "bytes", compute_width, ("precision",)),
    Fact("memory.weight_width", "bytes", weight_width, ("memory.compute_width", "engine.weights_in_fp32")),
    Fact("memory.gradient_width", "bytes", gradient_width, ("precision.gradients",)),
    Fact("memory.resident_gradient_width", "bytes", resident_gradient_width, ("memory.gradient_width", "precision", "engine.weights_in_fp32")),
    Fact("memory.optimizer_width", "bytes", optimizer_width, ("optimizer", "optimizer.states", "optimizer.momentum?", "precision.master", "precision", "engine.weights_in_fp32")),
    Fact("memory.weights", "bytes", weight_bytes, (_N, "memory.weight_width", *_SHARED, "memory.compute_width", "engine.weights_in_fp32", "offload.weights?", "adapter?")),
    Fact("memory.gradients", "bytes", gradient_bytes, (_N, "memory.resident_gradient_width", *_SHARED, "adapter?")),
    Fact("memory.optimizer", "bytes", optimizer_bytes, (_N, "memory.optimizer_width", *_SHARED, "offload.optimizer?", "adapter?")),
    Fact("memory.total", "bytes", total_bytes, ("memory.weights", "memory.gradients", "memory.optimizer")),
    Fact("memory.capacity", "bytes", capacity_bytes, ("cluster.gpu.usable_memory",)),
    Fact("memory.free", "bytes", free_bytes, ("memory.capacity", "memory.total")),
    Fact("memory.headroom", "share", headroom, ("memory.free", "memory.capacity")),
)  # fmt: skip
