"""Where what a word means is written."""

from __future__ import annotations

from planc.editing.document import Document
from planc.editing.hovering import Subject
from planc.editing.linking import Linked
from planc.editing.names import targets_of
from planc.editing.subjects import place_of
from planc.plan.scope import Load
from planc.source import Source, Span


def definitions(document: Document, offset: int, linked: Linked, subject: Subject, load: Load) -> tuple[Span, ...]:
    """The block, file or entry that the word at an offset means; several if it is not clear which."""
    role = document.role_at(offset)
    if role is None:
        return ()
    if role.type in ("use", "import"):
        reading = load(role.text, document.source)
        return (Span(reading, 0, 0),) if isinstance(reading, Source) else ()
    if role.type != "path":
        return tuple(target.span for target in targets_of(role, linked))
    key = document.block_at(offset)
    plan = subject(linked, key) if key is not None else None
    place = place_of(plan, key[0], role.path) if plan is not None and key is not None and role.path else None
    return (place,) if place is not None else ()
