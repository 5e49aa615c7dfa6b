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

    Formula: {ring_time} with S (n - 1) / n bytes and n - 1 hops, at {RING_SHARE} of the fast link
    Source: Thakur et al., Optimization of Collective Communication Operations in MPICH (2005), section 4.
    """
    hops = group.ranks - 1
    return ring_time(group, num_bytes * hops / largest(group.ranks, 1.0), hops, messages, constants.RING_SHARE.value)


def all_reduce_time(group: Group, num_bytes: Any, messages: Any) -> Any:
    """Seconds of an all-reduce of so many bytes, cut into so many messages.

    Formula: {ring_time} with 2 S (n - 1) / n bytes and 2 (n - 1) hops, at {RING_SHARE} of the fast link, or {SWITCH_SHARE} where its switch
        adds up for more than 4 ranks of one domain; over several domains a tree if that is faster: messages x (2 (m - 1) {HOP_TIME} +
        2 log2(domains) {FAR_HOP_TIME}) + bytes / ({TREE_SHARE} x rate of the ring)
    Source: NCCL chooses by the same two terms (its tuning model); Thakur et al. (2005), section 4.
    """
    hops = group.ranks - 1
    share = where(
        group.switch & (4 < group.members) & (group.ranks <= group.members), constants.SWITCH_SHARE.value,
        constants.RING_SHARE.value,
    )  # fmt: skip
    sent = 2 * num_bytes * hops / largest(group.ranks, 1.0)
    ring = ring_time(group, sent, 2 * hops, messages, share)
    domains = largest(group.ranks / group.members, 1.0)
    latency = 2 * (group.members - 1) * constants.HOP_TIME.value
    latency = latency + 2 * binary_logarithm(domains) * constants.FAR_HOP_TIME.value
    tree = messages * latency + sent / (_reached(group, share) * constants.TREE_SHARE.value)
    return where(group.ranks <= group.members, ring, smallest(ring, tree))


def all_to_all_time(group: Group, num_bytes: Any, messages: Any) -> Any:
    """Seconds of an all-to-all in which each rank sends so many bytes in all.

    Formula: the longer of S (n - m) / n / ({SEND_SHARE} x inter_node) and S (m - 1) / n / ({RING_SHARE} x intra_node), + messages x (n - 1)
        hops of {FAR_HOP_TIME}, inside one domain of {HOP_TIME}
    Source: NCCL's all-to-all is pairs of send and receive.
    """
    n = largest(group.ranks, 1.0)
    inside, far = num_bytes * (group.members - 1) / n, num_bytes * (n - group.members) / n
    near = _over(inside, group.intra, constants.RING_SHARE.value)
    across = _over(far, group.inter, constants.SEND_SHARE.value)
    hop = where(group.ranks <= group.members, constants.HOP_TIME.value, constants.FAR_HOP_TIME.value)
    return largest(near, across) + messages * (n - 1) * hop


def ring_time(group: Group, sent: Any, hops: Any, messages: Any, share: Any) -> Any:
    """Seconds of a ring in which each rank sends so many bytes; inside a domain by the faster of NCCL's protocols.

    Formula: inside a domain the smaller of messages x hops x {HOP_TIME} + bytes / (rate x {SMALL_MESSAGE_SHARE}) and messages x hops x
        {LARGE_MESSAGE_HOPS} x {HOP_TIME} + bytes / rate, rate = intra_node x share; over several domains messages x hops x {mean_hop} +
        bytes / rate, rate = a b / (a + b) with a = {FAR_SHARE} x the smaller of inter_node x m and intra_node, b = {RING_SHARE} x
        intra_node; a alone for m = 1
    Source: NCCL's protocols LL128 and Simple.
    """
    inside = group.ranks <= group.members
    rate = _reached(group, share)
    hop = constants.HOP_TIME.value
    small = messages * hops * hop + sent / (rate * constants.SMALL_MESSAGE_SHARE.value)
    large = messages * hops * hop * constants.LARGE_MESSAGE_HOPS.value + sent / rate
    far = messages * hops * mean_hop(group.members) + sent / rate
    return where(inside, smallest(small, large), far)


def mean_hop(members: Any) -> Any:
    """Seconds of a hop of a ring between domains, on average: one of all members' hops leaves the domain.

    Formula: ({FAR_HOP_TIME} + (m - 1) {HOP_TIME}) / m
    Source: definition.
    """
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
