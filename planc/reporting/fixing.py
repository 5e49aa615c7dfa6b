"""Repairs: the edits of fixes, applied to a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.source import Source

#: How often a text is mended and read again: a fix may bring to light what it hid, and overlapping ones take turns.
MAX_PASSES = 10


class Mended(NamedTuple):
    """A text after one pass, and the diagnostics whose fix was applied."""

    text: str
    applied: tuple[Diagnostic, ...]


def repair_of(found: Diagnostic, unsafe: bool) -> Fix | None:
    """The one fix to apply; None if there is none of the kind, or several that are equally right."""
    safe = [fix for fix in found.fixes if fix.safe]
    usable = safe or ([fix for fix in found.fixes if not fix.safe] if unsafe else [])
    return usable[0] if len(usable) == 1 else None


def mend(source: Source, diagnostics: Iterable[Diagnostic], unsafe: bool) -> Mended:
    """The text of a source after the fixes of its diagnostics; of fixes that overlap, the first is applied.

    A fix that edits another file as well is left alone: a file is mended as a whole or not at all.
    """
    chosen: list[Edit] = []
    applied: list[Diagnostic] = []
    for found in diagnostics:
        fix = repair_of(found, unsafe)
        if fix is None or any(edit.span.source is not source for edit in fix.edits):
            continue
        if all(edit in chosen for edit in fix.edits):
            applied.append(found)  # one edit may repair two faults
        elif not any(_overlap(edit, other) for edit in fix.edits for other in chosen):
            chosen.extend(fix.edits)
            applied.append(found)
    text = source.text
    for edit in sorted(chosen, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return Mended(text, tuple(applied))


def _overlap(left: Edit, right: Edit) -> bool:
    """Whether two edits touch the same text, or would insert at the same place."""
    if left.span.start == right.span.start:
        return True
    first, second = sorted((left.span, right.span), key=lambda span: span.start)
    return second.start < first.end
