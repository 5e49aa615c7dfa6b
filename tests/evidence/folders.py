"""Folders of checkpoints made by hand, as the trainers write them: small, and without a trainer."""

from __future__ import annotations

import argparse
import io
import json
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any, ClassVar

from planc.evidence.checkpoints.found import Unread


class Stub:
    """A value that pickles as something of a module that is not there."""

    def __init__(self, arguments: tuple[Any, ...] = (), state: Any = None) -> None:
        self.arguments, self.stated = arguments, state

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self.arguments, self.stated)


def _stub(path: str) -> type[Stub]:
    module, _, name = path.rpartition(".")
    return type(name, (Stub,), {"__module__": module, "__qualname__": name})


SIZE = _stub("torch.Size")
DTYPE = _stub("torch.bfloat16")
METADATA = _stub("torch.distributed.checkpoint.metadata.Metadata")
TENSOR = _stub("torch.distributed.checkpoint.metadata.TensorStorageMetadata")
PROPERTIES = _stub("torch.distributed.checkpoint.metadata.TensorProperties")
INDEX = _stub("torch.distributed.checkpoint.metadata.MetadataIndex")
STORED = _stub("torch.distributed.checkpoint.filesystem._StorageInfo")
REBUILT = _stub("torch._utils._rebuild_tensor_v2")
STORAGE = _stub("torch.FloatStorage")
_STUBS = (SIZE, DTYPE, METADATA, TENSOR, PROPERTIES, INDEX, STORED, REBUILT, STORAGE)


class _Pickler(pickle._Pickler):  # type: ignore[name-defined,misc]
    """It writes the name of a stub without looking whether it can be imported, and of a storage where it lies."""

    dispatch: ClassVar[dict[Any, Any]] = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]

    def save_type(self, value: type) -> None:
        if value in _STUBS:
            self.write(b"c" + f"{value.__module__}\n{value.__qualname__}\n".encode())
            self.memoize(value)
        else:
            super().save_type(value)

    dispatch[type] = save_type

    def persistent_id(self, value: Any) -> Any:
        return value.arguments if isinstance(value, STORAGE) else None


def pickled(value: Any, protocol: int = 2) -> bytes:
    """The pickle of a value, whose stubs stand for what they are called."""
    file = io.BytesIO()
    _Pickler(file, protocol).dump(value)
    return file.getvalue()


def saved(value: Any) -> bytes:
    """A value as `torch.save` writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(value))
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def tensor(shape: tuple[int, ...], place: str = "0", offset: int = 0) -> Stub:
    """A tensor of a file of `torch.save`."""
    stored = STORAGE(("storage", STORAGE, place, "cpu", 100))
    return REBUILT((stored, offset, SIZE((shape,)), (1,), False, OrderedDict()))


def metadata(
    shapes: Mapping[str, tuple[int, ...]], dtype: Any = DTYPE, sizes: Mapping[str, int] | None = None
) -> bytes:
    """The `.metadata` of torch.distributed.checkpoint for tensors of these shapes, in files of these sizes."""
    entries = {}
    for name, shape in shapes.items():
        properties = PROPERTIES(state=(dtype, None, False, None, False))
        entries[name] = TENSOR(state={"properties": properties, "size": SIZE((shape,)), "chunks": []})
    lying = {INDEX((name,)): STORED(state={"relative_path": name, "offset": 0, "length": size})
             for name, size in (sizes or {}).items()}  # fmt: skip
    state = {"state_dict_metadata": entries, "planner_data": None, "storage_data": lying}
    return pickled(METADATA(state=state), 4)


def states(
    shapes: Mapping[str, tuple[int, ...]] | None, *, sharing: int = 2, ranks: int = 1, step: int = 5, **more: Any
) -> bytes:
    """The states of DeepSpeed's first rank; the shapes of parameters are None without ZeRO."""
    listed = None if shapes is None else [OrderedDict((name, SIZE((shape,))) for name, shape in shapes.items())]
    config = {"zero_optimization": {"stage": 1}} if shapes is not None else {}
    plain = {"module": OrderedDict(), "buffer_names": [], "param_shapes": listed, "frozen_param_shapes": None}
    sizes = {"global_steps": step, "dp_world_size": sharing, "mp_world_size": ranks, "ds_config": config}
    return saved(plain | sizes | more)


def safetensors(tensors: Mapping[str, tuple[str, tuple[int, ...], int]], **changes: Any) -> bytes:
    """A file of safetensors; each tensor with its type, shape and number of bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]} | changes
        end += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(end)


def arguments(**values: Any) -> argparse.Namespace:
    """What Megatron keeps of its command line."""
    return argparse.Namespace(**values)


def opener(files: Mapping[str, bytes]) -> Callable[[str], IO[bytes]]:
    """What opens files that are not on a disk."""

    def opened(name: str) -> IO[bytes]:
        if files[name] == UNOPENED:
            raise Unread("it cannot be opened")
        return io.BytesIO(files[name])

    return opened


#: Content that stands for a file which cannot be opened.
UNOPENED = b"\0unopened"
