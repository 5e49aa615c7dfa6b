"""The sizes of an axis with the micro batches and ways to recompute that fit."""

from __future__ import annotations

from collections.abc import Iterator

from planc.advice.layouts import Layout, Question, Trial, is_possible, layers_of_chunk, tried
from planc.plan.model import Unknown

#: Micro batches that are tried, in samples.
_MICRO = (1, 2, 4, 8)


def bytes_of(trial: Trial) -> float:
    """What a card needs, for comparison: without end where it is not known."""
    return float("inf") if isinstance(trial.total, Unknown) else float(trial.total)


def refined(asked: Question, skeleton: Layout, kinds: int) -> Iterator[Trial]:
    """A skeleton with each micro batch that fits, and with more recomputation where that lets a larger one fit.

    Nothing fits: the smallest.
    """
    smallest: Trial | None = None
    fitting, most = False, 0
    ways = asked.trainer.recompute[:kinds]
    for kind in ways[ways.index(skeleton.recompute) if skeleton.recompute in ways else 0 :]:
        for micro in _MICRO:
            layout = skeleton._replace(micro=micro, recompute=kind)
            if micro <= most or not is_possible(asked, layout):
                continue
            trial = tried(asked, layout)
            if not trial.fits:
                if smallest is None or bytes_of(trial) < bytes_of(smallest):
                    smallest = trial
                break
            fitting, most = True, micro
            yield trial
            if kind == "full" and asked.trainer.blocks:
                yield from _in_blocks(asked, layout)
    if not fitting and smallest is not None:
        yield smallest


def _in_blocks(asked: Question, layout: Layout) -> Iterator[Trial]:
    """The layout with as few layers recomputed as let it fit; nothing if all have to be."""
    best: Trial | None = None
    least, most = 1, layers_of_chunk(asked, layout) - 1
    while least <= most:  # each layer more needs less memory, so that halving finds the fewest
        middle = (least + most) // 2
        trial = tried(asked, layout._replace(block=middle))
        if trial.fits:
            best, most = trial, middle - 1
        else:
            least = middle + 1
    if best is not None:
        yield best
