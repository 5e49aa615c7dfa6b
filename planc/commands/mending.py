"""`planc lint --fix`: the fixes of what is found applied to the texts, over as many passes as they need.

A pass mends every file, then all are analysed again, since a fix may bring to light what it hid, and of two that
overlap only one is applied at a time. A text in which a fix would leave more that cannot be read stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planc.commands.files import Files
from planc.commands.replacing import replace
from planc.diagnostics.diagnostic import Diagnostic
from planc.reporting.fixing import MAX_PASSES, mend
from planc.source import Source

#: What is found, and reported, in sources.
Judge = Callable[[tuple[Source, ...]], tuple[Diagnostic, ...]]


class Mended(NamedTuple):
    """The sources after the last pass, what is still found in them, and what was mended in each of the first ones."""

    sources: tuple[Source, ...]
    diagnostics: tuple[Diagnostic, ...]
    applied: tuple[tuple[Source, Source, tuple[Diagnostic, ...]], ...]


def mend_all(sources: tuple[Source, ...], files: Files, judge: Judge, unsafe: bool) -> Mended:
    """The sources with their fixes applied; nothing is written. `files` gives the mended texts from then on."""
    first = sources
    applied: dict[int, list[Diagnostic]] = {at: [] for at in range(len(sources))}
    settled: set[int] = set()  # whose fixes made them worse
    found = judge(sources)
    for _ in range(MAX_PASSES):
        mended = [
            mend(source, [each for each in found if each.primary.span.source is source], unsafe) for source in sources
        ]
        changed = [at for at, source in enumerate(sources) if at not in settled and mended[at].text != source.text]
        if not changed:
            break
        before = sources
        sources = tuple(
            files.replace(source, mended[at].text) if at in changed else source for at, source in enumerate(sources)
        )
        now = judge(sources)
        worse = [at for at in changed if _unread(found, before[at]) < _unread(now, sources[at])]
        if worse:
            settled.update(worse)
            sources = tuple(
                files.replace(source, before[at].text) if at in worse else source for at, source in enumerate(sources)
            )
            now = judge(sources)
        for at in changed:
            if at not in worse:
                applied[at].extend(mended[at].applied)
        found = now
    pairs = [(first[at], sources[at], tuple(applied[at])) for at in applied if first[at].text != sources[at].text]
    return Mended(sources, found, tuple(pairs))


def write_all(mended: Mended, files: Files, judge: Judge) -> tuple[Mended, tuple[tuple[str, str], ...]]:
    """Puts the mended texts on disk: what was mended after all, and files that could not be replaced, with reasons."""
    failed: dict[Source, str] = {}
    for before, after, _ in mended.applied:
        reason = replace(files.place(before), before.text, after.text)
        if reason is not None:
            failed[after] = reason
    if not failed:
        return mended, ()
    back = {after: files.replace(after, before.text) for before, after, _ in mended.applied if after in failed}
    sources = tuple(back.get(source, source) for source in mended.sources)
    applied = tuple(each for each in mended.applied if each[1] not in failed)
    unwritten = tuple((source.name, reason) for source, reason in failed.items())
    return Mended(sources, judge(sources), applied), unwritten


def _unread(found: tuple[Diagnostic, ...], source: Source) -> int:
    """How much of a text could not be read."""
    unread = (each for each in found if each.code < "PLN010" or each.code == "PLN060")  # a plan, a file of another tool
    return sum(each.primary.span.source is source for each in unread)
