"""Which link carries an axis: the ranks of its groups, how many of them share a fast domain, and the bandwidth between them.

Ranks are numbered with tensor innermost, then context, data, and pipeline outermost (`ranks.py`), so the distance between
neighbours of a group is the product of the sizes inside it. Experts are spread over the data ranks of a stage.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import is_array, where
from planc.facts.collectives import Group, group_members, link_bandwidth
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.plan.model import Unknown

_SWITCHES_FROM = 9  # compute capability from which the switches of the fast link add up (NVLink SHARP)


def data_group(data: Any, context: Any) -> Any:
    """Ranks that hold the same weights and reduce gradients with each other.

    Formula: data x context
    Source: context ranks see other tokens of the same samples, so their gradients are summed too.
    """
    return data * context


@in_floats
def bandwidth(group: Any, stride: Any, domain: Any, world: Any, intra: Any, inter: Any) -> Any:
    """Bandwidth of the slowest link that a ring over the group crosses, per GPU and direction, as stated.

    Formula: intra_node if the group, or the world, lies in one domain; else inter_node x its ranks in a domain, at most intra_node
    Source: ranks of one pipeline stage are consecutive (see `ranks.py`); a ring enters a domain by the ports of all its ranks there.
    Assumes: the ring is as fast as its slowest link.
    """
    if not is_array(group) and group <= 1:
        return missing_link("intra_node") if intra is None else intra
    found = links(group, stride, domain, world, intra, inter, None)
    return found if isinstance(found, Unknown) else link_bandwidth(found)


def links(group: Any, stride: Any, domain: Any, world: Any, intra: Any, inter: Any, capability: Any) -> Any:
    """The `Group` of a collective, or Unknown where a link that it crosses is not stated."""
    if not is_array(group) and group <= 1:
        return Group(1.0, 1.0, 1.0, 1.0, False)  # which sends nothing
    members = group_members(group, stride, domain, world)
    if any(map(is_array, (group, members))):
        missing = "intra_node" if intra is None else "inter_node" if inter is None else ""
    elif group <= members:
        missing = "intra_node" if intra is None else ""
    else:
        missing = "inter_node" if inter is None else ""
    switch = False if capability is None else _SWITCHES_FROM <= capability
    return missing_link(missing) if missing else Group(group, members, intra, inter, switch)


def missing_link(name: str) -> Unknown:
    """What stands for a time over a link of the cluster that is not set."""
    return Unknown(f"`cluster.{name}` is not set", (f"cluster.{name}",), unset=True)


@in_floats
def innermost_bandwidth(group: Any, domain: Any, world: Any, intra: Any, inter: Any) -> Any:
    """Bandwidth of the slowest link that a ring over a tensor group crosses, per GPU and direction, as stated.

    Formula: as for `communication.data.bandwidth`; neighbours of a tensor group are consecutive ranks
    Source: see `ranks.py`.
    """
    return bandwidth(group, 1.0, domain, world, intra, inter)


@in_floats
def pipeline_bandwidth(domain: Any, world: Any, intra: Any, inter: Any) -> Any:
    """Bandwidth between ranks of neighbouring stages, per GPU and direction, as stated.

    Formula: intra_node if the world lies in one domain, else inter_node
    Source: stages are the outermost axis (see `ranks.py`).
    Assumes: where some neighbours share a domain, others do not, and the slowest counts.
    """
    return pick(domain < world, intra, inter)


def pick(far: Any, intra: Any, inter: Any) -> Any:
    """The bandwidth between domains where `far` holds, else inside; Unknown where it is not stated."""
    if is_array(far):
        missing = "intra_node" if intra is None else "inter_node" if inter is None else ""
        return missing_link(missing) if missing else where(far, inter, intra)
    name, link = ("inter_node", inter) if far else ("intra_node", intra)
    return missing_link(name) if link is None else link


_CLUSTER = ("cluster.domain", "world.size", "cluster.intra_node?", "cluster.inter_node?")

FACTS = (
    Fact("communication.data.group", "ranks", data_group, ("parallel.data", "parallel.context")),
    Fact("communication.data.bandwidth", "bytes/s", bandwidth, ("communication.data.group", "parallel.tensor", *_CLUSTER)),
    Fact("communication.shard.bandwidth", "bytes/s", bandwidth, ("shard.group", "parallel.tensor", *_CLUSTER)),
    Fact("communication.context.bandwidth", "bytes/s", bandwidth, ("parallel.context", "parallel.tensor", *_CLUSTER)),
    Fact("communication.expert.bandwidth", "bytes/s", bandwidth, ("parallel.expert", "parallel.expert_tensor", *_CLUSTER)),
    Fact("communication.tensor.bandwidth", "bytes/s", innermost_bandwidth, ("parallel.tensor", *_CLUSTER)),
    Fact("communication.pipeline.bandwidth", "bytes/s", pipeline_bandwidth, _CLUSTER),
)  # fmt: skip
