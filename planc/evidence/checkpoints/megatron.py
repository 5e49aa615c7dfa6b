"""Checkpoints of Megatron-LM: `iter_0001000` with a folder for each model-parallel rank, or of its distributed format.

Source: Megatron-LM, megatron/training/checkpointing.py: get_checkpoint_name (`mp_rank_TT`, `_PPP` with stages, `_EEE`
with expert ranks), get_checkpoint_tracker_filename, generate_state_dict (`args` and `iteration`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from planc.evidence.checkpoints import pickled

#: What each rank's folder holds in the older format, and what describes the distributed one beside `.metadata`.
STATES, COMMON = "model_optim_rng.pt", "common.pt"

#: The file that names the newest checkpoint.
TRACKER = "latest_checkpointed_iteration.txt"

_RANK = re.compile(r"mp_rank_(\d{2,9})(?:_(\d{3,9}))?(?:_(\d{3,9}))?")
_STEP = re.compile(r"iter_(\d{7,18})")

_ARGUMENTS = {
    "tensor_model_parallel_size": "tensor", "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context", "expert_model_parallel_size": "expert", "world_size": "world",
}  # fmt: skip


def is_rank(folder: str) -> bool:
    """Whether a folder's name is that of a model-parallel rank."""
    return _RANK.fullmatch(folder) is not None


def step_of(folder: str) -> int | None:
    """The step in the name of a folder."""
    match = _STEP.fullmatch(folder)
    return int(match[1]) if match else None


def layout_of(folders: Iterable[str]) -> dict[str, int]:
    """The sizes that the names of the ranks' folders state."""
    ranks = [match for folder in folders if (match := _RANK.fullmatch(folder))]
    if not ranks:
        return {}
    sizes = [max((int(match[place]) + 1 for match in ranks if match[place]), default=0) for place in (1, 2, 3)]
    if sizes[2]:
        return {"tensor": sizes[0], "pipeline": sizes[1], "expert": sizes[2]}
    return {"tensor": sizes[0]} | ({"pipeline_or_expert": sizes[1]} if sizes[1] else {})


def missing(folders: Iterable[str]) -> tuple[str, ...]:
    """Folders of ranks that the others imply."""
    listed = {folder for folder in folders if _RANK.fullmatch(folder)}
    axes: list[set[str]] = [set(), set(), set()]
    for folder in listed:
        for axis, part in zip(axes, folder.removeprefix("mp_rank_").split("_"), strict=False):
            axis.add(part)
    if _MOST_FOLDERS < max(len(axes[0]), 1) * max(len(axes[1]), 1) * max(len(axes[2]), 1):
        return ()
    wanted = {""}
    for axis in filter(None, axes):
        wanted = {f"{start}_{part}" for start in wanted for part in axis}
    return tuple(sorted({f"mp_rank{parts}" for parts in wanted} - listed))


#: Folders of which it is asked whether they are there.
_MOST_FOLDERS = 1 << 20


def stated(content: Any) -> dict[str, int]:
    """The sizes in the arguments of the run, and its step as `step`."""
    fields: Mapping[str, Any] = pickled.fields(content)
    arguments = pickled.fields(fields.get("args"))
    found = {
        ours: arguments[theirs]
        for theirs, ours in _ARGUMENTS.items()
        if type(arguments.get(theirs)) is int and 0 < arguments[theirs] < 1 << 31
    }
    step = fields.get("iteration")
    if type(step) is int and 0 <= step < 1 << 63:
        found["step"] = step
    return found
