"""Measurements of one run: step times without the warm-up, and the memory that it took at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

#: What a point's value is: seconds of a step, or a rate that a plan turns into seconds.
SECONDS, TOKENS, SAMPLES = "seconds", "tokens per second and card", "samples per second"

#: What is beyond was not measured, be it seconds, bytes, or a rate.
LEAST_VALUE, MOST_VALUE = 1e-12, 1e18

#: What a peak of memory counts: tensors, what the allocator took for them, or all that the process has on the card.
ALLOCATED, RESERVED, USED = "allocated", "reserved", "used"


class Point(NamedTuple):
    """A value that a log gives for some steps; `before`: steps that the run had done when the first of them began."""

    before: int
    value: float


class Peak(NamedTuple):
    """The most memory that a card took, in bytes; `rank` is None where no card is named."""

    kind: str
    num_bytes: float
    rank: int | None


class Series(NamedTuple):
    """What one file says of one layout: `plan` is the name that it gives, `settings` the fields that it sets.

    engine: the engine that a table names; a log's form tells it.
    unit: what the points are. has_steps: steps are numbered, so that a warm-up can be told.
    """

    source: str
    form: str
    plan: str
    settings: tuple[str, ...]
    unit: str
    points: tuple[Point, ...]
    has_steps: bool
    peaks: tuple[Peak, ...]
    engine: str = ""


class Faulty(Exception):
    """What is wrong with a measurement, and the line in which it stands; 0 for the file as a whole."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def after_warmup(series: Series, skip: int) -> tuple[float, ...]:
    """The values of the points that hold none of the first `skip` steps of their run."""
    return tuple(point.value for point in series.points if not series.has_steps or skip <= point.before)


def largest_peaks(peaks: Iterable[Peak]) -> tuple[Peak, ...]:
    """The largest peak of each kind and rank."""
    found: dict[tuple[str, int | None], Peak] = {}
    for peak in peaks:
        key = peak.kind, peak.rank
        if key not in found or found[key].num_bytes < peak.num_bytes:
            found[key] = peak
    return tuple(found.values())


def positive(text: str, line: int, what: str) -> float:
    """A number over zero that may have been measured, or a fault that shows the text."""
    try:
        value = float(text.replace(",", "").strip())
    except ValueError:
        raise Faulty(line, f"{what} is no number: `{text.strip()[:40]}`") from None
    if not LEAST_VALUE <= value <= MOST_VALUE:
        raise Faulty(line, f"{what} is `{text.strip()[:40]}`")
    return value
