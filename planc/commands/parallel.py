"""Many files at once: shared out over the processors, since each file is analysed by itself.

A worker is forked, so it has planc loaded and the files read; it sends back what it found. Starting two costs about
30 ms, as much as ten files do, so a hook that hands over a few files never comes here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from planc.commands.files import Files
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source

#: Files that a worker is given at a time, and the fewest for which one is started.
_CHUNK = 25


def analyse_all(sources: Sequence[Source], files: Files, settings: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    """What is found in the sources, in no order; the same whatever the number of processes."""
    workers = min(_processors(), len(sources) // _CHUNK)
    if workers < 2:
        return analyse(tuple(sources), files.load, settings).diagnostics
    from multiprocessing import get_context

    # A forked worker has these as they are, so that each file stays one Source; only what it finds is sent back.
    _shared[:] = [(tuple(sources), files, settings)]
    with get_context("fork").Pool(workers) as pool:
        found = pool.map(_analyse, range(0, len(sources), _CHUNK), chunksize=1)
    _shared.clear()
    return tuple(diagnostic for diagnostics in found for diagnostic in diagnostics)


def _processors() -> int:
    """Processors that this process may use; 1 where processes cannot be forked."""
    if not hasattr(os, "fork"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_shared: list[tuple[tuple[Source, ...], Files, tuple[str, ...]]] = []


def _analyse(start: int) -> tuple[Diagnostic, ...]:
    sources, files, settings = _shared[0]
    return analyse(sources[start : start + _CHUNK], files.load, settings).diagnostics
