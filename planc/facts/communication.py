"""What crosses the links in a step. In this version: the gradients of the data-parallel ranks."""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, real, where
from planc.facts.fact import Fact
from planc.plan.model import Unknown


def data_group(data: Any, context: Any) -> Any:
    """Ranks that hold the same weights and reduce gradients with each other.

    Formula: data x context
    Source: context ranks see other tokens of the same samples, so their gradients are summed too.
    """
    return data * context


def data_link(tensor: Any, group: Any, domain: Any, world: Any, intra: Any, inter: Any) -> Any:
    """Bandwidth of the slowest link that the gradient all-reduce crosses, per GPU and direction.

    Formula: intra_node if the world, or each run of tensor x context x data ranks, lies in one domain; else inter_node
    Source: ranks of one pipeline stage are consecutive (see `ranks.py`).
    Assumes: the ring is as fast as its slowest link.
    """
    run = tensor * group
    inside = (world <= domain) | ((run <= domain) & (domain % where(run == 0, 1, run) == 0))
    if is_array(inside):
        if intra is None or inter is None:
            return _missing_link("intra_node" if intra is None else "inter_node")
        return where(inside, intra, inter)
    name, link = ("intra_node", intra) if inside else ("inter_node", inter)
    return _missing_link(name) if link is None else link


def _missing_link(name: str) -> Unknown:
    return Unknown(f"`cluster.{name}` is not set", (f"cluster.{name}",), unset=True)


def all_reduce_bytes(num_parameters: Any, bytes_per_gradient: Any, group: Any, adapter: Any) -> Any:
    """Bytes that one card sends in the gradient all-reduce of a step.

    Formula: 2 N b (p - 1) / p, with N parameters on the card, b bytes per gradient and p ranks in the group
    Source: ring all-reduce: a reduce-scatter and an all-gather of N b (p - 1) / p each; ZeRO (2020), section 7.
    Assumes: one reduction per step; ZeRO 1 and 2 send as much, stage 3 half as much again.
    """
    if adapter is not None:  # only its gradients are reduced
        return Unknown("the gradients of adapters are not derived in this version", ("adapter",))
    return divide(2 * num_parameters * bytes_per_gradient * (group - 1), group)


def transfer_seconds(num_bytes: Any, bandwidth: Any) -> Any:
    """Time to send bytes over a link.

    Formula: bytes / bandwidth; 0 if there is nothing to send
    Source: definition of bandwidth.
    Assumes: full declared bandwidth, no latency.
    """
    if not is_array(num_bytes) and num_bytes == 0:
        return 0.0
    if bandwidth is None:
        return Unknown("the bandwidth of the link is not set", ("cluster.intra_node", "cluster.inter_node"), unset=True)
    if not is_array(bandwidth) and bandwidth == 0:
        return Unknown("the link has no bandwidth", ("cluster.intra_node", "cluster.inter_node"))
    return real(divide(num_bytes, bandwidth))


def exposed_share(seconds: Any, step_seconds: Any) -> Any:
    """Share of the step that a transfer takes if nothing overlaps it.

    Formula: t / (t + step)
    Source: definition; `explain --step-time` gives the step without communication.
    Assumes: no overlap with computation.
    """
    return divide(seconds, seconds + step_seconds)


FACTS = (
    Fact("communication.data.group", "ranks", data_group, ("parallel.data", "parallel.context")),
    Fact("communication.data.bandwidth", "bytes/s", data_link, ("parallel.tensor", "communication.data.group", "cluster.domain", "world.size", "cluster.intra_node?", "cluster.inter_node?")),
    Fact("communication.data.bytes", "bytes", all_reduce_bytes, ("parallel.parameters_per_rank", "memory.gradient_width", "communication.data.group", "adapter?")),
    Fact("communication.data.time", "s", transfer_seconds, ("communication.data.bytes", "communication.data.bandwidth?")),
    Fact("communication.data.share", "share", exposed_share, ("communication.data.time", "step.without_communication")),
)  # fmt: skip
