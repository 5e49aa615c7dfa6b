"""A script's text as a syntax tree, by tree-sitter, which no other file knows.

The parser goes on after every error, and takes a time for it that grows with the square of what follows: a hundred
thousand brackets keep it busy for minutes, in which it cannot be stopped, and on some texts it never ends. So it gets a
script in pieces of whole statements: a piece is read from where the last one ended, statements that its end may have
cut are read again in the next, and a script in which several pieces were costly is not read to its end. Costs are
counted, not timed, so the same text gives the same tree.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from planc.native.shell.nodes import RESERVED, TOO_DEEP, Node

if TYPE_CHECKING:
    from tree_sitter import Language, TreeCursor
    from tree_sitter import Node as TreeNode

#: Code points by which a piece grows until it holds a whole statement.
STEP = 1 << 12

#: Steps that a piece may have: one in which the parser found errors, and one in which it found none.
MOST_STEPS_WITH_ERRORS = 8
MOST_STEPS = 32

#: Steps that one may have which holds the text of a heredoc to its end.
MOST_STEPS_OF_HEREDOCS = 64

#: Levels of a tree that are read.
MAX_DEPTH = 120

#: Costly pieces that are borne with.
MAX_TANGLED = 3

_CHUNK = 512
_MOST_HEREDOCS = 8  # of one statement
# Stands for what the parser need not tell apart: it is a character of words, never of names.
_OTHER = "\x01"
_NOT_ASCII = re.compile(r"[^\n\r\t -~]")
_CARRIAGE_RETURN = re.compile(r"(\\?)\r(?=\n)")
_LINE_END = re.compile(rb"(?<!\\)\n")
_HEREDOC = re.compile(r"""<<-?[ \t]*(?:"([^"\n]+)"|'([^'\n]+)'|\\?([\w.]+))""")
# Two assignments on the line before an `else` or its like: the parser would take that for the command they are for.
_VALUE = r"""(?:[^\s"'#;&|()<>`]|"[^"\n]*"|'[^'\n]*'|\([^()\n]*\))*"""
_ASSIGNED = rf"[A-Za-z_]\w*\+?={_VALUE}"
_RESERVED = rf"\s*(?:#[^\n]*\n\s*)*(?:(?:{'|'.join(RESERVED)})\b|\[\[|[({{])"
_BEFORE_RESERVED = re.compile(rf"(?<!\S)({_ASSIGNED}\s+{_ASSIGNED}[ \t]*)(?:\n|[ \t](#[^\n]*\n))(?={_RESERVED})")
_ESCAPED = re.compile(r"\\([\s\S])")  # it takes an escaped blank for the end of a word


class Parsed(NamedTuple):
    """The statements of a script, and where reading stopped, which is the end of the text if all was read."""

    statements: tuple[Node, ...]
    end: int


def parse(text: str) -> Parsed:
    """The statements of a script, comments among them; never an exception."""
    plain = _plain(text)
    found: list[Node] = []
    at, steps, tangled = 0, 1, 0
    while at < len(plain) and tangled <= MAX_TANGLED:
        end = _piece_end(plain, at + steps * STEP)
        piece = _Piece(plain[at:end].encode("ascii"))
        whole = piece.whole()
        if end == len(plain):
            found += piece.statements(at, piece.length)
            at = end
        elif whole:
            found += piece.statements(at, whole)
            at, steps = at + piece.start(whole), 1
        elif not piece.tangled and (more := _steps_to_heredoc_end(plain, at, end)):
            steps = more
        elif not piece.tangled and steps < (MOST_STEPS_WITH_ERRORS if piece.has_error else MOST_STEPS):
            steps += 1
        else:
            found += piece.statements(at, piece.length)
            at, steps = end, 1
            tangled += 1
    return Parsed(tuple(found), at)


def _plain(text: str) -> str:
    """The text as the parser gets it, each character at its place, without what it would not understand."""
    text = _CARRIAGE_RETURN.sub(lambda found: " " + found[1], text)
    text = _ESCAPED.sub(lambda found: _OTHER * 2 if found[1] in " \t" else found[0], text)
    text = _BEFORE_RESERVED.sub(lambda found: f"{found[1]};{found[2] or ''}", text)
    return _NOT_ASCII.sub(_OTHER, text)


