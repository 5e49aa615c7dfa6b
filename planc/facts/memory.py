"""Memory of the model states on one card: weights, gradients and optimizer states.

N is the number of parameters that the heaviest rank holds, p the ranks that share sharded states. Activations, buffers and
fragmentation are not counted in this version, so `memory.free` and `memory.headroom` are upper bounds.
"""

from __future__ import annotations

from typing import Any

from planc.facts.fact import Fact
from planc.plan.model import Unknown

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "fp4": 0.5}

#: Moments that an optimizer keeps for each parameter: how many, and bytes of each (None: as `optimizer.states`).
MOMENTS: dict[str, tuple[int, int | None]] = {
    "adamw": (2, None), "adamw-8bit": (2, 1), "lion": (1, None), "muon": (1, None),
}  # fmt: skip


def weight_width(precision: Any, in_fp32: Any) -> Any:
    """Bytes of one resident weight.

    Formula: 4 for fp32 and where the engine keeps fp32 shards (FSDP2), else 2
    Source: ZeRO (2020), section 3; PyTorch FSDP2, MixedPrecisionPolicy. fp8 and fp4 runs keep bf16 weights.
    """
    return 4 if in_fp32 or precision == "fp32" else 2


def gradient_width(gradients: Any) -> Any:
    """Bytes of one gradient as it is reduced, b in the communication formulas.

    Formula: 4 for fp32, else 2
    Source: ZeRO (2020), section 3: 16-bit gradients; Megatron-LM: fp32 with bf16 under its DDP.
    """
    return DTYPE_BYTES[gradients]


def resident_gradient_width(gradients: Any, precision: Any, in_fp32: Any) -> Any:
    """Bytes of one gradient as it is kept until the optimizer steps.

    Formula: 4 for fp32 gradients, fp32 training and fp32 shards (FSDP2), else 2
    Source: ZeRO (2020), section 3; FSDP2 keeps gradients in the dtype of its shards.
    """
    return 4 if in_fp32 or precision == "fp32" else DTYPE_BYTES[gradients]


def optimizer_width(optimizer: Any, states: Any, momentum: Any, master: Any, precision: Any, in_fp32: Any) -> Any:
    """Bytes of optimizer states and master copy for one parameter: 12 for Adam in mixed precision.

    Formula: master copy (4 for fp32; 0 if the resident weights are fp32 already, or kept as bf16) + moments x their bytes
    Source: ZeRO (2020), section 3: K = 12.
    """
    copy = 0 if in_fp32 or precision == "fp32" or master != "fp32" else 4
    if optimizer == "sgd":
        return copy + (0 if momentum in (None, 0) else DTYPE_BYTES[states])
    if optimizer not in MOMENTS:
        return Unknown(f"the states of `{optimizer}` are not derived in this version", ("optimizer",))
    count, width = MOMENTS[optimizer]
    return copy + count * (DTYPE_BYTES[states] if width is None else width)


def state_bytes(num_parameters: Any, width: Any, group: Any, sharded: Any) -> Any:
    """Bytes of one kind of state on a card.

    Formula: N x width, / p where the stage shares this state
    Source: Rajbhandari et al., ZeRO (2020), section 5 and figure 1.
    Assumes: even sharding.
    """
    return num_parameters * width / (group if sharded else 1)


def weight_bytes(num_parameters: Any, width: Any, group: Any, stage: Any, offload: Any, adapter: Any) -> Any:
    """Bytes of weights on the heaviest card.

    Formula: N x width; / p at stage 3; 0 if they are offloaded
    Source: ZeRO (2020), section 5.3.
    Assumes: even sharding; the layer that is gathered for use is not counted.
    """
    return _states(num_parameters, width, group, 3 <= stage, offload, adapter)


def gradient_bytes(num_parameters: Any, width: Any, group: Any, stage: Any, adapter: Any) -> Any:
    """Bytes of gradients on the heaviest card.

    Formula: N x width; / p from stage 2 on
    Source: ZeRO (2020), section 5.2; fp32 gradients beside 16-bit weights add 2 N, sharded as these are.
    Assumes: even sharding.
    """
    return _states(num_parameters, width, group, 2 <= stage, None, adapter)


def optimizer_bytes(num_parameters: Any, width: Any, group: Any, stage: Any, offload: Any, adapter: Any) -> Any:
    """Bytes of optimizer states and master weights on the heaviest card.

    Formula: N x width; / p from stage 1 on; 0 if they are offloaded
    Source: ZeRO (2020), section 5.1.
    Assumes: even sharding.
    """
    return _states(num_parameters, width, group, 1 <= stage, offload, adapter)


def _states(num_parameters: Any, width: Any, group: Any, sharded: Any, offload: Any, adapter: Any) -> Any:
    if adapter is not None:
        return Unknown("the states of adapters are not derived in this version", ("adapter",))
    return 0 if offload is not None else state_bytes(num_parameters, width, group, sharded)


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
    return float(free) / float(capacity) if not hasattr(free, "shape") else free / capacity


_N = "parallel.parameters_per_rank"

FACTS = (
    Fact("memory.weight_width", "bytes", weight_width, ("precision", "engine.weights_in_fp32")),
    Fact("memory.gradient_width", "bytes", gradient_width, ("precision.gradients",)),
    Fact("memory.resident_gradient_width", "bytes", resident_gradient_width, ("precision.gradients", "precision", "engine.weights_in_fp32")),
    Fact("memory.optimizer_width", "bytes", optimizer_width, ("optimizer", "optimizer.states", "optimizer.momentum?", "precision.master", "precision", "engine.weights_in_fp32")),
    Fact("memory.weights", "bytes", weight_bytes, (_N, "memory.weight_width", "shard.group", "shard.stage", "offload.weights?", "adapter?")),
    Fact("memory.gradients", "bytes", gradient_bytes, (_N, "memory.resident_gradient_width", "shard.group", "shard.stage", "adapter?")),
    Fact("memory.optimizer", "bytes", optimizer_bytes, (_N, "memory.optimizer_width", "shard.group", "shard.stage", "offload.optimizer?", "adapter?")),
    Fact("memory.total", "bytes", total_bytes, ("memory.weights", "memory.gradients", "memory.optimizer")),
    Fact("memory.capacity", "bytes", capacity_bytes, ("cluster.gpu.usable_memory",)),
    Fact("memory.free", "bytes", free_bytes, ("memory.capacity", "memory.total")),
    Fact("memory.headroom", "share", headroom, ("memory.free", "memory.capacity")),
)  # fmt: skip
