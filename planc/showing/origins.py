"""How a field came by its value, in words, and where it stands."""

from __future__ import annotations

from planc.diagnostics.text import visible
from planc.plan.model import Located, Origin
from planc.plan.solve import equation_of
from planc.source import Span

_ORIGINS = {
    Origin.WRITTEN: "written at {place}",
    Origin.DEFAULTED: "default",
    Origin.INHERITED: "from {place}",
    Origin.SOLVED: "worked out",
    Origin.OVERRIDDEN: "set on the command line",
    Origin.ASSUMED: "assumed",
}


def origin_text(path: str, located: Located) -> str:
    """How a field came by its value: `written at run.plan:8:14`, `default`, `worked out from a x b = c`."""
    equation = equation_of(path) if located.origin is Origin.SOLVED else ""
    return _ORIGINS[located.origin].format(place=place_text(located.span)) + (f" from {equation}" if equation else "")


def place_text(span: Span) -> str:
    """A place as editors and terminals link it: `run.plan:8:14`."""
    return f"{visible(span.source.name)}:{span.line}:{span.column}"
