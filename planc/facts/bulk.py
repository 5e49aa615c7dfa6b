"""Many layouts of one plan at once, by the same formulas: columns of values in, columns of facts out.

Layouts that share what decides how a formula goes on (words, and the sizes that take few values) are evaluated together, so
that those are plain numbers and only the rest are arrays; and few at a time, so that the arrays stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planc.facts.engine import Engine
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown

_FEW = 64  # values of a column by which layouts are told apart
_AT_ONCE = 1 << 14  # layouts that are evaluated together: 128 KiB a column
_LEAST = 1 << 13  # layouts of a group, on average, for which a split by one more column is worth its time

#: Columns of numbers by which layouts are told apart first: what is one number then saves most work.
_FIRST = ("parallel.pipeline", "parallel.tensor", "shard.stage", "parallel.context")


def evaluate(
    plan: Plan, engine: Engine, columns: Mapping[str, Any], paths: Sequence[str], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Facts of every layout.

    columns: fields and facts by path, each an array of one value for every layout: numbers, flags, or words.
    given: values that all layouts share, in place of the plan's.
    Shape: each column, and each array that is returned, has one item for every layout; nan where a fact is not known.
    Errors: ValueError if columns differ in length.
    """
    import numpy as np

    arrays = {path: np.asarray(column) for path, column in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if 1 < len(lengths):
        raise ValueError("columns of unlike length")
    count = lengths.pop() if lengths else 0
    found = {path: np.full(count, np.nan) for path in paths}
    with np.errstate(all="ignore"):
        for members, shared in _groups(arrays, count):
            for start in range(0, len(members), _AT_ONCE):
                part = members[start : start + _AT_ONCE]
                varied = {path: array[part] for path, array in arrays.items() if path not in shared}
                facts = Facts(plan, engine, {**(given or {}), **shared, **varied})
                for path in paths:
                    value = facts[path]
                    if not isinstance(value, Unknown):
                        found[path][part] = value
    return found


def _groups(arrays: Mapping[str, Any], count: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Layouts that share the values of some columns: the indices of each group, with those values."""
    import numpy as np

    if not count:
        return
    codes = np.zeros(count, dtype=np.int64)
    split: list[tuple[str, Any]] = []
    groups = 1
    for path, (values, own) in _splits(arrays):
        is_number = arrays[path].dtype.kind in "iuf"
        if not is_number or len(values) == 1 or groups * len(values) * _LEAST <= count:
            codes = codes * len(values) + own
            groups *= len(values)
            split.append((path, values))
    if groups < 1 << 16:
        codes = codes.astype(np.uint16)  # which numpy sorts by radix
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order].astype(np.int64), prepend=-1))
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        rest, shared = int(codes[order[start]]), {}
        for path, values in reversed(split):
            rest, at = divmod(rest, len(values))
            shared[path] = values[at].item()
        yield order[start:end], shared


def _splits(arrays: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Columns by which layouts can be told apart, what must be first: their values, and each layout's place among them."""

    def rank(path: str) -> tuple[bool, int]:
        return arrays[path].dtype.kind in "iuf", _FIRST.index(path) if path in _FIRST else len(_FIRST)

    for path in sorted(arrays, key=rank):
        found = _values(arrays[path])
        if found is not None:
            yield path, found


def _values(array: Any) -> tuple[Any, Any] | None:
    """The values that a column takes, and the place of each item among them; None for a column of too many numbers."""
    import numpy as np

    if array.dtype.kind in "iu" and len(array) and 0 <= array.min() and array.max() < 1 << 16:
        counted = np.bincount(array)
        values = np.flatnonzero(counted)
        return (values.astype(array.dtype), (np.cumsum(counted != 0) - 1)[array]) if len(values) <= _FEW else None
    if array.dtype.kind in "iuf" and _FEW < len(np.unique(array[:: max(1, len(array) // 1024)])):
        return None
    values, places = np.unique(array, return_inverse=True)
    return (values, places) if array.dtype.kind not in "iuf" or len(values) <= _FEW else None
