"""Diagnostics of a text that was edited elsewhere: the same, with their places moved."""

from __future__ import annotations

from collections.abc import Callable

from planc.diagnostics.diagnostic import Diagnostic, Fix
from planc.source import Span

#: Where a span lies now; None if it is not known.
Move = Callable[[Span], Span | None]


def moved(diagnostic: Diagnostic, move: Move) -> Diagnostic | None:
    """The diagnostic with all of its places moved; None if one of them cannot be."""
    primary = move(diagnostic.primary.span)
    related = tuple((label, move(label.span)) for label in diagnostic.related)
    fixes = tuple(_fix(fix, move) for fix in diagnostic.fixes)
    if primary is None or any(span is None for _, span in related) or None in fixes:
        return None
    return diagnostic._replace(
        primary=diagnostic.primary._replace(span=primary),
        related=tuple(label._replace(span=span) for label, span in related if span is not None),
        fixes=tuple(fix for fix in fixes if fix is not None),
    )


def _fix(fix: Fix, move: Move) -> Fix | None:
    edits = tuple((edit, move(edit.span)) for edit in fix.edits)
    if any(span is None for _, span in edits):
        return None
    return fix._replace(edits=tuple(edit._replace(span=span) for edit, span in edits if span is not None))
