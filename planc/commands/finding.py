"""What is found in files: from the cache where a file is as it was, and over all processors where there are many.

A worker is forked, so it has planc loaded and the files read; it sends back what it found. Starting two costs about
30 ms, as much as ten files do. The compiler is imported only when a file has to be analysed: a hook over unchanged
files does without.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planc.commands.files import Files
from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source, Span

if TYPE_CHECKING:
    from planc.commands.cache import Cache
    from planc.compiler import Analysis
    from planc.plan.house import House
    from planc.plan.scope import Load, Made

    #: What holds for the plans of each source without being written in them.
    Houses = Mapping[Source, House | None]

#: Files from which on it may pay to start workers.
ENOUGH = 60

#: Files that a worker is given at a time, and the fewest for which one is started.
_CHUNK = 25


def analyse_all(
    sources: Sequence[Source], files: Files, settings: tuple[str, ...], houses: Houses, use_cache: bool
) -> tuple[Diagnostic, ...]:
    """What is found in the sources, in no order; the same for any number of processes, with or without cache."""
    cache = None
    if use_cache:
        from planc.commands.cache import Cache

        cache = Cache(files, settings)
    # What was kept is read here: a file of it takes less time than to send its name to a worker.
    found: list[tuple[Diagnostic, ...]] = []
    if cache is not None:
        kept = [(source, cache.kept(source, _home(houses[source]))) for source in sources]
        found.extend(diagnostics for _, diagnostics in kept if diagnostics is not None)
        sources = [source for source, diagnostics in kept if diagnostics is None]
    _shared[:] = [(tuple(sources), files, settings, houses, cache)]
    workers = min(processors(), len(sources) // _CHUNK)
    if 1 < workers and ENOUGH <= len(sources):
        from multiprocessing import get_context

        # A forked worker has these as they are; what it finds is sent back, with copies of the sources.
        with get_context("fork").Pool(workers) as pool:
            home = {source.name: source for source in sources}
            for sent in pool.imap(_analyse, range(0, len(sources), _CHUNK)):
                found.append(tuple(_at_home(diagnostic, home) for diagnostic in sent))
    else:
        found.append(_found(tuple(sources), files, settings, houses, cache))
    _shared.clear()
    if cache is not None:
        cache.tidy()
    return tuple(diagnostic for diagnostics in found for diagnostic in diagnostics)


def analyse_whole(
    sources: Sequence[Source], files: Files, settings: tuple[str, ...], houses: Houses
) -> tuple[tuple[Diagnostic, ...], tuple[Analysis, ...]]:
    """What is found in the sources, in no order, and whence; without cache, in this process."""
    from planc.compiler import analyse

    groups: dict[House | None, list[Source]] = {}
    for source in sources:
        groups.setdefault(houses[source], []).append(source)
    found = [analyse(tuple(group), files.load, settings, None, house) for house, group in groups.items()]
    return tuple(diagnostic for analysis in found for diagnostic in analysis.diagnostics), tuple(found)


def _found(
    sources: tuple[Source, ...], files: Files, settings: tuple[str, ...], houses: Houses, cache: Cache | None
) -> tuple[Diagnostic, ...]:
    if cache is None:
        return analyse_whole(sources, files, settings, houses)[0]
    made: Made = {}

    def one(source: Source, load: Load) -> tuple[Diagnostic, ...]:
        from planc.compiler import analyse

        found = analyse((source,), load, settings, made, houses[source]).diagnostics
        for key in [key for key in made if key[1]]:
            del made[key]  # all but planc's own: the cache has to see what each file uses, and that uses in turn
        return found

    return tuple(diagnostic for source in sources for diagnostic in cache.found(source, _home(houses[source]), one))


def _at_home(value: Any, home: Mapping[str, Source]) -> Any:
    """A diagnostic, or a part of one, with the sources of this process in place of the copies."""
    if isinstance(value, Span):
        return value._replace(source=home.get(value.source.name, value.source))
    if isinstance(value, tuple):
        parts = (_at_home(part, home) for part in value)
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def _home(house: House | None) -> Source | None:
    return None if house is None else house.source


def processors() -> int:
    """Processors that this process may use; 1 where processes cannot be forked."""
    if not hasattr(os, "fork"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_shared: list[tuple[tuple[Source, ...], Files, tuple[str, ...], Houses, Cache | None]] = []


def _analyse(start: int) -> tuple[Diagnostic, ...]:
    sources, files, settings, houses, cache = _shared[0]
    return _found(sources[start : start + _CHUNK], files, settings, houses, cache)
