"""Model states on a card of each stage of the pipeline: weights, gradients, master weights and optimizer states.

N is the parameters that a card of the stage holds, E those of them that are routed experts; p the ranks that share sharded
states, e those that share the states of experts.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, product, total, where
from planc.facts.fact import Fact
from planc.plan.model import Unknown

DTYPE_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}

#: Moments that an optimizer keeps for each parameter: how many, and bytes of each (None: as `optimizer.states`).
MOMENTS: dict[str, tuple[int, int | None]] = {
    "adamw": (2, None), "adamw-8bit": (2, 1), "lion": (1, None), "muon": (1, None), "adafactor": (0, None),
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
    Assumes: muon keeps one moment for every parameter; the scales of 8-bit states and the sums over rows and columns that adafactor
        keeps in place of moments are left out.
    """
    copy = 0 if in_fp32 or precision == "fp32" else DTYPE_BYTES[master]
    if optimizer == "sgd":
        return copy + (0 if momentum is None or momentum == 0 else DTYPE_BYTES[states])
    if optimizer not in MOMENTS:
        return Unknown(f"the states of `{optimizer}` are not derived in this version", ("optimizer",))
    count, width = MOMENTS[optimizer]
    return copy + count * (DTYPE_BYTES[states] if width is None else width)


def weight_bytes(
    others: Any, experts: Any, width: Any, group: Any, expert_group: Any, stage: Any, compute: Any, in_fp32: Any, offload: Any,
    adapter: Any,
) -> Any:  # fmt: skip
    """Bytes of weights on a card of the stage.

    Formula: N x width; at stage 3 ((N - E) / p + E / e) x width; 0 if they are offloaded; FSDP2 at stage 2 shares its fp32 shards so and
        keeps the gathered weights until the backward pass ends, N x bytes in the matrix products more
    Source: ZeRO (2020), section 5.3; PyTorch FSDP2, reshard_after_forward = False.
    Assumes: even sharding: FSDP2 rounds the rows of each tensor up to a multiple of p, ZeRO 3 its elements, ZeRO 1 and 2 all elements
        to a multiple of 2 p; what is gathered for use is `memory.working_set`.
    """
    if adapter is not None:
        return _ADAPTER
    gathered = where(stage == 2, product(others + experts, compute), 0) if in_fp32 else 0
    if offload is not None:
        return gathered
    shared = _shared(others, experts, width, group, expert_group, (2 if in_fp32 else 3) <= stage)
    return shared if isinstance(shared, Unknown) else shared + gathered


def gradient_bytes(
    others: Any, experts: Any, width: Any, group: Any, expert_group: Any, stage: Any, second: Any, data: Any, compute: Any,
    adapter: Any,
) -> Any:  # fmt: skip
    """Bytes of gradients on a card of the stage.

    Formula: N x width; from stage 2 on ((N - E) / p + E / e) x width; nanotron and gpt-neox below stage 2, with several replicas, 16-bit
        weights and fp32 gradients: 2 N more
    Source: ZeRO (2020), section 5.2; fp32 gradients beside 16-bit weights add 2 N, sharded as these are; nanotron and DeepSpeed's
        BF16_Optimizer accumulate in fp32 beside the 16-bit gradients of the backward pass.
    Assumes: even sharding, as for the weights. Seen in runs of two processes, and left out: at stage 2 DeepSpeed keeps whole tensors at
        the edges of a part between micro batches; with fp32 gradients at stage 1 it has 2 N more in the backward pass.
    """
    if adapter is not None:
        return _ADAPTER
    shared = _shared(others, experts, width, group, expert_group, 2 <= stage)
    if not second or width < 4 or isinstance(shared, Unknown):
        return shared
    beside = where(stage < 2, where(compute < width, second * (others + experts), 0), 0)
    return shared + (beside if data is None else where(1 < data, beside, 0))


def optimizer_bytes(
    others: Any, experts: Any, width: Any, group: Any, expert_group: Any, stage: Any, offload: Any, adapter: Any
) -> Any:
    """Bytes of optimizer states and master weights on a card of the stage.

    Formula: N x width; from stage 1 on ((N - E) / p + E / e) x width; 0 if they are offloaded
    Source: ZeRO (2020), section 5.1.
    Assumes: even sharding, as for the weights.
    """
    if adapter is not None:
        return _ADAPTER
    return 0 if offload is not None else _shared(others, experts, width, group, expert_group, 1 <= stage)


