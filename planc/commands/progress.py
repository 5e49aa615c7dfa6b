"""How far a long reading is, in one line of a terminal that is written over: amount, rate, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from planc.commands import output
from planc.commands.hashing import Progress
from planc.diagnostics.amounts import size_text, speed_text, time_text

#: Seconds before the first line, so that what is quick shows none, and between two.
_PATIENCE, _BETWEEN = 0.5, 0.2


@contextmanager
def shown(what: str) -> Iterator[Progress | None]:
    """What shows the progress on standard error if that is a terminal; the line is gone afterwards."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    last = start + _PATIENCE - _BETWEEN

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if last + _BETWEEN <= now:
            last = now
            output.complain(f"\r\x1b[K{what}: {line(done, total, now - start)}")

    try:
        yield show
    finally:
        if start + _PATIENCE <= time.monotonic():
            output.complain("\r\x1b[K")


def line(done: int, total: int, seconds: float) -> str:
    """What is said of an amount of bytes that took some seconds so far."""
    share = f"{100 * done // total} % of {size_text(total)}" if total else size_text(done)
    if not done or seconds <= 0:
        return share
    rate = done / seconds
    left = max(total - done, 0) / rate
    return f"{share}, {speed_text(rate)}, {time_text(left)} left"
