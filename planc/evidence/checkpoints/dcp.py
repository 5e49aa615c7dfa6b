"""Checkpoints of `torch.distributed.checkpoint`: `.metadata`, a pickle, and files `__RANK_NUMBER.distcp`.

Source: torch 2.13, torch/distributed/checkpoint/metadata.py (what is pickled) and filesystem.py (the names).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from planc.evidence.checkpoints import pickled
from planc.evidence.checkpoints.found import Unreadable
from planc.evidence.checkpoints.tensors import Tensor

METADATA = ".metadata"

#: Bytes of it that are read; the list of tensors is the first part, and bounded by what it makes.
MOST_BYTES = 128 << 20

#: The first field of what is pickled; the next is `planner_data`.
_LIST = "state_dict_metadata"

#: Bytes of one that is read whole, for where its tensors lie.
_MOST_LISTED = 1 << 20

#: The last byte of a pickle.
_STOP = b"."

_FILE = re.compile(r"__(\d{1,9})_\d{1,9}\.distcp")

_TENSOR = "torch.distributed.checkpoint.metadata.TensorStorageMetadata"

#: First parts of names under which programs save what is no weight.
_OTHERS = re.compile(
    r"(optim(izers?|izer_states?)?(_\d+)?|adam\w*|(lr_)?schedulers?(_\d+)?|lr_scheduler\w*|dataloader|data_loader|train_state"
    r"|trainer\w*|rng\w*|ema\w*|grad_scaler|rerun_state_machine\w*|chained_\d+)"
)

#: Names under which programs save the weights.
_MODELS = ("model", "module", "state_dict", "app")


def writers(names: Iterable[str]) -> int:
    """Ranks that wrote it at least: those without a tensor of their own leave no file."""
    return max((int(match[1]) + 1 for name in names if (match := _FILE.fullmatch(name))), default=0)


def is_file(name: str) -> bool:
    """Whether a name is one of the files that hold the tensors."""
    return _FILE.fullmatch(name) is not None


def read(content: bytes) -> tuple[Tensor, ...]:
    """The tensors of the model in a `.metadata`, in the order in which it has them."""
    if not content.endswith(_STOP):
        raise Unreadable("it is cut short")
    value = pickled.read_between(content, _LIST, "planner_data")
    listed = pickled.fields(value).get(_LIST, value)
    if not isinstance(listed, pickled.Made) or listed.name != "dict":
        raise Unreadable("its `.metadata` does not list tensors")
    found = []
    for name, value in pickled.entries(listed):
        if isinstance(name, str) and isinstance(value, pickled.Made) and value.name == _TENSOR:
            shape = pickled.whole_numbers(pickled.fields(value).get("size"))
            if shape is None:
                raise Unreadable("its `.metadata` has a tensor without a shape")
            found.append(Tensor(name, _dtype(pickled.fields(value).get("properties")), shape))
    return _of_model(found)


def stored(content: bytes) -> dict[str, int]:
    """Bytes that each file has at least, as a `.metadata` lists their parts; none where it is long, or does not say."""
    if _MOST_LISTED < len(content):
        return {}
    found: dict[str, int] = {}
    for _, value in pickled.entries(pickled.fields(pickled.read(content)).get("storage_data")):
        part = pickled.fields(value)
        name, offset, length = (part.get(key) for key in ("relative_path", "offset", "length"))
        if isinstance(name, str) and type(offset) is int and type(length) is int:
            found[name] = max(found.get(name, 0), offset + length)
    return found


def _dtype(properties: Any) -> str:
    """The type of a tensor: properties are told about themselves as a tuple with the type at its beginning."""
    state = properties.state if isinstance(properties, pickled.Made) else None
    first = state[0] if isinstance(state, tuple) and state else None
    return str(first).removeprefix("torch.") if isinstance(first, str) else "an unknown type"


def _of_model(tensors: list[Tensor]) -> tuple[Tensor, ...]:
    for prefix in _MODELS:
        under = [tensor for tensor in tensors if tensor.name.startswith(f"{prefix}.")]
        others = [tensor for tensor in tensors if not tensor.name.startswith(f"{prefix}.")]
        # A Llama has tensors `model.layers...` and `lm_head.weight`: what lies beside them is of the model as well.
        if under and all(_OTHERS.fullmatch(tensor.name.split(".")[0]) or not tensor.shape for tensor in others):
            return tuple(under)
    return tuple(tensor for tensor in tensors if not _OTHERS.fullmatch(tensor.name.split(".")[0]) and tensor.shape)
