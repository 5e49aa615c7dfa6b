"""From a script's text to what it does, in the order in which it runs."""

from __future__ import annotations

import re

from planc.native.shell.branches import Branches
from planc.native.shell.commands import Commands, Context, Open, Reader
from planc.native.shell.directives import directives_of
from planc.native.shell.model import Broken, Script
from planc.native.shell.nodes import TOO_DEEP, Node, descend
from planc.native.shell.parsing import parse
from planc.native.shell.scopes import Scope
from planc.native.shell.surveying import Survey
from planc.source import Source, Span

_MOST_BROKEN = 20
_MOST_LEVELS = 3  # of scripts that scripts hold
_MOST_FILES = 24  # that are read as parts of a script
_MOST_TEXT = 1 << 20  # of all of these, in code points
_SHEBANG = re.compile(r"#![^\n]*sh\s+-([a-z]+)")


def read(source: Source, open: Open | None = None) -> Script:
    """What a script does; never an exception, and never a guess.

    open: how the files are found that it sources and starts; without it they are not read.
    """
    return _read(source, Scope(), _Reader(open, source))


def read_within(source: Source, scope: Scope) -> Script:
    """What a script does whose variables hold something when it starts."""
    return _read(source, scope, _Reader(None, source))


class _Reader(Reader):
    """How what stands in other texts is read: up to some levels, and no file within itself."""

    def __init__(self, open: Open | None, source: Source) -> None:
        self._open = open
        self._level = 0
        self._left = _MOST_FILES
        self._text = _MOST_TEXT
        self._around = [source]

    def script(self, source: Source, scope: Scope) -> Script | None:
        """A script that another shell gets; None if it lies too deep."""
        if self._level == _MOST_LEVELS:
            return None
        self._level += 1
        self._around.append(source)
        found = _read(source, scope, self)
        self._around.pop()
        self._level -= 1
        return found

    def within(self, source: Source, walk: Commands, scope: Scope, context: Context) -> Commands:
        """The walk over a file that another walk sources: with its variables, and its functions unknown."""
        parsed = parse(source.text)
        inner = Branches(source, Survey(source.text, parsed.statements), scope, self)
        inner.exporting = walk.exporting
        self._around.append(source)
        inner.run(parsed.statements, scope, context)
        self._around.pop()
        inner.broken += _broken(source, parsed.statements, parsed.end)
        return inner

    def file(self, path: str, user: Source) -> Source | None:
        """The file that a script names; None where it is not found, or is being read already."""
        if self._open is None or self._left == 0:
            return None
        found = self._open(path, user)
        if found is None or found in self._around or self._text < len(found.text):
            return None
        self._left -= 1
        self._text -= len(found.text)
        return found


def _read(source: Source, scope: Scope, reader: _Reader) -> Script:
    """What a script does that starts with what its variables hold."""
    text = source.text
    parsed = parse(text)
    walk = Branches(source, Survey(text, parsed.statements), scope, reader)
    if found := _SHEBANG.match(text):
        walk.set_options(f"-{found[1]}", Span(source, *found.span(1)))
    walk.run(parsed.statements, walk.scope, ())
    bodies = [heredoc.span for heredoc in walk.heredocs]
    first = next((node.start for node in parsed.statements if node.type != "comment"), len(text))
    return Script(
        source,
        commands=tuple(walk.commands),
        assignments=tuple(walk.assignments),
        exports=tuple(walk.exports),
        directives=directives_of(source, first, bodies),
        heredocs=tuple(walk.heredocs),
        sourced=tuple(walk.sourced),
        settings=tuple(walk.settings),
        broken=(*_broken(source, parsed.statements, parsed.end), *walk.broken),
        taken=tuple(walk.taken),
    )


def _broken(source: Source, statements: tuple[Node, ...], end: int) -> list[Broken]:
    """Where the text is no script."""
    found: list[Broken] = []
    for node in descend(tuple(node for node in statements if node.broken)):
        if not node.broken or any(child.broken for child in node.children) or _MOST_BROKEN <= len(found):
            continue
        span = Span(source, node.start, node.end)
        if node.type == TOO_DEEP:
            found.append(Broken(span, "nested too deep"))
        elif node.start == node.end:
            found.append(Broken(span, f"`{node.type}` is missing" if not node.named else "something is missing"))
        else:
            found.append(Broken(span, "cannot be read"))
    if end < len(source.text):
        found.append(Broken(Span(source, end, len(source.text)), "too tangled to be read"))
    nul = source.text.find("\0")
    if nul != -1:
        found.append(Broken(Span(source, nul, nul + 1), "no text: it has a NUL"))
    line_end = source.text.find("\r\n")
    if line_end != -1:
        found.append(Broken(Span(source, line_end, line_end + 1), "a carriage return before the line end"))
    return found
