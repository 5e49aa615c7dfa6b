"""`--set parallel.tensor=4`: fields set on the command line, as entries of a plan that stand in the command line."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Diagnostic
from planc.plan import faults
from planc.plan.evaluate import VERSION
from planc.source import Source, Span
from planc.syntax import nodes
from planc.syntax.parse import parse_value

#: What the command line is called as a place in messages.
NAME = "--set"


def overrides(texts: tuple[str, ...]) -> tuple[tuple[nodes.Body, ...], tuple[Diagnostic, ...]]:
    """A body of a plan for each `path=value`, in order, and what is wrong with those that are none."""
    bodies: list[nodes.Body] = []
    diagnostics: list[Diagnostic] = []
    for text in texts:
        source = Source(NAME, text)
        path, equals, _ = text.partition("=")
        names = _names(source, path)
        if not equals or names is None:
            span = Span(source, 0, len(path))
            help = ("write it as in `--set parallel.tensor=4`",)
            diagnostics.append(faults.MISPLACED.at(span, "`--set` takes a path and a value", help=help))
            continue
        version = _bare_version(source, names, len(path) + 1)
        value, found = (version, ()) if version is not None else parse_value(source, len(path) + 1)
        diagnostics.extend(found)
        bodies.append(_body(source, names, value))
    return tuple(bodies), tuple(diagnostics)


def _bare_version(source: Source, names: list[nodes.Name], start: int) -> nodes.String | None:
    """A version without the quotes that a shell takes away: `--set versions.torch=2.9.1`."""
    text = source.text[start:].strip()
    if names[0].text != "versions" or VERSION.fullmatch(text) is None:
        return None
    at = source.text.index(text, start)
    return nodes.String(Span(source, at, at + len(text)), text)


def _names(source: Source, path: str) -> list[nodes.Name] | None:
    """The parts of a dotted path, each where it stands; None if one is no name."""
    names: list[nodes.Name] = []
    at = 0
    for part in path.split("."):
        text = part.strip()
        if not text.replace("_", "a").replace("-", "a").isalnum() or not text.isascii():
            return None
        start = at + part.index(text)
        names.append(nodes.Name(Span(source, start, start + len(text)), text))
        at += len(part) + 1
    return names


def _body(source: Source, names: list[nodes.Name], value: nodes.Value) -> nodes.Body:
    span = Span(source, 0, len(source.text))
    entry: nodes.Entry = nodes.Field(span, names[-1], value, quoted=False)
    for name in reversed(names[:-1]):
        entry = nodes.Section(span, name, nodes.Body(span, (entry,)))
    return nodes.Body(span, (entry,))
