"""Parameters of a model, counted from the names and shapes of tensors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple


class Tensor(NamedTuple):
    """A tensor of a checkpoint; its type has the name that the file has for it."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Count(NamedTuple):
    """Parameters, or None and the reason."""

    parameters: int | None
    note: str = ""


#: Types in which parameters are kept one by one, as safetensors and as PyTorch call them.
_PLAIN = frozenset({"F64", "F32", "F16", "BF16", "float64", "float32", "float16", "bfloat16"})

#: Types of tables and positions, which are no parameters.
_TABLES = frozenset({"I64", "BOOL", "int64", "bool"})

#: Beginnings of types that hold parts of a number, or several, or numbers beside a scale.
_PACKED = re.compile(r"F[4-8]_|F4|[UI]\d|C\d|float[4-8]|q?u?int\d|complex|bits\d")

#: Buffers that models of Hugging Face keep beside their parameters: frequencies of rotary positions, masks of GPT-2.
_BUFFERS = re.compile(r"(.*\.)?(inv_freq|masked_bias)")
_MASK = re.compile(r"(.*\.)?attn\.bias")


def counted(tensors: Iterable[Tensor]) -> Count:
    """The parameters in tensors, each of which is one tensor of the model."""
    total = 0
    for tensor in tensors:
        if tensor.dtype in _TABLES or _is_buffer(tensor):
            continue
        if tensor.dtype not in _PLAIN:
            kind = "packed, in" if _PACKED.match(tensor.dtype) else "of a type that planc does not know,"
            return Count(None, f"its weights are {kind} {tensor.dtype}, so that their numbers are not counted")
        total += math.prod(tensor.shape)
    return Count(total)


def _is_buffer(tensor: Tensor) -> bool:
    mask = len(tensor.shape) == 4 and _MASK.fullmatch(tensor.name) is not None
    return mask or _BUFFERS.fullmatch(tensor.name) is not None