_ADAPTER = Unknown("the states of adapters are not derived in this version", ("adapter",))


def _shared(others: Any, experts: Any, width: Any, group: Any, expert_group: Any, sharded: Any) -> Any:
    """Bytes of states of the given width, where `sharded` each shared by its group."""
    own = divide(product(others, width), where(sharded, group, 1))
    if isinstance(own, Unknown) or expert_group is None:  # without a group of theirs there are no experts
        return own
    theirs = divide(product(experts, width), where(sharded, expert_group, 1))
    return theirs if isinstance(theirs, Unknown) else own + theirs


def state_bytes(weights: Any, gradients: Any, optimizer: Any) -> Any:
    """Bytes of model states on a card of the stage.

    Formula: weights + gradients + optimizer; for Adam in 16 bits 16 N at stage 0, 4 N + 12 N / p at 1, 2 N + 14 N / p at 2,
        16 N / p at 3
    Source: ZeRO (2020), figure 1.
    """
    return total(weights, gradients, optimizer)


def host_bytes(
    others: Any, experts: Any, optimizer: Any, gradients: Any, weights: Any, group: Any, expert_group: Any, stage: Any,
    of_optimizer: Any, of_weights: Any, adapter: Any,
) -> Any:  # fmt: skip
    """Bytes that a card of the stage keeps in its host's memory.

    Formula: with `offload.optimizer = cpu` N x (optimizer and master weights + fp32 gradients), from stage 1 on shared as these are; with
        `offload.weights = cpu` N x weights, at stage 3 shared
    Source: ZeRO-Offload (2021), section 4: states and the gradients that they are updated with live on the host;
        DeepSpeed, estimate_zero2_model_states_mem_needs: 16 bytes a parameter.
    Assumes: buffers of pinned memory come on top, by half as much again in DeepSpeed's estimate.
    """
    if adapter is not None:
        return _ADAPTER
    kept = 0
    if of_optimizer == "cpu":
        kept = _shared(others, experts, optimizer + max(gradients, 4), group, expert_group, 1 <= stage)
    if of_weights == "cpu" and not isinstance(kept, Unknown):
        more = _shared(others, experts, weights, group, expert_group, 3 <= stage)
        return more if isinstance(more, Unknown) else kept + more
    return kept


_N = ("stage.parameters", "stage.expert_parameters")
_GROUPS = ("shard.group", "shard.expert_group~", "shard.stage")

FACTS = (
    Fact("memory.compute_width", "bytes", compute_width, ("precision",)),
    Fact("memory.weight_width", "bytes", weight_width, ("memory.compute_width", "engine.weights_in_fp32")),
    Fact("memory.gradient_width", "bytes", gradient_width, ("precision.gradients",)),
    Fact("memory.resident_gradient_width", "bytes", resident_gradient_width, ("memory.gradient_width", "precision", "engine.weights_in_fp32")),
    Fact("memory.optimizer_width", "bytes", optimizer_width, ("optimizer", "optimizer.states", "optimizer.momentum?", "precision.master", "precision", "engine.weights_in_fp32")),
    Fact("stage.weights", "bytes", weight_bytes, (*_N, "memory.weight_width", *_GROUPS, "memory.compute_width", "engine.weights_in_fp32", "offload.weights?", "adapter?")),
    Fact("stage.gradients", "bytes", gradient_bytes, (*_N, "memory.resident_gradient_width", *_GROUPS, "engine.second_gradient_width", "parallel.data~", "memory.compute_width", "adapter?")),
    Fact("stage.optimizer", "bytes", optimizer_bytes, (*_N, "memory.optimizer_width", *_GROUPS, "offload.optimizer?", "adapter?")),
    Fact("stage.states", "bytes", state_bytes, ("stage.weights", "stage.gradients", "stage.optimizer")),
    Fact("stage.host", "bytes", host_bytes, (*_N, "memory.optimizer_width", "memory.resident_gradient_width", "memory.weight_width", *_GROUPS, "offload.optimizer?", "offload.weights?", "adapter?")),
)  # fmt: skip
