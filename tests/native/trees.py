"""Trees of texts, and their nodes, for tests."""

from __future__ import annotations

from collections.abc import Iterator

from planc.native.recognising import read_tree
from planc.native.tree import Broken, Entry, Map, Node, Scalar, Tree
from planc.source import Source

ENDINGS = {"json": "x.json", "yaml": "x.yaml", "toml": "x.toml", "text": "hostfile"}


def read(form: str, text: str) -> Tree | Broken:
    """What a text is in a format."""
    return read_tree(Source(ENDINGS[form], text), form)


def tree(form: str, text: str) -> Tree:
    """The tree of a text that can be read."""
    found = read(form, text)
    assert isinstance(found, Tree), found
    return found


def nodes(node: Node) -> Iterator[Node]:
    """A node and all that are in it."""
    yield node
    if isinstance(node, Map):
        for entry in node.entries:
            yield from nodes(entry.value)
    elif not isinstance(node, Scalar):
        for item in node.items:
            yield from nodes(item)


def entries(node: Node) -> Iterator[Entry]:
    """All entries in a node, at any depth."""
    for each in nodes(node):
        if isinstance(each, Map):
            yield from each.entries
