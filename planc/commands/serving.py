"""The language server: requests and notifications of the protocol, each answered by a function of `planc.editing`.

A fault in a handler is told to the client's log, and the answer is then that there is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from traceback import format_exc
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from planc.commands import protocol
from planc.commands.session import Opened, Session, path_of
from planc.diagnostics.diagnostic import Diagnostic, Edit
from planc.editing.completion import complete
from planc.editing.hovering import hover
from planc.editing.names import Target, renamed, targets_of, uses_of
from planc.editing.outlining import folds, symbols
from planc.format.formatting import format_text
from planc.source import Source, Span
from planc.version import VERSION

_WATCHED = ("**/*.plan", "**/*.json", "**/planc.toml", "**/pyproject.toml")


class _Server(LanguageServer):
    """pygls tells its own faults in a window in the middle of the screen; here they go to the log."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Writes a fault of the protocol to the client's log."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"planc: {error}"))


def serve() -> int:
    """Serves one client until it leaves; 0 if it said so first."""
    server = _Server("planc", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    handlers = Handlers(server)
    for method, options, handler in handlers.features():
        server.feature(method, options)(_safe(server, handler))
    server.start_io()
    return 0 if handlers.is_over else 1


def _safe(server: LanguageServer, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def handle(params: Any) -> Any:
        try:
            return handler(params)
        except Refused as reason:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, str(reason)))
        except Exception:
            _tell(server)
        return None

    return handle


def _tell(server: LanguageServer) -> None:
    text = f"{format_exc()}planc: this is a fault of planc, not of your plan; the lines above say where"
    server.window_log_message(types.LogMessageParams(types.MessageType.Error, text))


class Refused(Exception):
    """The reason why a request cannot be answered, for the user."""


