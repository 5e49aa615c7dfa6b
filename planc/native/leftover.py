"""The keys of a job's files that no field of a plan stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.diagnostics.text import visible
from planc.native.job import Job
from planc.native.tables import consumers, load_table
from planc.native.tree import Entry, Map, Node, Scalar, Seq
from planc.source import Source, Span

#: Characters of a value that is listed.
_LONGEST = 80


class Left(NamedTuple):
    """A key that a consumer reads and no field of the plan stands for.

    file, key: its file, and its whole path there; value: as it is written; place: key and value.
    """

    file: str
    key: str
    value: str
    place: Span


def left_of(job: Job, paths: frozenset[str]) -> Iterator[Left]:
    """The keys of all files that no field of these stands for, and that say more than their default."""
    covered: dict[Source, list[Span]] = {}
    for each in job.said:
        if not each.assumed and each.path in paths:
            covered.setdefault(each.entry.source, []).append(each.entry)
    for content in job.contents:
        for span in (*content.used, *(reference.span for reference in content.references)):
            covered.setdefault(span.source, []).append(span)
    for key, entry, row in _settings(job):
        if not _is_covered(entry, covered.get(entry.span.source, [])) and not _says_nothing(entry.value, row):
            yield Left(visible(entry.span.source.name), key, _shown(entry.value), entry.span)


def _settings(job: Job) -> Iterator[tuple[str, Entry, dict[str, Any]]]:
    """All settings of the files, each with its row of the table."""
    known = set(consumers())
    for file, content in zip(job.units, job.contents, strict=True):
        table = load_table(file.kind.name).keys if file.kind.name in known else {}
        seen = set[int]()
        for root in file.tree.roots:
            yield from _leaves(root, "", table, seen)
        for entry in content.stated:
            yield visible(entry.name), entry, {}


def _leaves(node: Node, path: str, rows: dict[str, Any], seen: set[int]) -> Iterator[tuple[str, Entry, dict[str, Any]]]:
    """The entries without parts below a node, each once, with their rows of the table."""
    if id(node) in seen or not isinstance(node, Map):
        return
    seen.add(id(node))
    for entry in node.entries:
        key = f"{path}{visible(entry.name)}"
        row = rows.get(entry.name, {})
        inner = entry.value.items if isinstance(entry.value, Seq) else (entry.value,)
        parts = [item for item in inner if isinstance(item, Map) and item.entries]
        if not parts:
            yield key, entry, row
        row = row.get("items", {}) if isinstance(entry.value, Seq) else row
        for at, item in enumerate(parts):
            below = f"{key}[{at}]." if isinstance(entry.value, Seq) else f"{key}."
            yield from _leaves(item, below, row.get("keys", {}), seen)


def _is_covered(entry: Entry, spans: list[Span]) -> bool:
    """Whether what was said holds an entry, or its value."""
    value = entry.value.span
    return any(
        (span.start <= entry.span.start and entry.span.end <= span.end)
        or (value.start <= span.start and span.end <= value.end)
        for span in spans
    )


def _says_nothing(value: Node, row: dict[str, Any]) -> bool:
    """Whether a value is none, left to another to fill in, or what the consumer takes anyway."""
    if not isinstance(value, Scalar):
        return isinstance(value, (Map, Seq)) and not (value.entries if isinstance(value, Map) else value.items)
    if value.value is None or value.value == "auto":
        return True
    default = row.get("default")
    return default is not None and default == value.value and isinstance(default, bool) == isinstance(value.value, bool)


def _shown(value: Node) -> str:
    text = " ".join(value.span.text.split())
    return visible(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")
