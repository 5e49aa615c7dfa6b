"""The key tables: what each consumer reads, made from the consumer itself by the scripts in `tests/tables/`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from planc import resources

#: A key of a table; its parts are described in `tests/tables/__init__.py`.
Key = dict[str, Any]


class Table(NamedTuple):
    """The keys of one consumer at one version. `unknown`: what it does with others, `ignored`, `rejected` or `open`."""

    consumer: str
    version: str
    unknown: str
    keys: dict[str, Key]
    removed: dict[str, Key]


@cache
def load_table(consumer: str, version: str | None = None) -> Table:
    """The table of a consumer: of a version, or of the newest that there is."""
    import json

    chosen = version or versions(consumer)[-1]
    held = json.loads(resources.read_text(f"native/tables/{consumer}/{chosen}.json"))
    return Table(consumer, held["version"], held.get("unknown", "ignored"), held["keys"], held.get("removed", {}))


def consumers() -> tuple[str, ...]:
    """The consumers of which there are tables."""
    return tuple(name for name in resources.names("native/tables", "") if versions(name))


def versions(consumer: str) -> tuple[str, ...]:
    """The versions of which there is a table, the oldest first."""
    return tuple(sorted(resources.names(f"native/tables/{consumer}", ".json"), key=_order))


def precedes(version: str, other: str) -> bool:
    """Whether a version is older than another one."""
    return _order(version) < _order(other)


def _order(version: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in version.split("."))
