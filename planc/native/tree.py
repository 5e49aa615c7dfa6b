"""A file of keys as a tree with places, whatever its format: JSON, YAML and TOML give the same nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.source import Source, Span


class Scalar(NamedTuple):
    """A value without parts: a str, int, float, bool or None, as the consumer's own loader reads it.

    span: as it stands in the file, quotes included. `value` is `PLACEHOLDER` where a template is yet to be filled in.
    """

    span: Span
    value: Any

    @property
    def is_placeholder(self) -> bool:
        """Whether a template has a gap here."""
        return self.value is PLACEHOLDER


class Placeholder:
    """What stands in the gap of a template."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "PLACEHOLDER"


PLACEHOLDER = Placeholder()


class Entry(NamedTuple):
    """A key with its value; `span` is the whole of it."""

    span: Span
    key: Scalar
    value: Node

    @property
    def name(self) -> str:
        """The key as a text: `on` and `8` are keys of YAML too."""
        key = self.key.value
        return key if isinstance(key, str) else self.key.span.text


class Map(NamedTuple):
    """Entries in the order of the file, equal keys as often as they stand there."""

    span: Span
    entries: tuple[Entry, ...]

    def find(self, *path: str) -> Entry | None:
        """The entry at a path of keys; of equal keys the last, as loaders take it. None if it is not there."""
        node: Node = self
        found: Entry | None = None
        for name in path:
            if not isinstance(node, Map):
                return None
            found = next((entry for entry in reversed(node.entries) if entry.name == name), None)
            if found is None:
                return None
            node = found.value
        return found

    def value(self, *path: str) -> Any:
        """The scalar value at a path; None if there is none, or it is no scalar, or a gap of a template."""
        found = self.find(*path)
        if found is None or not isinstance(found.value, Scalar) or found.value.is_placeholder:
            return None
        return found.value.value

    def map(self, *path: str) -> Map | None:
        """The map at a path; None if there is none."""
        found = self.find(*path)
        return found.value if found is not None and isinstance(found.value, Map) else None

    def names(self) -> tuple[str, ...]:
        """The keys."""
        return tuple(entry.name for entry in self.entries)


class Seq(NamedTuple):
    """A list."""

    span: Span
    items: tuple[Node, ...]


Node = Scalar | Map | Seq


class Tree(NamedTuple):
    """A file that could be read: the roots of its documents (JSON and TOML have one), and its format."""

    source: Source
    format: str
    roots: tuple[Node, ...]

    @property
    def root(self) -> Map | None:
        """The map that the first document is; None if it is none."""
        return self.roots[0] if self.roots and isinstance(self.roots[0], Map) else None


class Broken(NamedTuple):
    """Where reading stopped, what is wrong there, and help."""

    span: Span
    text: str
    help: tuple[str, ...] = ()


def walk(node: Node) -> Iterator[Map]:
    """Every map of a tree, from the top, each once: parts that YAML shares by an alias are one."""
    todo, seen = [node], set[int]()
    while todo:
        at = todo.pop()
        if id(at) in seen or isinstance(at, Scalar):
            continue
        seen.add(id(at))
        if isinstance(at, Map):
            yield at
            todo.extend(entry.value for entry in reversed(at.entries))
        else:
            todo.extend(reversed(at.items))


def data(node: Node) -> Any:
    """The tree as plain values, of equal keys the last; gaps of a template are None."""
    if isinstance(node, Map):
        return {entry.name: data(entry.value) for entry in node.entries}
    if isinstance(node, Seq):
        return [data(item) for item in node.items]
    return None if node.is_placeholder else node.value
