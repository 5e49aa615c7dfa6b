"""From a script's text to what it does, in the order in which it runs."""

from __future__ import annotations

import re

from planc.native.shell.branches import Branches
from planc.native.shell.directives import directives_of
from planc.native.shell.model import Broken, Script
from planc.native.shell.nodes import TOO_DEEP, Node, descend
from planc.native.shell.parsing import parse
from planc.native.shell.scopes import Scope
from planc.native.shell.surveying import Survey
from planc.source import Source, Span

_MOST_BROKEN = 20
_MOST_LEVELS = 3  # of scripts that scripts hold
_SHEBANG = re.compile(r"#![^\n]*sh\s+-([a-z]+)")


def read(source: Source) -> Script:
    """What a script does; never an exception, and never a guess."""
    return _read(source, Scope(), 0)


def _read(source: Source, scope: Scope, level: int) -> Script:
    """What a script does that starts with what its variables hold; `level` counts the scripts around it."""
    text = source.text
    parsed = parse(text)

    def inside(inner: Source, held: Scope) -> Script | None:
        return _read(inner, held, level + 1) if level < _MOST_LEVELS else None

    walk = Branches(source, Survey(text, parsed.statements), scope, inside)
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
        broken=tuple(_broken(source, parsed.statements, parsed.end)),
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
