"""An editor: pygls's own client, which speaks to a `planc lsp` of its own over pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.commands.cli import environment

#: How long anything may take on a busy machine.
PATIENCE = 12

SNIPPETS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        completion=types.CompletionClientCapabilities(
            completion_item=types.ClientCompletionItemOptions(snippet_support=True)
        )
    ),
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
    ),
)


class Editor:
    """A client with open texts; what the server says unasked is kept."""

    def __init__(self, folder: Path, client: LanguageClient) -> None:
        self.folder = folder
        self.client = client
        self.logged: list[str] = []
        self.shown: list[str] = []
        self.versions: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.all_published: list[types.PublishDiagnosticsParams] = []
        self._news = asyncio.Condition()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def _(params: types.PublishDiagnosticsParams) -> None:
            async with self._news:
                self.published[params.uri] = params
                self.all_published.append(params)
                self._news.notify_all()

        @client.feature(types.WINDOW_LOG_MESSAGE)
        def _(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def _(params: types.ShowMessageParams) -> None:
            self.shown.append(params.message)

    def uri(self, name: str) -> str:
        """The address of a file of the folder."""
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> str:
        """Opens a text; returns its address."""
        uri = name if ":" in name else self.uri(name)
        self.versions[uri], self.texts[uri] = 1, text
        item = types.TextDocumentItem(uri, "planc", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> int:
        """Gives an open text another content; returns its version."""
        self.versions[uri] += 1
        self.texts[uri] = text
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return self.versions[uri]

    def close(self, uri: str) -> None:
        """Closes a text without saving it."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def codes(self, uri: str, wanted: Sequence[str]) -> list[types.Diagnostic]:
        """Waits until errors and warnings of these codes, and no others, are published for the present version."""

        def now() -> list[types.Diagnostic]:
            params = self.published.get(uri)
            return [] if params is None else [one for one in params.diagnostics if one.severity in (1, 2)]

        def arrived() -> bool:
            params = self.published.get(uri)
            current = params is not None and params.version in (None, self.versions.get(uri))
            return current and [one.code for one in now()] == list(wanted)

        try:
            async with self._news:
                await asyncio.wait_for(self._news.wait_for(arrived), PATIENCE)
        except TimeoutError:
            raise AssertionError(f"wanted {list(wanted)}, got {now()}; {self.logged}") from None
        return now()

    async def news(self) -> None:
        """Waits until something more is published."""
        async with self._news:
            await asyncio.wait_for(self._news.wait(), PATIENCE)

    def at(self, uri: str, marked: str) -> dict[str, Any]:
        """The parameters of a request at the `|` in a piece of an open text, which occurs once without it."""
        before, _, after = marked.partition("|")
        assert self.texts[uri].count(before + after) == 1, marked
        offset = self.texts[uri].index(before + after) + len(before)
        line = self.texts[uri].count("\n", 0, offset)
        column = self.texts[uri][:offset].rpartition("\n")[2]
        position = types.Position(line, len(column.encode("utf-16-le")) // 2)
        return {"text_document": types.TextDocumentIdentifier(uri), "position": position}


@asynccontextmanager
async def editor(
    folder: Path, capabilities: types.ClientCapabilities = SNIPPETS, arguments: tuple[str, ...] = ()
) -> AsyncIterator[Editor]:
    """An editor on a folder; when it ends, the server has to have ended well, without a fault in its log."""
    client = LanguageClient("editor", "1")
    made = Editor(folder, client)
    await client.start_io(sys.executable, "-m", "planc", "lsp", *arguments, cwd=folder, env=environment())
    root = types.WorkspaceFolder(folder.as_uri(), folder.name)
    params = types.InitializeParams(capabilities, root_uri=folder.as_uri(), workspace_folders=[root])
    await asyncio.wait_for(client.initialize_async(params), PATIENCE)
    client.initialized(types.InitializedParams())
    yield made
    await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
    client.exit(None)
    server = client._server
    assert server is not None
    assert await asyncio.wait_for(server.wait(), PATIENCE) == 0
    assert not made.logged, made.logged[0]
    await client.stop()


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """A text after edits whose positions count UTF-16 units."""
    starts = [0]
    for line in text.split("\n")[:-1]:
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: types.Position) -> int:
        line = text[starts[place.line] :].encode("utf-16-le")
        return starts[place.line] + len(line[: place.character * 2].decode("utf-16-le"))

    places = sorted(((offset(edit.range.start), offset(edit.range.end), edit.new_text) for edit in edits), reverse=True)
    for start, end, new in places:
        text = text[:start] + new + text[end:]
    return text
