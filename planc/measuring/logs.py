"""The lines in which Megatron-LM, torchtitan and DeepSpeed say how long a step took and how much memory it needed.

Megatron-LM (of 2026-08, and forks that keep its line): `elapsed time per iteration (ms)` is the mean since the line
before, and `memory (MB)` counts MiB. torchtitan 0.3.0: `tps` is tokens per second and card since the line before,
`memory` the most that was reserved. DeepSpeed 0.19.8: `CurrSamplesPerSec` is the global batch over the time of that
one step, without what the loader took; its GB are GiB. A value counts only if what follows it is there: the end of a
log may be cut off anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planc.measuring.series import (
    ALLOCATED,
    RESERVED,
    SAMPLES,
    SECONDS,
    TOKENS,
    Peak,
    Point,
    Series,
    largest_peaks,
    positive,
)  # fmt: skip

#: Bytes of which one stands in every line that may matter; a log may be gigabytes of others.
MARKS = (b"elapsed", b"memory", b"CurrSamplesPerSec")

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_RANK = re.compile(r"\[rank(\d+)\]")
_MEGATRON = re.compile(
    r"iteration[= ]\s*(\d{1,15})/\s*\d+ \|.*?elapsed[ _]time[ _]per[ _]iteration[ _]\(?ms\)?[:=]([^|]*) \|"
)
_MEGATRON_MEMORY = re.compile(
    r"\[Rank (\d{1,9})\][^\[|]*memory \(MB\) \| allocated: [^|]*\| max allocated: ([^|]*)\| reserved: [^|]*"
    r"\| max reserved: ([\w.+-]+)(?=[\s\[|])"
)
_TORCHTITAN = re.compile(
    r"(?<!validate )step:\s*(\d{1,15})\s.*?memory:\s*(\S+?)GiB\([^)]*\)\s+tps:\s*(\S+)\s+(?=[a-z])"
)
_DEEPSPEED = re.compile(
    r"global_step=(\d{1,15}), RunningAvgSamplesPerSec=[^,]*, CurrSamplesPerSec=([^,]*),"
    r"(?: MemAllocated=[^,]*, MaxMemAllocated=\s*([\w.+-]+?)\s*GB)?"
)

MEBI, GIBI = 2**20, 2**30


class _Found(NamedTuple):
    """A value of one step; `alone`: it is that of this step, and not the mean since the value before."""

    form: str
    rank: int
    step: int
    value: float
    alone: bool


_UNITS = {"Megatron-LM": SECONDS, "torchtitan": TOKENS, "DeepSpeed": SAMPLES}


def read_log(name: str, lines: Iterable[tuple[int, str]]) -> Series | None:
    """What a log measured, or None if no line says; Faulty for a value that is none.

    `lines` are those with one of the marks, each with its number and its end.
    Where two trainers speak (Megatron-DeepSpeed), the steps are those of the first of them.
    """
    runs: dict[tuple[str, int], _Run] = {}
    peaks: dict[tuple[str, int | None], Peak] = {}
    for number, text in lines:
        for found in _values(number, text):
            if isinstance(found, Peak):
                key = found.kind, found.rank
                if key not in peaks or peaks[key].num_bytes < found.num_bytes:
                    peaks[key] = found
            else:
                runs.setdefault((found.form, found.rank), _Run()).add(found)
    form = next((form for form in _UNITS if any(key[0] == form for key in runs)), "")
    if not form and not peaks:
        return None
    # Ranks that print the same steps say the same, so one of them is enough.
    rank = min((key[1] for key in runs if key[0] == form), default=0)
    points = tuple(runs[form, rank].points) if form else ()
    unit = _UNITS.get(form, SECONDS)
    return Series(name, form or "Megatron-LM", "", (), unit, points, True, largest_peaks(peaks.values()))


class _Run:
    """The points of one rank's log, which a restart of the job begins anew."""

    __slots__ = ("_base", "_last", "points")

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._last: int | None = None
        self._base: int | None = None

    def add(self, found: _Found) -> None:
        if found.alone:
            self.points.append(Point(max(found.step - 1, 0), found.value))
            return
        if self._last is None or found.step <= self._last:
            self._base = None
            self.points.append(Point(0, found.value))
        else:
            if self._base is None:  # a run that goes on from a checkpoint begins an interval before its first line
                self._base = max(self._last - (found.step - self._last), 0)
            self.points.append(Point(self._last - self._base, found.value))
        self._last = found.step


def _values(line: int, text: str) -> Iterator[_Found | Peak]:
    for reader in (_megatron, _torchtitan, _deepspeed):
        yield from reader(line, text)


def _megatron(line: int, text: str) -> Iterator[_Found | Peak]:
    found = _MEGATRON.search(text)
    if found is not None:
        seconds = positive(found[2], line, "the time of an iteration") / 1000
        yield _Found("Megatron-LM", 0, int(found[1]), seconds, alone=False)
    for memory in _MEGATRON_MEMORY.finditer(text):
        for kind, amount in ((ALLOCATED, memory[2]), (RESERVED, memory[3])):
            yield Peak(kind, positive(amount, line, f"the memory that was {kind}") * MEBI, int(memory[1]))


def _torchtitan(line: int, text: str) -> Iterator[_Found | Peak]:
    found = _TORCHTITAN.search(_COLOR.sub("", text)) if "tps" in text else None
    if found is None:
        return
    prefix = _RANK.search(text)
    rank = int(prefix[1]) if prefix is not None else 0
    yield _Found("torchtitan", rank, int(found[1]), positive(found[3], line, "`tps`"), alone=False)
    yield Peak(RESERVED, positive(found[2], line, "the memory") * GIBI, rank)


def _deepspeed(line: int, text: str) -> Iterator[_Found | Peak]:
    found = _DEEPSPEED.search(text)
    if found is None:
        return
    yield _Found("DeepSpeed", 0, int(found[1]), positive(found[2], line, "`CurrSamplesPerSec`"), alone=True)
    if found[3] is not None and found[3] not in ("0", "0.0"):  # what it prints where it cannot tell
        yield Peak(ALLOCATED, positive(found[3], line, "`MaxMemAllocated`") * GIBI, 0)
