"""Memory of a card: of each stage of the pipeline all that it holds, and the stage that needs most.

What the parts of one card are is known to the stages (`states.py`, `activations.py`, `buffers.py`); `memory.weights` and the
other parts here are those of the fullest stage, so that they add up to `memory.total`.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import at_largest, divide, product, total
from planc.facts.constants import CONTEXT_BYTES, GROUP_BYTES, RESERVED_SHARE
from planc.facts.fact import Fact
from planc.plan.model import Unknown


def peak_bytes(
    weights: Any, optimizer: Any, gradients: Any, working_set: Any, buffers: Any, activations: Any, transient: Any, factor: Any
) -> Any:
    """Bytes of live tensors on a card of the stage, at the peak of a forward and backward pass.

    Formula: weights + optimizer states + gradients that are there + (working set + buffers + activations + what comes and goes) x
        calibration.memory
    Source: definition; `calibration.memory` is 1 unless the plan states what was measured.
    """
    beside = total(working_set, buffers, activations, transient)
    return total(weights, optimizer, gradients, beside if factor is None else product(beside, factor))


def context_bytes(*sizes: Any) -> Any:
    """Bytes that the process takes beside its tensors: the card's context, kernels and buffers of the library of collectives.

    Formula: {CONTEXT_BYTES} + {GROUP_BYTES} x (1 for the group of all ranks + 1 for each axis of more than one)
    Source: measured runs, see `docs/cost-model.md`.
    """
    groups = 1 + sum((1 < size) * 1 for size in sizes if size is not None)
    return total(CONTEXT_BYTES.value, product(groups, GROUP_BYTES.value))


def reserve_bytes(
    peak: Any, weights: Any, optimizer: Any, live: Any, gradients: Any, precision: Any, width: Any
) -> Any:
    """Bytes that the allocator holds beyond live tensors: fragments and blocks kept for later.

    Formula: {RESERVED_SHARE} x all that is allocated and freed within a step, which is the peak less the states; + gradients that are
        not there at the peak; with fp16 + the fp32 gradients that the optimizer unscales, 4 of its bytes per parameter
    Source: BLOOM's and torchtitan's runs, which reserve as if no block were used for another purpose.
    """
    passing = product(peak - total(weights, optimizer, live), RESERVED_SHARE.value)
    unscaled = divide(product(optimizer, 4), width) if precision == "fp16" and width else 0
    return unscaled if isinstance(unscaled, Unknown) else total(passing, gradients - live, unscaled)


def total_bytes(peak: Any, context: Any, reserve: Any) -> Any:
    """Bytes of a card that the stage needs.

    Formula: peak + context + reserve
    Source: definition.
    """
    return total(peak, context, reserve)


def worst_stage(indices: tuple[Any, ...], totals: tuple[Any, ...] | None, states: tuple[Any, ...]) -> Any:
    """The stage whose cards need most memory, counted from 0.

    Formula: the first with the largest `stage.total`, or with the largest model states where that is not known
    Source: definition.
    """
    return at_largest(states if totals is None else totals, indices)


def of_worst(values: tuple[Any, ...], indices: tuple[Any, ...], worst: Any) -> Any:
    """Bytes of this part on the fullest stage.

    Formula: the stage's own, at `memory.worst_stage`
    Source: definition.
    """
    return at_largest(tuple((index == worst) * 1 for index in indices), values)


def most_states(states: tuple[Any, ...]) -> Any:
    """Bytes of model states of the stage that has most of them.

    Formula: the largest `stage.states`
    Source: ZeRO (2020), figure 1.
    Assumes: model states only; activations, buffers and fragmentation come on top.
    """
    return at_largest(states, states)


def host_bytes(of_cards: tuple[Any, ...], cards: Any) -> Any:
    """Bytes of offloaded states in the memory of one node.

    Formula: bytes of a card of the stage that has most x gpus_per_node
    Source: definition.
    Assumes: the cards of a node hold stages that offload alike; what the system and the data loader take comes on top.
    """
    return product(at_largest(of_cards, of_cards), cards)


def capacity_bytes(usable: Any) -> Any:
    """Bytes that a process can allocate on the card.

    Formula: gpu.usable_memory
    Source: the card; the label counts memory that the driver keeps.
    """
    return usable


def free_bytes(capacity: Any, needed: Any) -> Any:
    """Bytes left on the fullest card.

    Formula: capacity - total
    Source: definition.
    """
    return capacity - needed


def headroom(free: Any, capacity: Any) -> Any:
    """Share of the card that is left.

    Formula: free / capacity
    Source: definition.
    """
    return divide(free, capacity)


def _part(name: str, of_stage: str = "") -> Fact:
    """The fact of one part of the fullest stage's memory."""
    of_stage = of_stage or f"stage.{name}"
    return Fact(f"memory.{name}", "bytes", of_worst, (f"{of_stage}[]", "stage.index[]", "memory.worst_stage"))


_STATES = ("stage.weights", "stage.optimizer", "stage.live_gradients")

#: What a card holds at its peak, in the order in which it is shown, with the facts of a stage; they add up to the total.
PARTS: dict[str, str] = {
    "weights": "stage.weights", "gradients": "stage.live_gradients", "optimizer": "stage.optimizer",
    "working_set": "stage.working_set", "buffers": "stage.buffers", "activations": "stage.live_activations",
    "transient": "stage.transient", "context": "stage.context", "reserve": "stage.reserve",
}  # fmt: skip

FACTS = (
    Fact("stage.peak", "bytes", peak_bytes, (*_STATES, "stage.working_set", "stage.buffers", "stage.live_activations", "stage.transient", "calibration.memory?")),
    Fact("stage.context", "bytes", context_bytes, ("parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.expert", "parallel.data~")),
    Fact("stage.reserve", "bytes", reserve_bytes, ("stage.peak", *_STATES, "stage.gradients", "precision", "memory.optimizer_width")),
    Fact("stage.total", "bytes", total_bytes, ("stage.peak", "stage.context", "stage.reserve")),
    Fact("memory.worst_stage", "count", worst_stage, ("stage.index[]", "stage.total[]~", "stage.states[]")),
    *(_part(name, of_stage) for name, of_stage in PARTS.items()),
    *map(_part, ("logits", "recomputed", "peak", "total")),
    Fact("memory.states", "bytes", most_states, ("stage.states[]",)),
    Fact("memory.host", "bytes", host_bytes, ("stage.host[]", "cluster.gpus_per_node")),
    Fact("memory.capacity", "bytes", capacity_bytes, ("cluster.gpu.usable_memory",)),
    Fact("memory.free", "bytes", free_bytes, ("memory.capacity", "memory.total")),
    Fact("memory.headroom", "share", headroom, ("memory.free", "memory.capacity")),
)  # fmt: skip
