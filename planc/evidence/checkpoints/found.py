"""What was found of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any, NamedTuple

#: Opens a file of the folder for reading, by its name there; raises Unreadable where that cannot be.
Opener = Callable[[str], IO[bytes]]


class Unreadable(Exception):
    """Why a file does not describe a checkpoint."""


class Unread(Unreadable):
    """Why planc does not read a file that may be whole: it is too large, of a form of its own, or not to be opened."""


class Found(NamedTuple):
    """A checkpoint; `path` is its folder from the one that was looked into, empty for that itself.

    format: `safetensors`, `dcp`, `deepspeed`, `deepspeed-universal` or `megatron`.
    step: None where neither a name nor a file says it.
    parameters: of the whole model, each once; None where that cannot be counted, and a note says why.
    adapter: the parameters are those of an adapter alone.
    layout: sizes by the names of `AXES`, those only that it states.
    faults: what is wrong with it whatever the plan: a file that is missing, or cut short.
    notes: what could not be found out, and why.
    """

    path: str
    format: str
    step: int | None
    parameters: int | None
    layout: Mapping[str, int]
    adapter: bool = False
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


#: Sizes that a layout may have, with what they count.
AXES = {
    "writers": "ranks that wrote it, at least",
    "world": "ranks of the run",
    "sharing": "ranks that share the states: replicas, times the ranks that split their sequences",
    "model_parallel": "tensor ranks times stages",
    "tensor": "tensor ranks",
    "pipeline": "stages",
    "context": "ranks that split a sequence",
    "expert": "expert ranks",
    "pipeline_or_expert": "stages, or expert ranks where there is one stage",
    "stage": "stage of ZeRO",
}


def as_data(found: Found) -> dict[str, Any]:
    """A checkpoint as plain data, for a record."""
    data: dict[str, Any] = {"path": found.path, "format": found.format, "layout": dict(sorted(found.layout.items()))}
    if found.step is not None:
        data["step"] = found.step
    if found.parameters is not None:
        data["parameters"] = found.parameters
    data["adapter"] = found.adapter
    data["faults"], data["notes"] = [*found.faults], [*found.notes]
    return data


def found_of(data: Mapping[str, Any]) -> Found:
    """The checkpoint of plain data that was found to have the right form."""
    step, parameters = (data.get(key) for key in ("step", "parameters"))
    return Found(
        data["path"],
        data["format"],
        None if step is None else int(step),
        None if parameters is None else int(parameters),
        data["layout"],
        data["adapter"],
        tuple(data["faults"]),
        tuple(data["notes"]),
    )
