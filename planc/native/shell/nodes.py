"""The syntax tree of a script as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Node(NamedTuple):
    """A part of a script, from `start` up to, not including, `end` (code points).

    type: as the grammar calls it; tokens have their text as type. field: the role that the parent gives it, or "".
    broken: text that fits no grammar, or a token that had to be supplied.
    """

    type: str
    start: int
    end: int
    field: str = ""
    named: bool = True
    broken: bool = False
    children: tuple[Node, ...] = ()

    def named_children(self) -> Iterator[Node]:
        """The children that are no tokens and no comments."""
        return (child for child in self.children if child.named and child.type != "comment")

    def of(self, field: str) -> Node | None:
        """The first child with a role."""
        return next((child for child in self.children if child.field == field and child.named), None)

    def all_of(self, field: str) -> tuple[Node, ...]:
        """The children with a role."""
        return tuple(child for child in self.children if child.field == field and child.named)

    def first(self, *types: str) -> Node | None:
        """The first child of one of these types."""
        return next((child for child in self.children if child.type in types), None)


#: Words that start or end a part of a compound command.
RESERVED = (
    "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select", "then", "until", "while",
)  # fmt: skip

#: The type of what is nested deeper than is read.
TOO_DEEP = "too_deep"


def descend(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node of some trees, parents first, in the order of the text."""
    todo = [*reversed(nodes)]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(node.children))


def glued(nodes: Sequence[Node], text: str) -> list[Node]:
    """Words of which the grammar has made several, though nothing stands between them in the text: `''\\$`."""
    found: list[Node] = []
    for node in nodes:
        before = found[-1] if found else None
        if before is None or text[before.end : node.start].replace("\\\n", ""):
            found.append(node)
        elif before.type == "variable_assignment":
            value = before.of("value")
            parts = tuple(child for child in before.children if child is not value)
            whole = node if value is None else _together(value, node)
            found[-1] = before._replace(end=node.end, children=(*parts, whole._replace(field="value", named=True)))
        else:
            found[-1] = _together(before, node)
    return found


def _together(one: Node, other: Node) -> Node:
    """Two nodes as one word."""
    broken = one.broken or other.broken
    return Node("concatenation", one.start, other.end, one.field, broken=broken, children=(one, other))


def shifted(node: Node, by: int) -> Node:
    """A tree at another place."""
    children = tuple(shifted(child, by) for child in node.children)
    return node._replace(start=node.start + by, end=node.end + by, children=children)
