"""The ladder: what is tried in which order, and whether each rung is needed, pays, or neither.

The order is that of what a layout asks of a program and of the network: copies of the model, shared states,
recomputation, split layers, experts, depth and sequences; long sequences come before layers. A later rung counts only
if nothing fits before it, or if it is faster by GAIN, for whatever is simpler is also easier to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planc.advice.layouts import Layout, Question, Trial, powers, replicas, with_ends
from planc.advice.refining import bytes_of, refined
from planc.plan.model import Unknown

#: Share of the step time by which a later rung has to be faster: less is within what predictions err.
GAIN = 0.05

#: The same where it needs another trainer, whose kernels are part of the difference.
GAIN_OF_ANOTHER_TRAINER = 1 / 2

#: Layouts whose times differ by no more than this share are alike, and the simplest of them counts.
_ALIKE = 0.02

#: A sequence that is longer than this, in tokens, is worth splitting for its own sake.
_LONG = 16_384

#: Stages, and chunks of a stage, beyond which no pipeline is tried: it would be all sends, and takes long to work out.
_MOST_STAGES, _MOST_CHUNKS = 256, 16

#: Rows of a rung that are shown.
_SHOWN = 6


class Rung(NamedTuple):
    """One step: its layouts as they are shown, the best first, and what it decided.

    verdict: `enough` (the first that fits), `not enough`, `pays` (faster than all before), `not needed`, `not tried`.
    before: the best layout of the rungs before; `reason` says why it was not tried.
    """

    name: str
    verdict: str
    trials: tuple[Trial, ...]
    before: Trial | None
    reason: str = ""


class Ladder(NamedTuple):
    """All rungs, the layouts that fit with the chosen one first, and the one that needs least memory."""

    rungs: tuple[Rung, ...]
    ranking: tuple[Trial, ...]
    least: Trial | None


Skeletons = Iterable[tuple[Question, Layout]]


def climb(questions: Sequence[Question]) -> Ladder:
    """The ladder of a model on a cluster, for the trainers that may be used, the one that needs least first."""
    simple, deep = questions[0], questions[-1]
    climber = _Climber(simple)
    climber.rung("data", _data(simple), kinds=1)
    if 1 < simple.cards:
        climber.rung("shard", list(_shard(simple)), kinds=1)
    climber.rung("recompute", list(_recompute(simple)))
    axes = ("tensor", "expert", "pipeline")
    for name in ("context", *axes) if _is_long(deep) else (*axes, "context"):
        why_not, skeletons = _LATER[name]
        reason = why_not(deep, climber)
        if reason:
            climber.skip(name, reason)
        else:
            climber.rung(name, list(skeletons(deep, climber)))
    best = climber.best
    others = sorted((trial for trial in climber.fitting if trial is not best), key=seconds_of)
    return Ladder(tuple(climber.rungs), (best, *others) if best is not None else (), climber.least)


def seconds_of(trial: Trial) -> float:
    """The time of a step, for comparison: without end where it is not known."""
    seconds = trial.seconds
    return float("inf") if isinstance(seconds, Unknown) else float(seconds)


class _Climber:
    """The rungs so far, and what they found."""

    __slots__ = ("best", "fitting", "least", "rungs", "simple")

    def __init__(self, simple: Question) -> None:
        self.simple = simple
        self.rungs: list[Rung] = []
        self.fitting: list[Trial] = []
        self.best: Trial | None = None
        self.least: Trial | None = None

    def skip(self, name: str, reason: str) -> None:
        self.rungs.append(Rung(name, "not tried", (), self.best, reason))

    def rung(self, name: str, skeletons: Sequence[tuple[Question, Layout]], kinds: int = 3) -> None:
        """Tries each skeleton with the micro batches and ways to recompute that fit, and keeps the best."""
        found = [trial for asked, layout in skeletons for trial in refined(asked, layout, kinds)]
        if not found:
            self.skip(name, self._why_none(name))
            return
        for trial in found:
            if not isinstance(trial.total, Unknown) and (self.least is None or trial.total < self.least.total):
                self.least = trial
        fitting = sorted((trial for trial in found if trial.fits), key=seconds_of)
        before, verdict = self.best, "not enough" if self.best is None else "not needed"
        choice = self._simplest(fitting) if fitting else None
        if choice is not None and (before is None or is_worth(before, choice)):
            verdict = "enough" if before is None else "pays"
            self.best = choice
        self.fitting.extend(fitting)
        first = [choice] if choice is not None else []
        shown = _distinct([*first, *fitting]) or sorted(found, key=bytes_of)
        self.rungs.append(Rung(name, verdict, tuple(shown[:_SHOWN]), before))

    def _simplest(self, fitting: Sequence[Trial]) -> Trial:
        """Of the layouts about as fast as the fastest the simplest; the trainer that needs least comes first."""
        least = seconds_of(fitting[0])
        own = [trial for trial in fitting if trial.question is self.simple]
        if own and seconds_of(own[0]) * (1 - GAIN_OF_ANOTHER_TRAINER) <= least:
            least, fitting = seconds_of(own[0]), own
        return min((trial for trial in fitting if seconds_of(trial) <= least * (1 + _ALIKE)), key=_effort)

    def _why_none(self, name: str) -> str:
        asked = self.simple
        if name not in ("data", "shard", "recompute"):
            return "no power of two divides ranks, heads, layers, experts and samples alike"
        if name == "data" and 0 not in asked.trainer.stages:
            return f"`{asked.trainer.name}` always shares states"
        if asked.samples < asked.cards:
            return f"{asked.samples:,} samples a step are too few for {asked.cards:,} replicas"
        return f"{asked.samples:,} samples a step are no multiple of what the replicas take"


def is_worth(before: Trial, after: Trial) -> bool:
    """Whether a layout is so much faster than one that is simpler that it pays; not if either time is unknown."""
    if isinstance(before.seconds, Unknown):
        return False
    return seconds_of(after) < seconds_of(before) * (1 - _gain(before, after))


def _gain(before: Trial, after: Trial) -> float:
    return GAIN if before.question.trainer == after.question.trainer else GAIN_OF_ANOTHER_TRAINER


def _effort(trial: Trial) -> tuple[float, ...]:
    """How much a layout asks for; of two that are alike the one that asks less counts."""
    layout = trial.layout
    ranks = layout.context * layout.pipeline * layout.tensor
    return ranks * layout.expert, layout.chunks, layout.pipeline, seconds_of(trial), layout.stage, layout.shard


def _distinct(trials: Sequence[Trial]) -> list[Trial]:
    """The best of each skeleton, in order: micro batches, chunks and recomputation aside."""
    found: dict[tuple[str, Layout], Trial] = {}
    for trial in trials:
        found.setdefault(
            (trial.question.trainer.name, trial.layout._replace(micro=1, chunks=1, ends=0, recompute="none", block=0)),
            trial,
        )
    return list(found.values())


def _data(asked: Question) -> list[tuple[Question, Layout]]:
    """Copies of the whole model."""
    return [(asked, Layout())] if 0 in asked.trainer.stages else []


def _recompute(asked: Question) -> Iterator[tuple[Question, Layout]]:
    """Copies and shared states again, with activations that are computed twice."""
    for _, layout in (*_data(asked), *_shard(asked)):
        yield asked, layout._replace(recompute=asked.trainer.recompute[1])


def _shard(asked: Question) -> Iterator[tuple[Question, Layout]]:
    """States shared by all replicas, or by those of one domain."""
    if asked.cards == 1:
        return
    for stage in (1, 2, 3):
        yield asked, Layout(stage=stage)
        if 2 <= stage and asked.domain < asked.cards:
            yield asked, Layout(stage=stage, shard=asked.domain)


def _stages(asked: Question, layout: Layout) -> Iterator[Layout]:
    """The layout with the stages that make sense for its trainer."""
    if asked.trainer.name == "megatron":  # its distributed optimizer costs nothing
        yield layout._replace(stage=1 if 1 < replicas(asked, layout) * layout.context else 0)
        return
    allowed = asked.trainer.stages if layout.pipeline == 1 else asked.trainer.pipeline_stages
    several = 1 < replicas(asked, layout) * layout.context
    for stage in allowed[-2:] if several else allowed[:1]:
        yield layout._replace(stage=stage)


def _skeletons(asked: Question, layouts: Iterable[Layout]) -> Iterator[tuple[Question, Layout]]:
    for layout in layouts:
        if asked.cards % (layout.tensor * layout.context * layout.pipeline) == 0:
            for staged in _stages(asked, with_ends(asked, layout)):
                yield asked, staged


def _tensors(asked: Question) -> list[int]:
    return list(powers(min(asked.domain, asked.cards))) if asked.trainer.tensor else [1]


def _why_no_tensor(asked: Question, climber: _Climber) -> str:
    if not asked.trainer.tensor:
        return f"planc does not plan it for `{asked.trainer.name}`"
    return "" if 1 < min(asked.cards, asked.domain) else "there is one card in a domain"


def _tensor(deep: Question, climber: _Climber) -> Skeletons:
    """Layers split inside a domain; split sequences too, where they are split already."""
    contexts = _of_best(climber, deep, "context")
    axes = ((size, context) for size in _tensors(deep)[1:] for context in contexts)
    return _skeletons(deep, (Layout(tensor=size, context=context) for size, context in axes))


def _is_long(asked: Question) -> bool:
    return _LONG < asked.sequence_length


def _why_no_context(asked: Question, climber: _Climber) -> str:
    if asked.cards == 1:
        return "there is one card"
    if climber.best is None or _is_long(asked):
        return ""
    return f"a sequence of {asked.sequence_length:,} tokens is short"


def _context(deep: Question, climber: _Climber) -> Skeletons:
    """Sequences split over ranks, with shared states; where nothing else helped, with split layers and depth too."""
    simple = climber.simple
    sizes = list(powers(min(deep.cards, 64, deep.sequence_length // 1024), 2))
    if simple.trainer.context and simple is not deep:
        yield from ((simple, Layout(context=size, stage=3)) for size in sizes if simple.cards % size == 0)
    if deep.trainer.context:
        tensors, stages = [1], [1]
        if climber.best is None and not _is_long(deep):
            tensors, stages = _tensors(deep), _of_best(climber, deep, "pipeline")
        axes = ((size, tensor, stage) for size in sizes for tensor in tensors for stage in stages)
        layouts = (Layout(context=size, tensor=tensor, pipeline=stage) for size, tensor, stage in axes)
        yield from _skeletons(deep, layouts)


def _why_no_expert(asked: Question, climber: _Climber) -> str:
    if not asked.experts:
        return "the model has no experts"
    return "" if asked.trainer.expert and 1 < asked.cards else f"planc does not plan it for `{asked.trainer.name}`"


def _expert(deep: Question, climber: _Climber) -> Skeletons:
    """Experts shared out over ranks."""
    contexts = _of_best(climber, deep, "context")
    sizes = [size for size in powers(min(deep.cards, deep.experts), 2) if deep.experts % size == 0]
    axes = ((size, tensor, context) for size in sizes for tensor in _tensors(deep) for context in contexts)
    return _skeletons(deep, (Layout(expert=size, tensor=tensor, context=context) for size, tensor, context in axes))


def _why_no_pipeline(asked: Question, climber: _Climber) -> str:
    if asked.cards == 1:
        return "there is one card"
    return "" if asked.trainer.pipeline_stages else f"planc does not plan it for `{asked.trainer.name}`"


def _pipeline(deep: Question, climber: _Climber) -> Skeletons:
    """Depth split into stages, with one chunk a stage or several."""
    contexts, experts = _of_best(climber, deep, "context"), _of_best(climber, deep, "expert")
    if deep.experts:  # a pipeline leaves fewer ranks to share them
        some = {min(deep.experts, deep.domain), min(deep.experts, 8 * deep.domain)}
        experts = sorted({*experts, *(size for size in some if deep.experts % size == 0)})
    for size in powers(min(deep.cards, deep.layers, _MOST_STAGES), 2):
        for chunks in _chunks(deep, size):
            layouts = (
                Layout(tensor=tensor, pipeline=size, chunks=chunks, context=context, expert=expert)
                for tensor in _tensors(deep)
                for context in contexts
                for expert in experts
            )
            yield from _skeletons(deep, layouts)


def _chunks(asked: Question, stages: int) -> Iterator[int]:
    """Chunks a stage: one, and the fewest and the most into which its layers go evenly."""
    yield 1
    if asked.trainer.interleaved:
        extra = next((extra for extra in (0, 2, 1) if (asked.layers + extra) % stages == 0), None)
        if extra is not None:
            each = (asked.layers + extra) // stages
            most = min(each, asked.layers // stages, _MOST_CHUNKS)
            counts = [count for count in range(2, most + 1) if each % count == 0]
            yield from dict.fromkeys(counts[:1] + counts[len(counts) // 2 : len(counts) // 2 + 1] + counts[-1:])


def _of_best(climber: _Climber, asked: Question, axis: str) -> list[int]:
    """Sizes of an axis that are worth combining: 1, that of the best layout, of the smallest, and of its own rung."""
    own = [trial for trial in (climber.best, climber.least) if trial is not None]
    own.extend(rung.trials[0] for rung in climber.rungs if rung.name == axis and rung.trials)
    sizes = (int(getattr(trial.layout, axis)) for trial in own if trial.question is asked or axis == "context")
    return list(dict.fromkeys((1, *sizes)))


#: Rungs after the first, by name: why one is not tried, and what it tries.
_LATER: dict[str, tuple[Callable[[Question, _Climber], str], Callable[[Question, _Climber], Skeletons]]] = {
    "tensor": (_why_no_tensor, _tensor),
    "context": (_why_no_context, _context),
    "expert": (_why_no_expert, _expert),
    "pipeline": (_why_no_pipeline, _pipeline),
}
