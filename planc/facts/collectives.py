"""Time of collectives, by latency and bandwidth: the algorithm that NCCL would choose, over the links that a group crosses.

A group of n ranks has m of them in each fast domain that it touches. Inside a domain a ring runs over the fast link; between
domains it enters and leaves each one through the network ports of all m ranks at once. S is the bytes of the whole tensor.
All numbers are floats or arrays of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.facts import constants
from planc.facts.arithmetic import largest, smallest, where
from planc.facts.floats import binary_logarithm


class Group(NamedTuple):
    """The ranks of a collective, and the links between them.

    ranks, members: in all, and in one fast domain. intra, inter: bytes per second, GPU and direction, inside and between
    domains. switch: whether the fast domain's switch adds up. Links may be None where the group does not cross them.
    """

    ranks: Any
    members: Any
    intra: Any
    inter: Any
    switch: Any


def group_members(ranks: Any, stride: Any, domain: Any, world: Any) -> Any:
    """Ranks of a group that lie in one fast domain; `stride` is the distance of its neighbours."""
    held = where(stride < domain, (domain - domain % largest(stride, 1.0)) / largest(stride, 1.0), 1.0)
    return where(world <= domain, ranks, smallest(ranks, largest(held, 1.0)))


def link_bandwidth(group: Group) -> Any:
    """Bytes per second that cross the slowest place of a ring over the group, for each of its ranks, as the cluster states it."""
    inside = group.ranks <= group.members
    if group.inter is None or group.intra is None:
        return group.intra if group.inter is None else group.inter
    return where(inside, group.intra, smallest(group.intra, group.inter * group.members))


def scatter_time(group: Group, num_bytes: Any, messages: Any) -> Any:
    """Seconds of a reduce-scatter or all-gather of so many bytes, cut into so many messages, by a ring.

    Formula: (n - 1) hop x messages + S (n - 1) / n / bandwidth
    Source: Thakur et al., Optimization of Collective Communication Operations in MPICH (2005), section 4.
    """
    hops = group.ranks - 1
    return _ring(group, num_bytes * hops / largest(group.ranks, 1.0), hops, messages, constants.RING_SHARE.value)


def all_reduce_time(group: Group, num_bytes: Any, messages: Any) -> Any:
    """Seconds of an all-reduce of so many bytes, cut into so many messages.

    Formula: the smaller of ring, 2 (n - 1) hop + 2 S (n - 1) / n / bandwidth, and tree between domains, with 2 log2(domains) hops
    Source: NCCL chooses by the same two terms (its tuning model); Thakur et al. (2005), section 4.
    """
    hops = group.ranks - 1
    share = where(
        group.switch & (4 < group.members) & (group.ranks <= group.members), constants.SWITCH_SHARE.value,
        constants.RING_SHARE.value,
    )  # fmt: skip
    sent = 2 * num_bytes * hops / largest(group.ranks, 1.0)
    ring = _ring(group, sent, 2 * hops, messages, share)
    domains = largest(group.ranks / group.members, 1.0)
    latency = 2 * (group.members - 1) * constants.HOP_TIME.value
    latency = latency + 2 * binary_logarithm(domains) * constants.FAR_HOP_TIME.value
    tree = messages * latency + sent / (_reached(group, share) * constants.TREE_SHARE.value)
    return where(group.ranks <= group.members, ring, smallest(ring, tree))


def all_to_all_time(group: Group, num_bytes: Any, messages: Any) -> Any:
    """Seconds of an all-to-all in which each rank sends so many bytes in all.

    Formula: (n - m) / n of them between domains, each rank through its own port, or (n - 1) / n inside; and a hop a peer
    Source: NCCL's all-to-all is pairs of send and receive.
    """
    n = largest(group.ranks, 1.0)
    inside, far = num_bytes * (group.members - 1) / n, num_bytes * (n - group.members) / n
    near = _over(inside, group.intra, constants.RING_SHARE.value)
    across = _over(far, group.inter, constants.SEND_SHARE.value)
    hop = where(group.ranks <= group.members, constants.HOP_TIME.value, constants.FAR_HOP_TIME.value)
    return largest(near, across) + messages * (n - 1) * hop


def _ring(group: Group, sent: Any, hops: Any, messages: Any, share: Any) -> Any:
    """Seconds of a ring in which each rank sends so many bytes; inside a domain by the faster of NCCL's protocols."""
    inside = group.ranks <= group.members
    rate = _reached(group, share)
    hop = constants.HOP_TIME.value
    small = messages * hops * hop + sent / (rate * constants.SMALL_MESSAGE_SHARE.value)
    large = messages * hops * hop * constants.LARGE_MESSAGE_HOPS.value + sent / rate
    far = messages * hops * mean_hop(group.members) + sent / rate
    return where(inside, smallest(small, large), far)


def mean_hop(members: Any) -> Any:
    """Seconds of a hop of a ring between domains, on average: one of all members' hops leaves the domain."""
    return (constants.FAR_HOP_TIME.value + (members - 1) * constants.HOP_TIME.value) / members


def _reached(group: Group, share: Any) -> Any:
    """Bytes per second of a ring that are reached of those stated."""
    inside = group.ranks <= group.members
    if group.inter is None:
        return group.intra * share
    if group.intra is None:
        return group.inter * constants.FAR_SHARE.value
    through = smallest(group.inter * group.members, group.intra) * constants.FAR_SHARE.value
    within = group.intra * constants.RING_SHARE.value
    far = where(1 < group.members, through * within / (through + within), through)
    return where(inside, group.intra * share, far)


def _over(num_bytes: Any, bandwidth: Any, share: float) -> Any:
    """Seconds of bytes over a link that is absent where nothing crosses it."""
    return 0.0 if bandwidth is None else num_bytes / (bandwidth * share)
