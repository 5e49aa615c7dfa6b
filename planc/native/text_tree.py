"""A text of lines, which has no tree: the kind that reads it takes the lines."""

from __future__ import annotations

from planc.native.tree import Tree
from planc.source import Source


def read(source: Source) -> Tree:
    """The tree of a text, without a root."""
    return Tree(source, "text", ())
