"""The protocol between a client and the language server: every request is answered, whatever it holds.

pygls answers a request that it understands. One that it does not, or that comes at the wrong time, it only logs, and a
client waits for ever.
"""

from __future__ import annotations

from typing import Any, BinaryIO, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

from planc.commands.output import CannotWork

#: Bytes of the longest message that is read: some sixty times the largest plan.
_LONGEST_MESSAGE = 64 << 20
_LONGEST_HEADER = 4096


class _Faulty(NamedTuple):
    """A message that cannot be understood, with as much of it as can be said."""

    id: int | str | None
    method: str
    is_request: bool
    reason: JsonRpcException


class Protocol(LanguageServerProtocol):
    """pygls's protocol, which answers also what is faulty, too early or too late."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The message that a JSON object is; an object in it stays as it is."""
        if "jsonrpc" not in data:
            return data
        if not isinstance(data.get("method", ""), str) or ("id" in data and not _is_id(data["id"])):
            return _no_message(data)
        try:
            return super().structure_message(data)
        except Exception:
            return self._faulty(data)

    def handle_message(self, message: Any) -> None:
        """Has a message handled, or says why it is not."""
        if getattr(message, "jsonrpc", "") != self.VERSION and not isinstance(message, _Faulty):
            message = _no_message(message)
        reason = self._refusal(message)
        if reason is None:
            super().handle_message(message)
        elif message.is_request if isinstance(message, _Faulty) else hasattr(message, "id"):
            self.refuse(message.id, reason)
        elif isinstance(message, _Faulty) and isinstance(reason, JsonRpcInvalidParams):
            self._server.report_server_error(reason, JsonRpcException)

    def refuse(self, id: int | str | None, reason: JsonRpcException) -> None:
        """Answers a request with an error; `id` is None where it cannot be told which."""
        self._send_data(types.ResponseErrorMessage(id, reason.to_response_error()))

    def _refusal(self, message: Any) -> JsonRpcException | None:
        """Why a message is not handled; None if it is."""
        method = getattr(message, "method", "")
        if method == types.EXIT:
            return None
        if method and self._shutdown:
            return JsonRpcInvalidRequest("the server was told to shut down")
        if method and self._workspace is None and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("the first request has to be `initialize`")
        if method == types.INITIALIZE and self._workspace is not None:
            return JsonRpcInvalidRequest("the server is initialized already")
        return message.reason if isinstance(message, _Faulty) else None

    def _handle_notification(self, method_name: str, params: Any) -> None:
        if method_name == types.TEXT_DOCUMENT_DID_CHANGE:
            uri = params.text_document.uri
            if unquote(uri) not in self.workspace.text_documents:
                reason = JsonRpcInvalidParams(f"{method_name}: {uri} is not open")
                self._server.report_server_error(reason, JsonRpcException)
                return
        super()._handle_notification(method_name, params)

    def _faulty(self, data: dict[str, Any]) -> _Faulty:
        method = data.get("method", "")
        if method and self.get_message_type(method) is None:
            return _Faulty(data.get("id"), method, "id" in data, JsonRpcMethodNotFound.of(method))
        reason = JsonRpcInvalidParams(f"{method or 'response'}: the parameters are not as the protocol has them")
        return _Faulty(data.get("id"), method, bool(method) and "id" in data, reason)


class Input:
    """Standard input as pygls reads it. A length that no message has is refused, for so much memory would be taken."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """A header."""
        return self._stream.readline(_LONGEST_HEADER)

    def read(self, size: int) -> bytes:
        """The content of a message."""
        if _LONGEST_MESSAGE < size:
            raise CannotWork(f"a message of {size:,} bytes was announced; the limit is {_LONGEST_MESSAGE:,}")
        return self._stream.read(size)


def _no_message(data: Any) -> _Faulty:
    """What is no message of JSON-RPC at all, such as a list of them; an answer is never answered."""
    is_answer = isinstance(data, dict) and ("result" in data or "error" in data)
    known = data.get("id") if isinstance(data, dict) else getattr(data, "id", None)
    reason = JsonRpcInvalidRequest("this is no request of JSON-RPC 2.0")
    return _Faulty(known if _is_id(known) else None, "", not is_answer, reason)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
