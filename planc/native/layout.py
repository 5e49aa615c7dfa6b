"""Comments of a file of another tool, and the entries that they stand above: where suppressions are, and hold."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planc.native.tree import Map, Node, Scalar, Tree, walk
from planc.source import Span

#: Of the formats that have comments; but in TOML a blank stands before `#`.
_AFTER_BLANK = re.compile(r"(?<!\S)#[^\n]*")
_COMMENTS = {"yaml": _AFTER_BLANK, "toml": re.compile("#[^\n]*"), "text": _AFTER_BLANK}
_HEADER = re.compile(r"[ \t]*\[")


class Layout(NamedTuple):
    """Where comments and entries of a tree are; `silent` are codes of the rules that could not judge it."""

    tree: Tree
    silent: frozenset[str] = frozenset()

    def comments(self) -> Iterator[Span]:
        """Every comment, from its `#` to the end of its line. What stands in a value is none."""
        pattern = _COMMENTS.get(self.tree.format)
        if pattern is None:
            return
        texts = sorted({(each.span.start, each.span.end) for root in self.tree.roots for each in _scalars(root)})
        starts = [start for start, _ in texts]
        at = 0
        while (match := pattern.search(self.tree.source.text, at)) is not None:
            before = bisect_right(starts, match.start()) - 1
            if 0 <= before and match.start() < texts[before][1]:
                at = texts[before][1]
                continue
            at = match.end()
            yield Span(self.tree.source, match.start(), match.start() + len(match[0].rstrip()))

    def last_line(self, comment: Span) -> int:
        """The line on which the entry after a comment ends: with all that is in it, of a table up to the next one; in a
        text of lines the next line, with those that go on behind a backslash: no comment stands between them.
        """
        if not self.tree.roots:
            line, last = self._next_line(comment), self._position(len(self.tree.source.text))
            while line < last and self.tree.source.line(line).endswith("\\"):
                line += 1
            return line
        following = [each for root in self.tree.roots for each in _entries(root) if comment.end <= each.start]
        if not following:
            return comment.line
        entry = max(following, key=lambda each: (-each.start, each.end))
        end = self._position(entry.end)
        is_header = entry.text[:1] not in ("[", "{") and self._is_header(entry.line)
        return self._end_of_table(entry.line) if is_header else end

    def _next_line(self, comment: Span) -> int:
        text = self.tree.source.text
        rest = re.compile(r"(?:\s|#[^\n]*)*").match(text, comment.end)
        at = comment.end if rest is None or rest.end() == len(text) else rest.end()
        return self._position(at)

    def _position(self, offset: int) -> int:
        return self.tree.source.position(offset)[0]

    def _is_header(self, line: int) -> bool:
        return self.tree.format == "toml" and _HEADER.match(self.tree.source.line(line)) is not None

    def _end_of_table(self, line: int) -> int:
        """The line before the next header, or the last one."""
        tables = [each.span.line for root in self.tree.roots for each in walk(root)]
        headers = [at for at in tables if line < at and self._is_header(at)]
        return min(headers, default=self._position(len(self.tree.source.text)) + 1) - 1


def _entries(root: Node) -> Iterator[Span]:
    """The places of all entries of maps and items of lists."""
    if not isinstance(root, (Map, Scalar)):
        yield from (item.span for item in root.items)
    for each in walk(root):
        for entry in each.entries:
            yield entry.span
            if not isinstance(entry.value, (Map, Scalar)):
                yield from (item.span for item in entry.value.items)


def _scalars(root: Node) -> Iterable[Scalar]:
    """Keys and values, each once or more."""
    todo: list[Node] = [root]
    seen = set[int]()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Map):
            yield from (entry.key for entry in node.entries)
            todo.extend(entry.value for entry in node.entries)
        else:
            todo.extend(node.items)
