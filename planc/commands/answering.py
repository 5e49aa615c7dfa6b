"""Answers to the requests of an editor: each finds the place that is asked about, and has it looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from lsprotocol import types

from planc.commands import protocol
from planc.commands.session import Opened, Session
from planc.diagnostics.diagnostic import Edit
from planc.editing import completion as completing
from planc.editing import defining, hovering, outlining
from planc.editing.names import Target, renamed, targets_of, uses_of
from planc.format.formatting import format_text
from planc.reporting.fixing import mend
from planc.reporting.suppressions import allowance
from planc.source import Source, Span


class Refused(Exception):
    """The reason why a request cannot be answered, for the user."""


def completion(session: Session, params: types.CompletionParams) -> types.CompletionList | None:
    """What may be written at a position."""
    here = _here(session, params)
    if here is None:
        return None
    opened, offset = here
    document, linked = session.document(opened.source), session.linked(opened.source)
    items = completing.complete(document, offset, linked, lambda: _paths(session, opened), session.files.load)
    return protocol.completion(items, opened.source, offset, session.positions, session.takes_snippets)


def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What is shown of the word at a position."""
    here = _here(session, params)
    if here is None:
        return None
    opened, offset = here
    document, linked = session.document(opened.source), session.linked(opened.source)
    found = hovering.hover(document, offset, linked, session.subject)
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
    return types.Hover(content, protocol.range_of(found.span, session.positions))


def definition(session: Session, params: types.DefinitionParams) -> list[types.Location] | None:
    """Where what is named at a position is written."""
    here = _here(session, params)
    if here is None:
        return None
    opened, offset = here
    document, linked = session.document(opened.source), session.linked(opened.source)
    spans = defining.definitions(document, offset, linked, session.subject, session.files.load)
    return _locations(session, spans)


def references(session: Session, params: types.ReferenceParams) -> list[types.Location] | None:
    """Every place in the project that means the same block as the name at a position."""
    found = _named(session, params)
    if found is None:
        return None
    opened, targets = found
    wanted = params.context.include_declaration
    spans = [
        span
        for target in targets
        for span, role in uses_of(target, session.project(opened.path, target.name), session.document)
        if wanted or role.type != "definition"
    ]
    return _locations(session, dict.fromkeys(spans))


