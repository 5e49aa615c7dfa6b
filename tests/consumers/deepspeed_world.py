"""DeepSpeed without a cluster: a world of any size, and which parameters its optimizers take."""

from __future__ import annotations

import inspect
from typing import Any


class World:
    """What DeepSpeed asks of a running world, without one; a group is told by its size."""

    def __init__(self, size: int) -> None:
        self.size = size

    def is_initialized(self) -> bool:
        return True

    def get_world_size(self, group: Any = None) -> int:
        return self.size if group is None else int(group)

    def get_rank(self, group: Any = None) -> int:
        return 0


def parameters_of(name: str) -> set[str]:
    """The parameters of an optimizer of DeepSpeed, by the type that the file names."""
    import torch
    from deepspeed.ops.adam import FusedAdam
    from deepspeed.ops.lion import FusedLion
    from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS
    from deepspeed.runtime.engine import DeepSpeedEngine

    if name == "Muon":
        return {*DeepSpeedEngine._MUON_HALF_KEYS, *DeepSpeedEngine._ADAM_HALF_KEYS}
    known = {"AdamW": FusedAdam, "Lion": FusedLion}
    assert (name.lower() in DEEPSPEED_OPTIMIZERS) == (name in known)
    return set(inspect.signature(known.get(name) or getattr(torch.optim, name)).parameters)
