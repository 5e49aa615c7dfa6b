"""How long an editor waits for `planc lsp`: for what is wrong after a keystroke in a file of 300 lines, and then for
completion and hover at the cursor, over pipes as an editor has it; and what a check costs inside the server.

    python -m benchmarks.lsp [KEYSTROKES]
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from planc.commands.buffers import Buffers
from planc.editing.checking import Checker

KEYSTROKES = 60
LINES = 300

_ROOT = Path(__file__).resolve().parents[1]
_EXAMPLE = _ROOT / "examples" / "pretrain-h200.plan"
_TYPED = " accumulation = auto "
_PLACE = "micro = 1"


def main(keystrokes: int) -> None:
    """Prints least, median and greatest times."""
    text = long_text()
    print(f"{text.count(chr(10))} lines, {keystrokes} keystrokes in the middle of a plan; least, median, greatest")
    _show("in the server: check a keystroke", _in_process(text, keystrokes))
    asyncio.run(_over_pipes(text, keystrokes))


def long_text() -> str:
    """The example's blocks again and again under other names, as many whole ones as fit into 300 lines."""
    head, blocks = _EXAMPLE.read_text(encoding="utf-8").split("\n\n", 1)
    names = re.findall(r"^(?:cluster|model|policy|plan) ([\w-]+)", blocks, re.M)
    copies = []
    for number in range(20):
        pattern = re.compile(rf"(?<![\w/-])({'|'.join(sorted(names, key=len, reverse=True))})(?![\w-])(?!\")")
        copies.append(pattern.sub(rf"\g<1>-{number}", blocks))
    parts = re.split(r"(?m)^(?=cluster|model|policy|plan)", "".join(copies))
    text = f"{head}\n\n"
    for part in parts:
        if LINES < text.count("\n") + part.count("\n"):
            break
        text += part
    return text


def _states(text: str, keystrokes: int) -> list[tuple[str, int]]:
    """The text after each keystroke, and where the cursor then is."""
    at = text.index(_PLACE, len(text) // 2)
    states = []
    for number in range(keystrokes):
        text = text[:at] + _TYPED[number % len(_TYPED)] + text[at:]
        at += 1
        states.append((text, at))
    return states


def _in_process(text: str, keystrokes: int) -> list[float]:
    files = Buffers()
    checker = Checker(files.load)
    checker.all_diagnostics(files.open("/benchmark.plan", text))
    times = []
    for state, _ in _states(text, keystrokes):
        start = time.perf_counter()
        source = files.open("/benchmark.plan", state)
        checker.all_diagnostics(source)
        times.append(time.perf_counter() - start)
        checker.forget(source)
    return times


async def _over_pipes(text: str, keystrokes: int) -> None:
    client = LanguageClient("benchmark", "1")
    versions: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def _(params: types.PublishDiagnosticsParams) -> None:
        versions.put_nowait(params.version)

    async def published(version: int) -> None:
        while await versions.get() != version:
            pass

    with tempfile.TemporaryDirectory() as name:
        await client.start_io(sys.executable, "-m", "planc", "lsp", cwd=name)
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.initialized(types.InitializedParams())
        uri = (Path(name) / "long.plan").as_uri()
        start = time.perf_counter()
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "planc", 0, text)))
        await published(0)
        print(f"{'opening it':<40} {(time.perf_counter() - start) * 1000:6.1f} ms")
        await asyncio.sleep(2)
        waits: dict[str, list[float]] = {"a keystroke until it is judged": [], "completion": [], "hover": []}
        document = types.TextDocumentIdentifier(uri)
        for version, (state, at) in enumerate(_states(text, keystrokes), 1):
            place = types.Position(state.count("\n", 0, at), at - state.rfind("\n", 0, at) - 1)
            start = time.perf_counter()
            change = types.TextDocumentContentChangeWholeDocument(state)
            changed = types.VersionedTextDocumentIdentifier(version, uri)
            client.text_document_did_change(types.DidChangeTextDocumentParams(changed, [change]))
            await published(version)
            waits["a keystroke until it is judged"].append(time.perf_counter() - start)
            start = time.perf_counter()
            await client.text_document_completion_async(types.CompletionParams(document, place))
            waits["completion"].append(time.perf_counter() - start)
            start = time.perf_counter()
            await client.text_document_hover_async(types.HoverParams(document, place))
            waits["hover"].append(time.perf_counter() - start)
            await asyncio.sleep(0.1)  # a fast typist
        for what, times in waits.items():
            _show(f"over pipes: {what}", times)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]


def _show(what: str, times: list[float]) -> None:
    least, median, greatest = (value * 1000 for value in (min(times), statistics.median(times), max(times)))
    print(f"{what:<40} {least:6.1f} {median:6.1f} {greatest:6.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if 1 < len(sys.argv) else KEYSTROKES)