def highlight(session: Session, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
    """The places in one text that mean the same block as the name at a position."""
    found = _named(session, params)
    if found is None:
        return None
    opened, targets = found
    linked = session.linked(opened.source)
    kinds = {"definition": types.DocumentHighlightKind.Write}
    return [
        types.DocumentHighlight(protocol.range_of(span, session.positions), kinds.get(role.type))
        for target in targets
        for span, role in uses_of(target, (linked,), session.document)
    ]


def prepare_rename(session: Session, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    """The name at a position, if it is that of a block that can be renamed."""
    found, here = _named(session, params), _here(session, params)
    if found is None or here is None:
        return None
    opened, targets = found
    role = session.document(opened.source).role_at(here[1])
    if role is None or not targets:
        return None
    _may_be_edited(session, targets[0])
    place = protocol.range_of(Span(opened.source, role.start, role.end), session.positions)
    return types.PrepareRenamePlaceholder(place, role.text)


def rename(session: Session, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """The edits that give the block that is named at a position another name, in every file of the project."""
    if session.is_large(params.text_document.uri):
        raise Refused("the file is too large for names to be looked up while you wait")
    found = _named(session, params)
    if found is None or not found[1]:
        raise Refused("there is no name of a block here")
    opened, targets = found
    if 1 < len(targets):
        raise Refused(f"`{targets[0].name}` may mean {len(targets)} blocks")
    _may_be_edited(session, targets[0])
    files = session.project(opened.path, targets[0].name, params.new_name)
    edits = renamed(targets[0], params.new_name, files, session.document)
    if isinstance(edits, str):
        raise Refused(edits)
    return _edit(session, edits)


def formatting(session: Session, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """The edit that brings a text into the canonical layout; none if it cannot be read."""
    if session.is_large(params.text_document.uri):
        raise Refused("the file is too large to be formatted while you wait: run `planc fmt`")
    opened = session.opened(params.text_document.uri)
    text = format_text(opened.source.text) if opened is not None else None
    if opened is None or text is None or text == opened.source.text:
        return None
    span = _changed(opened.source, text)
    new = text[span.start : len(text) - (len(opened.source.text) - span.end)]
    return [types.TextEdit(protocol.range_of(span, session.positions), new)]


def actions(session: Session, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    """The fixes of what is wrong in a range, and the comments that would allow it.

    A fix that cannot change what a correct plan means is preferred. All of those together are an action of their own,
    which an editor may ask for when a file is saved.
    """
    opened = session.opened(params.text_document.uri)
    if opened is None:
        return None
    only = params.context.only
    if only is not None and any(_is_kind(types.CodeActionKind.SourceFixAll, kind) for kind in only):
        return _all_fixes(session, opened)
    if only is not None and not any(_is_kind(types.CodeActionKind.QuickFix, kind) for kind in only):
        return []
    first, last = (
        session.positions.offset(opened.source, place.line, place.character)
        for place in (params.range.start, params.range.end)
    )
    found = []
    for diagnostic in session.reported(opened.uri):
        span = diagnostic.primary.span
        if span.source is not opened.source or last < span.start or span.end < first:
            continue
        for fix in filter(None, (*diagnostic.fixes, allowance(diagnostic))):
            edit = _edit(session, fix.edits)
            if edit is not None:
                told = [protocol.diagnostic(diagnostic, session.positions, session.address)]
                kind = types.CodeActionKind.QuickFix
                found.append(types.CodeAction(fix.title, kind, told, is_preferred=fix.safe, edit=edit))
    return found


def _is_kind(kind: types.CodeActionKind, asked: str) -> bool:
    """Whether a kind of action is one that was asked for, or part of it."""
    asked = str(getattr(asked, "value", asked))
    return kind.value == asked or kind.value.startswith(f"{asked}.")


def _all_fixes(session: Session, opened: Opened) -> list[types.CodeAction]:
    text = mend(opened.source, session.reported(opened.uri), unsafe=False).text
    span = _changed(opened.source, text)
    new = text[span.start : len(text) - (len(opened.source.text) - span.end)]
    edit = _edit(session, (Edit(span, new),))
    if text == opened.source.text or edit is None:
        return []
    return [types.CodeAction("apply the safe fixes", types.CodeActionKind.SourceFixAll, edit=edit)]


def symbols(session: Session, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
    """The outline of a text."""
    opened = _small(session, params)
    if opened is None:
        return None
    return [protocol.symbol(one, session.positions) for one in outlining.symbols(session.document(opened.source))]


def folds(session: Session, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
    """What can be folded in a text."""
    opened = _small(session, params)
    if opened is None:
        return None
    comment = types.FoldingRangeKind.Comment
    return [
        types.FoldingRange(fold.first, fold.last, kind=comment if fold.is_comment else None)
        for fold in outlining.folds(session.document(opened.source))
    ]


def _small(session: Session, params: Any) -> Opened | None:
    """The open text that a request is about, if it can be read while the editor waits."""
    uri = params.text_document.uri
    return None if session.is_large(uri) else session.opened(uri)


def _here(session: Session, params: Any) -> tuple[Opened, int] | None:
    """The open text that a request is about, and the offset of its position."""
    opened = _small(session, params)
    if opened is None:
        return None
    place = params.position
    return opened, session.positions.offset(opened.source, place.line, place.character)


def _named(session: Session, params: Any) -> tuple[Opened, tuple[Target, ...]] | None:
    """The blocks that the name at a request's position may mean."""
    here = _here(session, params)
    if here is None:
        return None
    opened, offset = here
    role = session.document(opened.source).role_at(offset)
    return None if role is None else (opened, targets_of(role, session.linked(opened.source)))


def _may_be_edited(session: Session, target: Target) -> None:
    if session.is_shipped(target.file.scope.source):
        raise Refused(f"`{target.name}` is of planc's own catalogue, which cannot be edited")


def _locations(session: Session, spans: Iterable[Span]) -> list[types.Location]:
    places = [(session.address(span.source), span) for span in spans]
    return [types.Location(uri, protocol.range_of(span, session.positions)) for uri, span in places if uri]


def _edit(session: Session, edits: tuple[Edit, ...]) -> types.WorkspaceEdit | None:
    return protocol.workspace_edit(edits, session.positions, session.address, session.version, session.takes_versions)


def _paths(session: Session, opened: Opened) -> tuple[str, ...]:
    """Files that a `use` or an import of a text could name, relative to it."""
    if not os.path.isabs(opened.path):
        return ()
    folder = os.path.dirname(opened.path)
    plans = [path for path in session.plan_files(opened.path) if os.path.realpath(path) != opened.path]
    return (*(os.path.relpath(path, folder) for path in plans), *session.json_files(folder))


def _changed(source: Source, text: str) -> Span:
    """The least part of a text that has to be replaced to make it another one."""
    before, shorter = source.text, min(len(source.text), len(text))
    start = next((at for at in range(shorter) if before[at] != text[at]), shorter)
    end = next((at for at in range(shorter - start) if before[-1 - at] != text[-1 - at]), shorter - start)
    return Span(source, start, len(before) - end)
