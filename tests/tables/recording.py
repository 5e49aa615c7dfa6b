"""A dict that writes down which keys its reader asks for, and with which defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Recorded(dict[str, Any]):
    """A configuration whose reads are recorded; `reads` holds the defaults that were given, by the path of the key."""

    def __init__(self, values: dict[str, Any], path: str = "", reads: dict[str, list[Any]] | None = None) -> None:
        super().__init__()
        self.path = path
        self.reads: dict[str, list[Any]] = {} if reads is None else reads
        for key, value in values.items():
            deeper = Recorded(value, f"{path}{key}.", self.reads) if isinstance(value, dict) else value
            super().__setitem__(key, deeper)

    def _read(self, key: str) -> list[Any]:
        return self.reads.setdefault(f"{self.path}{key}", [])

    def get(self, key: str, default: Any = None) -> Any:
        self._read(key).append(default)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._read(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._read(str(key))
        return super().__contains__(key)

    def keys(self) -> Any:
        return _Keys(self)

    def __copy__(self) -> Recorded:
        return self

    def __deepcopy__(self, memo: Any) -> Recorded:
        return self


class _Keys:
    """The keys of a recorded dict, which record what is looked for among them."""

    def __init__(self, owner: Recorded) -> None:
        self._owner = owner

    def __contains__(self, key: object) -> bool:
        return key in self._owner

    def __iter__(self) -> Iterator[str]:
        return iter(dict.keys(self._owner))
