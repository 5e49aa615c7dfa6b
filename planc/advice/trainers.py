"""What the trainers that advice names can do; what they do is judged by rules and targets once a plan is written."""

from __future__ import annotations

from typing import NamedTuple


class Trainer(NamedTuple):
    """A trainer's means.

    emit: the targets of a plan for it. script: what its plan starts, unless it says so itself;
        empty where the trainer has a program of its own.
    stages: of ZeRO that it has with one pipeline stage, and `pipeline_stages` with several (none: it has no pipeline).
    hybrid: shares within groups and replicates over them. recompute: which kinds, from the cheapest.
    blocks: full recomputation may be of some layers of a stage alone.
    """

    name: str
    emit: tuple[str, ...]
    script: str
    stages: tuple[int, ...]
    pipeline_stages: tuple[int, ...]
    hybrid: bool
    tensor: bool
    sequence: bool
    interleaved: bool
    context: str
    expert: bool
    recompute: tuple[str, ...]
    blocks: bool = False


#: accelerate chooses DDP for stage 0, DeepSpeed for 1, and FSDP2 for 2 and 3.
TRAINERS: dict[str, Trainer] = {
    "accelerate": Trainer(
        "accelerate", ("accelerate",), "train.py", (0, 1, 2, 3), (), True, False, False, False, "ring", False,
        ("none", "full"),
    ),
    "deepspeed": Trainer(
        "deepspeed", ("deepspeed", "torchrun"), "train.py", (0, 1, 2, 3), (0, 1), False, True, False, False, "", True,
        ("none", "full"),
    ),
    "megatron": Trainer(
        "megatron", ("megatron",), "pretrain_gpt.py", (0, 1), (0, 1), False, True, True, True, "ring", True,
        ("none", "selective", "full"), True,
    ),
    "torchtitan": Trainer(
        "torchtitan", ("torchtitan",), "", (2, 3), (2,), True, True, True, True, "all-gather",
        True, ("none", "selective", "full"),
    ),
}  # fmt: skip

#: Where no trainer is named: what needs least of a program first.
BY_DEFAULT = ("accelerate", "megatron")
