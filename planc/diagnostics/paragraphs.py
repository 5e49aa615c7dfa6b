"""A diagnostic as a few lines of plain text, for forms that show no source line: message, arithmetic, help, notes."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.diagnostics.text import visible


def paragraphs(diagnostic: Diagnostic) -> tuple[str, ...]:
    """The message, then the label, related places, help and notes, each on one line that prints as it is."""
    related = (f"{place_text(label)}: {visible(label.text)}" for label in diagnostic.related if label.text)
    return (visible(diagnostic.message), *_label(diagnostic), *related, *advice(diagnostic))


def advice(diagnostic: Diagnostic) -> tuple[str, ...]:
    """The lines of help and notes."""
    helps = (f"help: {visible(text)}" for text in diagnostic.help)
    return (*helps, *(f"note: {visible(text)}" for text in diagnostic.notes))


def place_text(label: Label) -> str:
    """Where a label stands: `a.plan:3:5`."""
    line, column = label.span.source.position(label.span.start)
    return f"{visible(label.span.source.name)}:{line}:{column}"


def _label(diagnostic: Diagnostic) -> tuple[str, ...]:
    return (visible(diagnostic.primary.text),) if diagnostic.primary.text else ()
