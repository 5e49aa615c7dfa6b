"""Checkpoints of DeepSpeed: a folder for a step, with a file of states for each rank that holds some.

Source: deepspeed 0.19.8, runtime/engine.py: _get_ckpt_name, _get_rank_zero_ckpt_name and _get_expert_ckpt_name (names),
_common_checkpoint_state (what is in them); checkpoint/ds_to_universal.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from planc.evidence.checkpoints import archive, pickled
from planc.evidence.checkpoints.pickled import Made
from planc.evidence.checkpoints.tensors import Count

_MODEL = re.compile(r"(?:zero_pp_rank_(\d{1,9})_)?mp_rank_(\d{2,9})_model_states\.pt")
_STATES = re.compile(r"((?:bf16_|fp16_)?)zero_pp_rank_(\d{1,9})_mp_rank_(\d{2,9})_optim_states\.pt")
_EXPERT = re.compile(r"(?:layer_\d+_)?expert_\d+_mp_rank_\d{2,9}_model_states\.pt")
_STEP = re.compile(r"global_step(\d{1,18})(?:_universal)?")

#: Sizes that one rank states of all.
_STATED = {"dp_world_size": "sharing", "mp_world_size": "model_parallel"}
_DEGREES = {"tp_degree": "tensor", "pp_degree": "pipeline"}


class Names(NamedTuple):
    """What the names of a folder's files say: the file that describes it, sizes, and files that are not there."""

    described_by: str
    layout: Mapping[str, int]
    missing: tuple[str, ...]


def names(files: Iterable[str]) -> Names | None:
    """What the names of the files in one folder say; None if it is no checkpoint of DeepSpeed."""
    listed = sorted(files)
    models = [(match, name) for name in listed if (match := _MODEL.fullmatch(name))]
    if not models:
        return None
    states = [match for name in listed if (match := _STATES.fullmatch(name))]
    ranks = {int(match[2]) for match, _ in models}
    layout = {"model_parallel": max(ranks) + 1}
    if states:
        layout["sharing"] = max(int(match[2]) for match in states) + 1
    first = min(models, key=lambda each: (int(each[0][2]), int(each[0][1] or 0)))[1]
    return Names(first, layout, tuple(_missing([match for match, _ in models], states, layout)))


def is_states(name: str) -> bool:
    """Whether a name is that of an archive of states, of whichever rank."""
    return any(pattern.fullmatch(name) for pattern in (_MODEL, _STATES, _EXPERT))


def step_of(folder: str) -> int | None:
    """The step in the name of a folder."""
    match = _STEP.fullmatch(folder)
    return int(match[1]) if match else None


def stated(content: Mapping[str, Any]) -> dict[str, int]:
    """The sizes that the first rank states, and its step as `step`."""
    found = {ours: content[theirs] for theirs, ours in _STATED.items() if _is_size(content.get(theirs))}
    degrees = pickled.fields(content.get("checkpoint_parallel_dimensions"))
    found |= {ours: degrees[theirs] for theirs, ours in _DEGREES.items() if _is_size(degrees.get(theirs))}
    config = pickled.fields(pickled.fields(content.get("ds_config")).get("zero_optimization"))
    stage = config.get("stage", 0 if content.get("param_shapes", 0) is None else None)
    if type(stage) is int and 0 <= stage <= 3:
        found["stage"] = stage
    step = content.get("global_steps")
    if type(step) is int and 0 <= step < 1 << 63:
        found["step"] = step
    return found


def shares_in_groups(content: Mapping[str, Any]) -> bool:
    """Whether groups of ranks share the states (MiCS), so that there are files of the ranks of one group alone."""
    size = pickled.fields(pickled.fields(content.get("ds_config")).get("zero_optimization")).get("mics_shard_size")
    return type(size) is int and 0 < size


def counted(content: Mapping[str, Any], files: Iterable[str], ranks: int) -> Count:
    """The parameters of the model, from the shapes that the first rank lists; each stands there whole, and once."""
    if 1 < ranks:
        return Count(None, "each of its model-parallel ranks lists its own shards, so that parameters are not counted")
    if any(_EXPERT.fullmatch(name) for name in files):
        return Count(None, "its experts lie in files of their own, so that parameters are not counted")
    shapes = content.get("param_shapes")
    if isinstance(shapes, Made):
        groups = [*shapes.items, content.get("frozen_param_shapes")]
        sizes = [pickled.whole_numbers(shape) for group in groups for _, shape in pickled.entries(group)]
    else:
        buffers = content.get("buffer_names")
        left_out = {name for name in buffers.items if isinstance(name, str)} if isinstance(buffers, Made) else set()
        module = pickled.entries(content.get("module"))
        tensors = (archive.shape_of(value) for name, value in module if isinstance(name, str) and name not in left_out)
        # Two names of one tensor, such as a tied output layer, lie at one place.
        sizes = [*dict(tensor for tensor in tensors if tensor is not None).values()]
    known = [math.prod(size) for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return Count(None, "it does not list the shapes of its parameters")
    return Count(sum(known))


def _missing(models: Iterable[re.Match[str]], states: list[re.Match[str]], layout: Mapping[str, int]) -> Iterator[str]:
    """Files that the others imply: each rank that shares has one for each model-parallel rank."""
    pairs = {(int(match[2]), int(match[3])) for match in states}
    parts = {(int(match[1]), int(match[2])) for match in models if match[1] is not None}
    ranks = {int(match[2]) for match in models}
    yield from (f"mp_rank_{rank:02d}_model_states.pt" for rank in _gaps(layout["model_parallel"], ranks))
    sharing = range(layout.get("sharing", 0))
    if not states or _MOST_FILES < len(sharing) * len(ranks):
        return
    wanted = {(data, rank) for data in sharing for rank in ranks}
    for data, rank in sorted(wanted - pairs):
        yield f"{states[0][1]}zero_pp_rank_{data}_mp_rank_{rank:02d}_optim_states.pt"
    for data, rank in sorted(wanted - parts if parts else ()):
        yield f"zero_pp_rank_{data}_mp_rank_{rank:02d}_model_states.pt"


#: Files of which it is asked whether they are there: a name may state any number of ranks.
_MOST_FILES = 1 << 20


def _gaps(count: int, found: set[int]) -> list[int]:
    return [rank for rank in range(count) if rank not in found] if count <= _MOST_FILES else []


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 31
