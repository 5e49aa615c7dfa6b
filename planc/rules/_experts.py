"""The ranks that each trainer regroups for the experts."""

from __future__ import annotations

from typing import NamedTuple

from planc.facts.facts import Facts
from planc.rules._numbers import known


class Pool(NamedTuple):
    """Ranks of which the expert groups are made, what they are called, and the ranks that split one expert."""

    ranks: int
    noun: str
    width: int

    def holds_groups_of(self, size: int) -> bool:
        """Whether it divides into groups of so many expert ranks, or is not known."""
        return self.ranks == 0 or self.ranks % (size * self.width) == 0


_UNKNOWN = Pool(0, "rank", 1)
_SIZES = ("parallel.tensor", "parallel.context", "parallel.data", "parallel.expert_tensor")


def expert_pool(facts: Facts) -> Pool:
    """The ranks that become expert ranks, of a pipeline stage, of one copy of the states, or the replicas."""
    tensor, context, data, width = (facts[path] for path in _SIZES)
    if not all(map(known, (tensor, context, data, width))):
        return _UNKNOWN
    if facts.engine.runtime == "deepspeed" and 1 < width:  # with sequence ranks its groups follow the program's mesh
        return Pool(data, "replica", 1) if context == 1 else _UNKNOWN
    if facts.engine.name == "torchtitan":
        stage, size = facts["shard.stage"], facts["shard.size"]
        shared = known(stage) and known(size) and 0 < stage
        return Pool(size * context * tensor, "sharing rank", 1) if shared else _UNKNOWN
    return Pool(data * context * tensor, "rank", width)
