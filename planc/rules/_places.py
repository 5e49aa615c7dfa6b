"""Where a rule points: the entries of the fields that took part, as far as they stand in a text."""

from __future__ import annotations

import re

from planc.diagnostics.diagnostic import Label
from planc.plan.model import Origin, Plan
from planc.source import Span

_IN_THE_TEXT = (Origin.WRITTEN, Origin.INHERITED, Origin.OVERRIDDEN)


def stands(plan: Plan, path: str) -> bool:
    """Whether a field has an entry of its own in some text; an `auto` that was written has one, a default none."""
    located = plan.find(path)
    if located is None or located.origin in _IN_THE_TEXT:
        return located is not None
    return located.origin is Origin.SOLVED and located.entry.text.startswith(path.rpartition(".")[2])


def place(plan: Plan, *paths: str) -> Span:
    """The entry of the first of these fields that stands in the plan's own file, else in any, else the plan's name."""
    entries = [plan[path].entry for path in paths if stands(plan, path)]
    own = [entry for entry in entries if entry.source is plan.span.source]
    return next(iter(own or entries), plan.span)


def together(plan: Plan, *paths: str) -> Span:
    """The text from the first to the last of these fields' entries if they share a line, else the first entry."""
    entries = sorted((plan[path].entry for path in paths if stands(plan, path)), key=lambda entry: entry.start)
    first = place(plan, *paths)
    if entries and all(entry.source is first.source and entry.line == first.line for entry in entries):
        return entries[0].to(entries[-1])
    return first


def related(plan: Plan, primary: Span, *labels: tuple[str, str]) -> tuple[Label, ...]:
    """Labels on the entries of other fields: (path, text). What has none, or lies within the primary, is left out."""
    found: dict[Span, Label] = {}
    for path, text in labels:
        if stands(plan, path):
            entry = plan[path].entry
            inside = entry.source is primary.source and primary.start <= entry.start and entry.end <= primary.end
            if not inside:
                found.setdefault(entry, Label(entry, text))
    return tuple(found.values())


def key_place(plan: Plan, path: str, key: str) -> Span:
    """Where a key of a map stands; the map's entry if it is not found."""
    entry = plan[path].entry
    match = re.search(rf'(?<![\w-])"?{re.escape(key)}"?(?=\s*=)', entry.text)
    if match is None:
        return entry
    return Span(entry.source, entry.start + match.start(), entry.start + match.end())
