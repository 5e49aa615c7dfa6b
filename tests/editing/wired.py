"""A client that says whatever it likes, right or wrong, to a `planc lsp` of its own."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.commands.cli import environment
from tests.editing.client import PATIENCE

INITIALIZE = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": {"capabilities": {}}}


class Wire:
    """Both ends of a server's pipes; every message that it sent is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.messages: list[dict[str, Any]] = []
        self._read = b""

    def write(self, content: bytes, length: int | None = None) -> None:
        """Sends bytes as a message, which announces another length if one is given."""
        assert self.process.stdin is not None
        size = len(content) if length is None else length
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (size, content))
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        """Sends a value as JSON."""
        self.write(json.dumps(message).encode())

    def notify(self, method: str, params: object) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, id: object) -> dict[str, Any]:
        """The answer to a request, which has to come in time."""
        return self.wait(lambda message: "method" not in message and message.get("id") == id)

    def ask(self, id: object, method: str, params: object) -> dict[str, Any]:
        """The answer to a request that is sent now."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return self.answer(id)

    def logged(self) -> list[str]:
        """What was written to the client's log."""
        return [one["params"]["message"] for one in self.messages if one.get("method") == "window/logMessage"]

    def wait(self, wanted: Any) -> dict[str, Any]:
        """The first message, of those that came and those that come, that is wanted."""
        end, seen = time.monotonic() + PATIENCE, 0
        while True:
            for message in self.messages[seen:]:
                if wanted(message):
                    return message
            seen = len(self.messages)
            self._receive(end)

    def _receive(self, end: float) -> None:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(max(end - time.monotonic(), 0)), f"no answer; {self.messages}"
        received = os.read(self.process.stdout.fileno(), 1 << 16)
        assert received, "the server went away"
        self._read += received
        while b"\r\n\r\n" in self._read:
            header, _, rest = self._read.partition(b"\r\n\r\n")
            size = int(header.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
            if len(rest) < size:
                return
            self.messages.append(json.loads(rest[:size]))
            self._read = rest[size:]


@contextmanager
def wired(folder: Path) -> Iterator[Wire]:
    """A server in a folder, which is gone afterwards."""
    command = (sys.executable, "-m", "planc", "lsp")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Wire(process)
        finally:
            process.kill()


def error_of(answer: dict[str, Any]) -> int | None:
    """The code of the error that an answer is; None of a result."""
    code = answer.get("error", {}).get("code")
    return code if code is None else int(code)