class Handlers:
    """What is done about each message of a client."""

    def __init__(self, server: LanguageServer) -> None:
        self.is_over = False
        self._server = server
        self._session = Session(self._publish, lambda: _tell(server), self._complain)

    def features(self) -> tuple[tuple[str, Any, Callable[[Any], Any]], ...]:
        """The messages that are handled, with the options that tell the client of it."""
        return (
            (types.INITIALIZE, None, self._initialize),
            (types.INITIALIZED, None, self._initialized),
            (types.SHUTDOWN, None, self._shutdown),
            (types.EXIT, None, self._exit),
            (types.TEXT_DOCUMENT_DID_OPEN, None, self._did_open),
            (types.TEXT_DOCUMENT_DID_CHANGE, None, self._did_change),
            (types.TEXT_DOCUMENT_DID_CLOSE, None, self._did_close),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, None, self._did_change_files),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, None, self._did_change_folders),
            (
                types.TEXT_DOCUMENT_COMPLETION,
                types.CompletionOptions(trigger_characters=[".", '"', "="]),
                self._complete,
            ),
            (types.TEXT_DOCUMENT_HOVER, None, self._hover),
            (types.TEXT_DOCUMENT_DEFINITION, None, self._define),
            (types.TEXT_DOCUMENT_REFERENCES, None, self._refer),
            (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, self._highlight),
            (types.TEXT_DOCUMENT_PREPARE_RENAME, None, self._prepare_rename),
            (types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True), self._rename),
            (types.TEXT_DOCUMENT_FORMATTING, None, self._format),
            (types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]), self._act),
            (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, self._symbols),
            (types.TEXT_DOCUMENT_FOLDING_RANGE, None, self._folds),
        )

    def _publish(self, uri: str, version: int | None, found: tuple[Diagnostic, ...]) -> None:
        positions, address = self._session.positions, self._session.address
        shown = [protocol.diagnostic(one, positions, address) for one in found]
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, version))

    def _complain(self, reason: str) -> None:
        self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"planc: {reason}"))

    def _initialize(self, params: types.InitializeParams) -> None:
        encoding = self._server.workspace.position_encoding
        self._session.positions.encoding = str(getattr(encoding, "value", encoding))
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        self._session.folders = [path for path in map(path_of, folders) if os.path.isabs(path)]

    def _initialized(self, params: types.InitializedParams) -> None:
        workspace = self._server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is None or not watching.dynamic_registration:
            return
        watchers: Sequence[types.FileSystemWatcher] = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        self._server.client_register_capability(types.RegistrationParams([registration]))

    def _shutdown(self, params: None) -> None:
        self.is_over = True

    def _exit(self, params: None) -> None:
        # The thread that waits for the next message would wait until the client closes the pipe.
        sys.stdout.flush()
        os._exit(0 if self.is_over else 1)

    def _did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._session.put(document.uri, document.version, document.text)

    def _did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        if params.content_changes:
            document = params.text_document
            self._session.put(document.uri, document.version, params.content_changes[-1].text)

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._session.close(params.text_document.uri)

    def _did_change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        self._session.look_at_all_again()

    def _did_change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed}
        come = [path_of(folder.uri) for folder in params.event.added]
        self._session.folders = [path for path in (*self._session.folders, *come) if path not in gone]

    def _complete(self, params: types.CompletionParams) -> types.CompletionList | None:
        here = self._here(params)
        if here is None:
            return None
        opened, offset = here
        session = self._session
        files = self._paths(opened)
        items = complete(session.document(opened.source), offset, session.linked(opened.source), files)
        return protocol.completion(items, opened.source, offset, session.positions, self._takes_snippets())

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        here = self._here(params)
        if here is None:
            return None
        opened, offset = here
        session = self._session
        found = hover(session.document(opened.source), offset, session.linked(opened.source), session.subject)
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found.text)
        return types.Hover(content, protocol.range_of(found.span, session.positions))

    def _define(self, params: types.DefinitionParams) -> list[types.Location] | None:
        here = self._here(params)
        if here is None:
            return None
        opened, offset = here
        session = self._session
        document, linked = session.document(opened.source), session.linked(opened.source)
        role = document.role_at(offset)
        if role is None:
            return None
        if role.type in ("use", "import"):
            reading = session.files.load(role.text, opened.source)
            spans = [Span(reading, 0, 0)] if isinstance(reading, Source) else []
        else:
            spans = [target.span for target in targets_of(role, linked)]
        return self._locations(spans)

    def _refer(self, params: types.ReferenceParams) -> list[types.Location] | None:
        found = self._named(params)
        if found is None:
            return None
        opened, targets = found
        wanted = params.context.include_declaration
        session = self._session
        spans = [
            span
            for target in targets
            for span, role in uses_of(target, session.project(opened.path, target.name), session.document)
            if wanted or role.type != "definition"
        ]
        return self._locations(dict.fromkeys(spans))

    def _highlight(self, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight] | None:
        found = self._named(params)
        if found is None:
            return None
        opened, targets = found
        session = self._session
        linked = session.linked(opened.source)
        kinds = {"definition": types.DocumentHighlightKind.Write}
        return [
            types.DocumentHighlight(protocol.range_of(span, session.positions), kinds.get(role.type))
            for target in targets
            for span, role in uses_of(target, (linked,), session.document)
        ]

    def _prepare_rename(self, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        found, here = self._named(params), self._here(params)
        if found is None or here is None:
            return None
        opened, targets = found
        role = self._session.document(opened.source).role_at(here[1])
        if role is None or not targets:
            return None
        if not targets[0].file.alone.parts:
            raise Refused(f"`{targets[0].name}` is of planc's own catalogue, which cannot be edited")
        place = protocol.range_of(Span(opened.source, role.start, role.end), self._session.positions)
        return types.PrepareRenamePlaceholder(place, role.text)

    def _rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        found = self._named(params)
        if found is None or not found[1]:
            raise Refused("there is no name of a block here")
        opened, targets = found
        if 1 < len(targets):
            raise Refused(f"`{targets[0].name}` may mean {len(targets)} blocks")
        session = self._session
        files = list(session.project(opened.path, targets[0].name))
        edits = renamed(targets[0], params.new_name, files, session.document)
        if isinstance(edits, str):
            raise Refused(edits)
        return self._edit(edits)

    def _format(self, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        opened = self._session.opened(params.text_document.uri)
        text = format_text(opened.source.text) if opened is not None else None
        if opened is None or text is None or text == opened.source.text:
            return None
        span = _changed(opened.source, text)
        new = text[span.start : len(text) - (len(opened.source.text) - span.end)]
        return [types.TextEdit(protocol.range_of(span, self._session.positions), new)]

    def _act(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        opened = self._session.opened(params.text_document.uri)
        if opened is None:
            return None
        session, actions = self._session, []
        first, last = (
            session.positions.offset(opened.source, place.line, place.character)
            for place in (params.range.start, params.range.end)
        )
        for found in session.reported(opened.uri):
            span = found.primary.span
            if span.source is not opened.source or last < span.start or span.end < first:
                continue
            for fix in found.fixes:
                edit = self._edit(fix.edits)
                if edit is not None:
                    told = [protocol.diagnostic(found, session.positions, session.address)]
                    kind = types.CodeActionKind.QuickFix
                    actions.append(types.CodeAction(fix.title, kind, told, is_preferred=fix.safe, edit=edit))
        return actions

    def _symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
        opened = self._session.opened(params.text_document.uri)
        if opened is None:
            return None
        found = symbols(self._session.document(opened.source))
        return [protocol.symbol(one, self._session.positions) for one in found]

    def _folds(self, params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        opened = self._session.opened(params.text_document.uri)
        if opened is None:
            return None
        comment = types.FoldingRangeKind.Comment
        return [
            types.FoldingRange(fold.first, fold.last, kind=comment if fold.is_comment else None)
            for fold in folds(self._session.document(opened.source))
        ]

    def _here(self, params: Any) -> tuple[Opened, int] | None:
        """The open text that a request is about, and the offset of its position."""
        opened = self._session.opened(params.text_document.uri)
        if opened is None:
            return None
        place = params.position
        return opened, self._session.positions.offset(opened.source, place.line, place.character)

    def _named(self, params: Any) -> tuple[Opened, tuple[Target, ...]] | None:
        """The blocks that the name at a request's position may mean."""
        here = self._here(params)
        if here is None:
            return None
        opened, offset = here
        role = self._session.document(opened.source).role_at(offset)
        if role is None:
            return None
        return opened, targets_of(role, self._session.linked(opened.source))

    def _locations(self, spans: Iterable[Span]) -> list[types.Location]:
        session = self._session
        places = [(session.address(span.source), span) for span in spans]
        return [types.Location(uri, protocol.range_of(span, session.positions)) for uri, span in places if uri]

    def _edit(self, edits: tuple[Edit, ...]) -> types.WorkspaceEdit | None:
        workspace = self._server.client_capabilities.workspace
        able = workspace.workspace_edit if workspace is not None else None
        session = self._session
        versioned = bool(able is not None and able.document_changes)
        return protocol.workspace_edit(edits, session.positions, session.address, session.version, versioned)

    def _paths(self, opened: Opened) -> tuple[str, ...]:
        """Files that a `use` or an import of a text could name, relative to it."""
        if not os.path.isabs(opened.path):
            return ()
        folder = os.path.dirname(opened.path)
        plans = [path for path in self._session.plan_files(opened.path) if os.path.realpath(path) != opened.path]
        found = [os.path.relpath(path, folder) for path in plans]
        return (*found, *self._session.json_files(folder))

    def _takes_snippets(self) -> bool:
        document = self._server.client_capabilities.text_document
        completion = document.completion if document is not None else None
        item = completion.completion_item if completion is not None else None
        return bool(item is not None and item.snippet_support)


def _changed(source: Source, text: str) -> Span:
    """The least part of a text that has to be replaced to make it another one."""
    before, shorter = source.text, min(len(source.text), len(text))
    start = next((at for at in range(shorter) if before[at] != text[at]), shorter)
    end = next((at for at in range(shorter - start) if before[-1 - at] != text[-1 - at]), shorter - start)
    return Span(source, start, len(before) - end)
