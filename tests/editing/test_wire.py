"""What is said to the language server against the protocol: every request is answered, and the server goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: planc[lsp]")

from tests.commands.cli import CLEAN
from tests.editing.client import PATIENCE
from tests.editing.wired import INITIALIZE, Wire, error_of, wired

UNREADABLE, NO_REQUEST, NO_METHOD, NO_PARAMS, TOO_EARLY = -32700, -32600, -32601, -32602, -32002


def begin(wire: Wire, folder: Path) -> str:
    """Starts a session with an open text; its address."""
    wire.send(INITIALIZE)
    assert error_of(wire.answer("first")) is None
    wire.notify("initialized", {})
    uri = (folder / "a.plan").as_uri()
    open_text(wire, uri, CLEAN)
    return uri


def open_text(wire: Wire, uri: str, text: str) -> None:
    document = {"uri": uri, "languageId": "planc", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": document})


def test_every_request_is_answered(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        uri = begin(wire, tmp_path)
        document = {"uri": uri}
        places = ({"line": -1, "character": 0}, {"line": 1 << 40, "character": 0}, {"line": "a", "character": 0}, {},
                  {"line": None, "character": 0}, {"line": 0, "character": []}, "text", None, 7, [0, 0])  # fmt: skip
        faulty = [{"textDocument": document, "position": place} for place in places]
        for number, params in enumerate((*faulty, {}, [], None, "text", {"textDocument": 5})):
            answer = wire.ask(number, "textDocument/hover", params)
            assert error_of(answer) == NO_PARAMS, (params, answer)
            assert answer["error"]["message"].startswith("textDocument/hover: ")
        wire.send({"jsonrpc": "2.0", "id": "none", "method": "textDocument/completion"})
        assert error_of(wire.answer("none")) == NO_PARAMS
        assert error_of(wire.ask("text", "textDocument/formatting", {"textDocument": document})) == NO_PARAMS
        assert not wire.logged()
        right = {"textDocument": document, "position": {"line": 1, "character": 1}}
        assert error_of(wire.ask("right", "textDocument/hover", right)) is None
        wire.process.kill()
        assert (
            wire.process.stderr is not None and wire.process.stderr.read() == b""
        )  # a full pipe would stop the server


def test_what_is_no_request_is_answered(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        begin(wire, tmp_path)
        wire.send({"id": 1, "method": "textDocument/hover", "params": {}})
        assert error_of(wire.answer(1)) == NO_REQUEST
        wire.send({"jsonrpc": "1.0", "id": 2, "method": "shutdown"})
        assert error_of(wire.answer(2)) == NO_REQUEST
        wire.send({"jsonrpc": "2.0", "id": 3, "method": ["shutdown"]})
        assert error_of(wire.answer(3)) == NO_REQUEST
        wire.send({"jsonrpc": "2.0", "id": 4, "method": "planc/unknown"})
        assert error_of(wire.answer(4)) == NO_METHOD
        assert error_of(wire.ask(5, "textDocument/declaration", {})) in (NO_METHOD, NO_PARAMS)
        assert error_of(wire.ask(6, "initialize", INITIALIZE["params"])) == NO_REQUEST
        for content in (b"[1]", b"5", b'{"jsonrpc": "2.0", "id": [1], "method": "shutdown"}'):
            wire.messages.clear()
            wire.write(content)
            assert error_of(wire.answer(None)) == NO_REQUEST
        for content in (b"{", b"\xff\xfe", b"[" * 100_000):
            wire.messages.clear()
            wire.write(content)
            assert error_of(wire.answer(None)) == UNREADABLE
        wire.messages.clear()
        for answer in ({"id": None, "error": {"code": 1, "message": "a"}}, {"id": [1], "result": 1}, {"id": 1}):
            wire.send({"jsonrpc": "2.0", **answer})
        assert "result" in wire.ask("last", "shutdown", None)
        assert [message for message in wire.messages if "error" in message] == []


def test_requests_come_between_initialize_and_shutdown(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        params = {"textDocument": {"uri": (tmp_path / "a.plan").as_uri()}, "position": {"line": 0, "character": 0}}
        assert error_of(wire.ask(1, "textDocument/hover", params)) == TOO_EARLY
        assert error_of(wire.ask(2, "textDocument/hover", None)) == TOO_EARLY
        assert error_of(wire.ask(3, "shutdown", None)) == TOO_EARLY
        open_text(wire, "untitled:early", CLEAN)
        assert error_of(wire.ask(4, "initialize", [])) == NO_PARAMS
        begin(wire, tmp_path)
        assert error_of(wire.ask(5, "textDocument/hover", params)) is None
        assert wire.ask(6, "shutdown", None)["result"] is None
        assert error_of(wire.ask(7, "textDocument/hover", params)) == NO_REQUEST
        assert error_of(wire.ask(8, "textDocument/hover", [])) == NO_REQUEST
        assert error_of(wire.ask(9, "shutdown", None)) == NO_REQUEST
        open_text(wire, "untitled:late", CLEAN)
        wire.notify("exit", None)
        assert wire.process.wait(PATIENCE) == 0
        assert not wire.logged()


@pytest.mark.parametrize(
    "uri", ["file:///tmp/%FF%00.plan", "file:///tmp/\ud800.plan", "file://[/a.plan", "file:", "a b", ""]
)
def test_an_address_that_no_file_can_have(tmp_path: Path, uri: str) -> None:
    with wired(tmp_path) as wire:
        other = begin(wire, tmp_path)
        open_text(wire, uri, CLEAN)
        params = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 3}}
        assert error_of(wire.ask(1, "textDocument/completion", params)) is None
        wire.notify("textDocument/didSave", {"textDocument": {"uri": other}})
        changed = {"uri": other, "version": 2}
        faulty = CLEAN.replace("model = small", "model = smal")
        wire.notify("textDocument/didChange", {"textDocument": changed, "contentChanges": [{"text": faulty}]})
        wire.wait(lambda message: message.get("params", {}).get("uri") == other and message["params"]["diagnostics"])
        assert not [text for text in wire.logged() if "Traceback" in text or "\n" in text]


def test_a_faulty_notification_is_one_line_in_the_log(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        begin(wire, tmp_path)
        document = {"uri": "untitled:closed", "version": 2}
        wire.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": CLEAN}]})
        wire.notify("textDocument/didClose", {"textDocument": {"uri": "untitled:closed"}})
        wire.notify("textDocument/didOpen", {"textDocument": 5})
        wire.send({"jsonrpc": "2.0", "method": "planc/unknown"})
        wire.ask("last", "shutdown", None)
        assert wire.logged() == [
            "planc: textDocument/didChange: untitled:closed is not open",
            "planc: textDocument/didOpen: the parameters are not as the protocol has them",
        ]


def test_half_a_character_is_no_fault(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        begin(wire, tmp_path)
        uri = (tmp_path / "b.plan").as_uri()
        open_text(wire, uri, 'use "\ud800.plan"  # \udfff\n' + CLEAN)
        wire.wait(lambda message: message.get("params", {}).get("uri") == uri and message["params"]["diagnostics"])
        options = {"tabSize": 2, "insertSpaces": True}
        answer = wire.ask(1, "textDocument/formatting", {"textDocument": {"uri": uri}, "options": options})
        assert error_of(answer) is None
        assert not wire.logged()


def test_a_length_that_no_message_has_is_refused(tmp_path: Path) -> None:
    with wired(tmp_path) as wire:
        begin(wire, tmp_path)
        wire.write(b"{}", length=99_999_999_999)
        assert wire.process.wait(PATIENCE) == 2
        assert wire.process.stderr is not None
        assert wire.process.stderr.read() == (
            b"planc: a message of 99,999,999,999 bytes was announced; the limit is 67,108,864\n"
        )