def _piece_end(text: str, end: int) -> int:
    """Where a piece ends: with the line, if that is not far."""
    if len(text) <= end:
        return len(text)
    line_end = text.find("\n", end, end + STEP)
    return end if line_end == -1 else line_end + 1


def _steps_to_heredoc_end(text: str, start: int, end: int) -> int:
    """The steps that a piece needs to hold a heredoc that it starts; 0 if there is none, or it is too long."""
    for opening in islice(_HEREDOC.finditer(text, start, end), _MOST_HEREDOCS):
        mark = next(filter(None, opening.groups()))
        closing = re.compile(rf"^\t*{re.escape(mark)}$", re.MULTILINE)
        found = closing.search(text, opening.end(), start + MOST_STEPS_OF_HEREDOCS * STEP)
        if found is not None and end < found.end():
            return (found.end() - start) // STEP + 1
    return 0


class _Piece:
    """A piece of a script, parsed."""

    def __init__(self, data: bytes) -> None:
        from tree_sitter import Parser

        self._data = data
        self._reads = 0
        self._steps = 0
        self._roots: list[TreeNode] = []
        self.has_error = self._stopped = True
        with suppress(ValueError):  # the parser was stopped
            root = Parser(_language()).parse(self._read, progress_callback=self._stop).root_node
            self._roots = root.children if root.type == "program" else [root]
            self.has_error, self._stopped = root.has_error, False

    def _read(self, offset: int, _: object) -> bytes:
        self._reads += 1
        return self._data[offset : offset + _CHUNK]

    def _stop(self, *_: object) -> bool:
        self._steps += 1
        return self._costs(8)

    def _costs(self, times: int) -> bool:
        """Whether the parser had more to do than any text of a person gives it, so many times over."""
        size = len(self._data)
        return (64 + 8 * size // _CHUNK) * times < self._reads or (64 + size // 25) * times < self._steps

    @property
    def tangled(self) -> bool:
        """Whether errors in the text made the parser's work long."""
        return self.has_error and self._costs(1)

    @property
    def length(self) -> int:
        """How many statements the piece has, comments among them."""
        return len(self._roots)

    def whole(self) -> int:
        """How many of them its end cannot have changed: those on lines before the last one's and before any error's."""
        roots = self._roots
        last = max((index for index, node in enumerate(roots) if node.type != "comment"), default=0)
        whole = next((index for index, node in enumerate(roots[:last]) if node.has_error), last)
        while whole and not _LINE_END.search(self._data[roots[whole - 1].end_byte - 1 : roots[whole].start_byte]):
            whole -= 1
        return whole

    def start(self, index: int) -> int:
        """Where a statement starts in the piece."""
        return self._roots[index].start_byte

    def statements(self, offset: int, number: int) -> list[Node]:
        """The first statements, at their places in the whole text."""
        if self._stopped:
            return [Node("ERROR", offset, offset + len(self._data), broken=True)]
        return [_as_node(root.walk(), offset) for root in self._roots[:number]]


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _as_node(cursor: TreeCursor, offset: int) -> Node:
    """The tree at a cursor; below the deepest level that is read, nodes have no children."""
    levels: list[list[Node]] = [[]]
    while True:
        if len(levels) <= MAX_DEPTH and cursor.goto_first_child():
            levels.append([])
            continue
        cut = cursor.node is not None and 0 < cursor.node.child_count
        node = _node(cursor, offset, ())
        levels[-1].append(node._replace(type=TOO_DEEP, broken=True) if cut else node)
        while not cursor.goto_next_sibling():
            children = levels.pop()
            if not levels:
                return children[0]
            cursor.goto_parent()
            levels[-1].append(_node(cursor, offset, tuple(children)))
            if len(levels) == 1:
                return levels[0][0]


def _node(cursor: TreeCursor, offset: int, children: tuple[Node, ...]) -> Node:
    node = cursor.node
    assert node is not None
    broken = node.is_error or node.is_missing or any(child.broken for child in children)
    start, end = node.start_byte + offset, node.end_byte + offset
    return Node(node.type, start, end, cursor.field_name or "", node.is_named, broken, children)
