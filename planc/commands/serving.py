"""The language server: what it tells a client that it can, and what it does about each message.

A fault in a handler is told to the client's log, and the answer is then that there is none.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from traceback import format_exc
from typing import Any, BinaryIO, cast

from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcParseError
from pygls.lsp.server import LanguageServer

from planc.commands import answering, protocol
from planc.commands.output import CannotWork
from planc.commands.session import Session, path_of
from planc.commands.wire import Input, Protocol
from planc.diagnostics.diagnostic import Diagnostic
from planc.version import VERSION

_WATCHED = ("**/*.plan", "**/*.json", "**/planc.toml", "**/pyproject.toml")

_ANSWERS: tuple[tuple[str, Any, Callable[[Session, Any], Any]], ...] = (
    (
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[".", '"', "="]),
        answering.completion,
    ),
    (types.TEXT_DOCUMENT_HOVER, None, answering.hover),
    (types.TEXT_DOCUMENT_DEFINITION, None, answering.definition),
    (types.TEXT_DOCUMENT_REFERENCES, None, answering.references),
    (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, answering.highlight),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, None, answering.prepare_rename),
    (types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True), answering.rename),
    (types.TEXT_DOCUMENT_FORMATTING, None, answering.formatting),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.SourceFixAll]),
        answering.actions,
    ),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, answering.symbols),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, None, answering.folds),
)


class _Server(LanguageServer):
    """pygls tells its own faults in a window in the middle of the screen; here they go to the log."""

    protocol: Protocol

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Writes a fault of the protocol to the client's log, but for what is answered anyhow."""
        if isinstance(error, ValueError | RecursionError):  # the message is no JSON, so nobody knows what it asks for
            self.protocol.refuse(None, JsonRpcParseError("the message cannot be read as JSON"))
        elif source is not FeatureRequestError:
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"planc: {error}"))


def serve() -> int:
    """Serves one client until it leaves; 0 if it said so first."""
    if sys.stdin is None:
        raise CannotWork("standard input is closed")
    # What pygls has to say of a message that is answered would go to standard error, which not every client reads.
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    full = types.TextDocumentSyncKind.Full
    server = _Server("planc", VERSION, text_document_sync_kind=full, protocol_cls=Protocol)
    handlers = Handlers(server)
    for method, options, handler in handlers.features():
        server.feature(method, options)(_safe(server, handler))
    server.start_io(cast(BinaryIO, Input(sys.stdin.buffer)))
    return 0 if handlers.is_over else 1


def _safe(server: LanguageServer, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def handle(params: Any) -> Any:
        try:
            return handler(params)
        except answering.Refused as reason:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, str(reason)))
        except Exception:
            _tell(server)
        return None

    return handle


def _tell(server: LanguageServer) -> None:
    text = f"{format_exc()}planc: this is a fault of planc, not of your plan; the lines above say where"
    server.window_log_message(types.LogMessageParams(types.MessageType.Error, text))


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
            (types.TEXT_DOCUMENT_DID_SAVE, None, self._did_save),
            (types.TEXT_DOCUMENT_DID_CLOSE, None, self._did_close),
            (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, None, self._did_change_files),
            (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, None, self._did_change_folders),
            *((method, options, self._answer(answer)) for method, options, answer in _ANSWERS),
        )

    def _answer(self, answer: Callable[[Session, Any], Any]) -> Callable[[Any], Any]:
        return lambda params: answer(self._session, params)

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
        workspace, document = params.capabilities.workspace, params.capabilities.text_document
        editing = workspace.workspace_edit if workspace is not None else None
        completion = document.completion if document is not None else None
        item = completion.completion_item if completion is not None else None
        self._session.takes_versions = bool(editing is not None and editing.document_changes)
        self._session.takes_snippets = bool(item is not None and item.snippet_support)

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

    def _did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        self._session.look_at_all_again()  # not every client watches the disk

    def _did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._session.close(params.text_document.uri)

    def _did_change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        self._session.look_at_all_again()

    def _did_change_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        gone = {path_of(folder.uri) for folder in params.event.removed}
        come = [path_of(folder.uri) for folder in params.event.added]
        self._session.folders = [path for path in (*self._session.folders, *come) if path not in gone]
