"""How a name is written, and the names that one may have been meant to be, as fixes."""

from __future__ import annotations

from collections.abc import Iterable

from planc.diagnostics.diagnostic import Edit, Fix
from planc.plan.schema import KINDS
from planc.source import Span
from planc.syntax.parse import scan


def written(name: str, quoted: bool) -> str:
    """A name as it stands in a text: in quotes if it was, or has to be."""
    if not quoted and is_plain(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def is_plain(name: str) -> bool:
    """Whether a name can be written without quotes, wherever a name may stand."""
    tokens = scan(name)
    return [token.type for token in tokens] == ["NAME", "$END"] and tokens[0].end == len(name) and name not in KINDS


def instead(place: Span, texts: Iterable[str]) -> tuple[Fix, ...]:
    """A fix for each text that may be meant at a place: a guess, so it is not safe."""
    return tuple(Fix(f"write `{text}`", (Edit(place, text),), safe=False) for text in texts)


def for_certain(place: Span, text: str) -> tuple[Fix, ...]:
    """The fix of a place that cannot be read as it stands, and can mean one text only."""
    return (Fix(f"write `{text}`", (Edit(place, text),), safe=True),)
