"""Files of safetensors: eight bytes with the length of a header, the header in JSON, and the tensors.

Source: https://github.com/huggingface/safetensors, README, Format; safetensors 0.8.0, whose reader has the same bounds.
"""

from __future__ import annotations

import json
import math
from typing import IO, Any, TypeGuard

from planc.evidence.checkpoints.found import Unread, Unreadable
from planc.evidence.checkpoints.tensors import Tensor

#: Bytes of a header; safetensors refuses longer ones.
MOST_HEADER = 100_000_000

#: Bytes of an index, which names the file of each tensor.
MOST_INDEX = 64 << 20

#: Bits of a number of each type of safetensors 0.8.0.
_BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "C64": 64,
    "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64, "U32": 32, "U16": 16, "U8": 8, "BOOL": 8,
}  # fmt: skip


def read(file: IO[bytes], size: int) -> tuple[Tensor, ...]:
    """The tensors of a file of that size, in the order of the header; the tensors themselves are not read."""
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or size - 8 < length or MOST_HEADER < length:
        raise Unreadable("it is no file of safetensors, or is cut short")
    document = _object(file.read(length), "its header")
    document.pop("__metadata__", None)
    tensors, end = [], 0
    for name, entry in document.items():
        tensor, start, stop = _entry(name, entry)
        tensors.append((start, stop, tensor))
    for start, stop, _ in sorted(tensors, key=lambda each: each[:2]):
        if start != end:
            raise Unreadable("its header has a gap, or an overlap, between tensors")
        end = stop
    if size != 8 + length + end:
        raise Unreadable(f"it has {size} bytes, and by its header {8 + length + end}")
    return tuple(tensor for *_, tensor in tensors)


def files_of_index(content: bytes) -> dict[str, str]:
    """The file of each tensor, from a `model.safetensors.index.json`."""
    if MOST_INDEX < len(content):
        raise Unread(f"it is larger than {MOST_INDEX >> 20} MiB")
    files = _object(content, "it").get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise Unreadable("it has no `weight_map` of names")
    return files


def _object(content: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(content.decode("utf-8"), object_pairs_hook=_pairs, parse_int=_whole, parse_constant=_none)
    except (ValueError, RecursionError):
        raise Unreadable(f"{what} is not JSON") from None
    if not isinstance(document, dict):
        raise Unreadable(f"{what} is no object")
    return document


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Unreadable("its JSON has a key twice")
    return made


def _whole(digits: str) -> int:
    if 19 < len(digits):
        raise Unreadable("its JSON has a number that no size reaches")
    return int(digits)


def _none(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _entry(name: str, entry: Any) -> tuple[Tensor, int, int]:
    if not isinstance(entry, dict):
        raise Unreadable("its header has an entry that is no tensor")
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise Unreadable("its header has an entry that is no tensor")
    start, stop = offsets
    bits = _BITS.get(dtype)
    if stop < start or (bits is not None and math.prod(shape) * bits != 8 * (stop - start)):
        raise Unreadable("its header has a tensor of another size than its shape")
    return Tensor(name, dtype, tuple(shape)), start, stop


def _are_sizes(value: Any) -> TypeGuard[list[int]]:
    if not isinstance(value, list) or 64 < len(value):
        return False
    return all(type(each) is int and 0 <= each for each in value)
