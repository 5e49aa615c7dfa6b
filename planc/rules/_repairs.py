"""The values that a rule's help names as fixes: each an edit of the field where the plan itself writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from planc.diagnostics.amounts import count_text, either
from planc.diagnostics.diagnostic import Edit, Fix
from planc.plan.model import Origin, Plan, Record
from planc.rules._places import stands
from planc.source import Span


class Repair(NamedTuple):
    """A sentence of the help, and the fixes that do what it says."""

    help: str
    fixes: tuple[Fix, ...] = ()


def helps(repairs: Iterable[Repair]) -> tuple[str, ...]:
    """The sentences of repairs."""
    return tuple(repair.help for repair in repairs)


def fixes(repairs: Iterable[Repair]) -> tuple[Fix, ...]:
    """The fixes of repairs, in the order in which the help names them."""
    return tuple(fix for repair in repairs for fix in repair.fixes)


def writing(plan: Plan, *changes: tuple[str, str]) -> tuple[Fix, ...]:
    """The fix that gives fields (by path) these texts, all of them; none where one of them has no place in the plan.

    A block that others refer to, or are derived from, is theirs too, and a value of the command line stands in no
    file: neither is changed. A field that is not written is added to its section if that stands on one line.
    """
    places = [_place(plan, path) for path, _ in changes]
    if not changes or None in places or any("e+" in text for _, text in changes):  # an exponent of the help is rounded
        return ()
    edits: dict[Span, str] = {}
    for place, (path, text) in zip(places, changes, strict=True):
        assert place is not None
        added = place.start == place.end
        edits[place] = edits.get(place, "") + (f"{_gap(place)}{_name(path)} = {text}" if added else text)
    shown = either([f"`{_name(path)} = {text}`" for path, text in changes], "and")
    return (Fix(f"write {shown}", tuple(Edit(*edit) for edit in edits.items()), safe=False),)


def each_size(plan: Plan, path: str, sizes: Iterable[int]) -> tuple[Fix, ...]:
    """A fix for each of the sizes that a field may have."""
    return tuple(fix for size in sizes for fix in writing(plan, (path, count_text(size))))


def _place(plan: Plan, path: str) -> Span | None:
    """The value of a field, or the empty span where the entry would be added; None if there is neither."""
    located = plan[path]
    if located.origin is Origin.OVERRIDDEN:
        return None
    own = located.entry.source is plan.span.source and located.origin is not Origin.INHERITED
    if not (own and stands(plan, path)):
        end = _end_of_section(plan, path.rpartition(".")[0])
        # `none` is written, and yet the value is a default: a second entry would be a fault of its own.
        return None if end is not None and _names(plan[path.rpartition(".")[0]].entry, _name(path)) else end
    if isinstance(located.value, Record) and located.value.span != located.span:
        return None  # the fields in its braces may be those of its word alone
    before = Span(located.entry.source, located.entry.start, located.span.start)
    return located.span if before.text.rstrip().endswith("=") else None


def _end_of_section(plan: Plan, path: str) -> Span | None:
    """Where the next entry of a section would stand, if its braces are on one line of the plan's own file."""
    located = plan.find(path) if path else None
    if located is None or located.origin is not Origin.WRITTEN or not isinstance(located.value, Record):
        return None
    entry = located.entry
    if entry.source is not plan.span.source or "\n" in entry.text or not entry.text.endswith("}"):
        return None
    end = entry.start + len(entry.text[:-1].rstrip())
    return Span(entry.source, end, end)


def _names(section: Span, field: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(field)}\s*=", section.text) is not None


def _gap(place: Span) -> str:
    """Blanks before an entry: one behind the brace, two between entries, as `planc fmt` sets them."""
    return " " if place.source.text[place.start - 1] == "{" else "  "


def _name(path: str) -> str:
    return path.rpartition(".")[2]
