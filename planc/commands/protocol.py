"""Values of `planc.editing` as values of the language server protocol. Imported by the server alone: it needs pygls."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lsprotocol import types
from pygls.uris import from_fs_path

from planc import resources
from planc.diagnostics.diagnostic import Diagnostic, Edit, Severity
from planc.diagnostics.report import page_path
from planc.editing.completion import Item
from planc.editing.outlining import Symbol
from planc.editing.positions import Positions
from planc.source import Source, Span

#: The address of a source; None of one that is nowhere.
Address = Callable[[Source], str | None]

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Hint,
}
_ITEMS = {
    "field": types.CompletionItemKind.Field, "section": types.CompletionItemKind.Module,
    "name": types.CompletionItemKind.Reference, "word": types.CompletionItemKind.EnumMember,
    "target": types.CompletionItemKind.Interface, "unit": types.CompletionItemKind.Unit,
    "function": types.CompletionItemKind.Function, "keyword": types.CompletionItemKind.Keyword,
    "file": types.CompletionItemKind.File, "block": types.CompletionItemKind.Class,
}  # fmt: skip
_SYMBOLS = {
    "gpu": types.SymbolKind.Struct, "cluster": types.SymbolKind.Struct, "model": types.SymbolKind.Class,
    "policy": types.SymbolKind.Interface, "plan": types.SymbolKind.Function, "template": types.SymbolKind.Function,
    "section": types.SymbolKind.Namespace, "field": types.SymbolKind.Field, "key": types.SymbolKind.Key,
    "rule": types.SymbolKind.Event,
}  # fmt: skip

#: Faults of what has no effect, which an editor shows faded.
_WITHOUT_EFFECT = ("unused-suppression",)


def range_of(span: Span, positions: Positions) -> types.Range:
    """Where a span stands."""
    (line, character), (end_line, end_character) = positions.range(span)
    return types.Range(types.Position(line, character), types.Position(end_line, end_character))


def diagnostic(found: Diagnostic, positions: Positions, address: Address) -> types.Diagnostic:
    """A diagnostic with all that its text form says."""
    lines = [found.message, found.primary.text]
    lines.extend(f"help: {text}" for text in found.help)
    lines.extend(f"note: {text}" for text in found.notes)
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri, range_of(label.span, positions)), label.text or "this takes part"
        )
        for label in found.related
        if (uri := address(label.span.source)) is not None
    ]
    return types.Diagnostic(
        range_of(found.primary.span, positions),
        "\n".join(line for line in lines if line),
        _SEVERITIES[found.severity],
        found.code,
        code_description=_page(found),
        source="planc",
        tags=[types.DiagnosticTag.Unnecessary] if found.name in _WITHOUT_EFFECT else None,
        related_information=related or None,
    )


def _page(found: Diagnostic) -> types.CodeDescription | None:
    """The page of a rule, for an editor that opens it where the code is shown; None where planc lacks its pages."""
    try:
        return types.CodeDescription(str(from_fs_path(resources.find(page_path(found.code, found.name)))))
    except FileNotFoundError:
        return None


def completion(
    items: Iterable[Item], source: Source, end: int, positions: Positions, snippets: bool
) -> types.CompletionList:
    """What may be written up to an offset."""
    found = []
    for item in items:
        is_snippet = bool(item.snippet) and snippets
        text = item.snippet if is_snippet else item.insert
        found.append(
            types.CompletionItem(
                item.label,
                kind=_ITEMS[item.type],
                detail=item.detail or None,
                documentation=types.MarkupContent(types.MarkupKind.Markdown, item.doc) if item.doc else None,
                sort_text=f"{item.rank:05}",
                insert_text_format=types.InsertTextFormat.Snippet if is_snippet else types.InsertTextFormat.PlainText,
                text_edit=types.TextEdit(range_of(Span(source, item.start, end), positions), text),
                additional_text_edits=_beside(item, source, positions),
            )
        )
    return types.CompletionList(is_incomplete=False, items=found)


def _beside(item: Item, source: Source, positions: Positions) -> list[types.TextEdit] | None:
    if item.beside is None:
        return None
    offset, text = item.beside
    return [types.TextEdit(range_of(Span(source, offset, offset), positions), text)]


def symbol(found: Symbol, positions: Positions) -> types.DocumentSymbol:
    """A block or entry, with what is in it."""
    return types.DocumentSymbol(
        found.name,
        _SYMBOLS.get(found.type, types.SymbolKind.Object),  # a kind may be mistyped
        range_of(found.span, positions),
        range_of(found.name_span, positions),
        found.detail or None,
        children=[symbol(child, positions) for child in found.children],
    )


def workspace_edit(
    edits: Iterable[Edit],
    positions: Positions,
    address: Address,
    version_of: Callable[[str], int | None],
    versioned: bool,
) -> types.WorkspaceEdit | None:
    """Edits of one or more files, each with its version if the client takes such; None if a file is nowhere."""
    by_file: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        uri = address(edit.span.source)
        if uri is None:
            return None
        by_file.setdefault(uri, []).append(types.TextEdit(range_of(edit.span, positions), edit.text))
    if not versioned:
        return types.WorkspaceEdit(changes=dict(by_file))
    changes = [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version_of(uri)), list(found))
        for uri, found in by_file.items()
    ]
    return types.WorkspaceEdit(document_changes=list(changes))
