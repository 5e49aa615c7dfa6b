"""Predictions of a plan beside what its run measured, and the factors that follow from all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from statistics import median
from typing import Any, NamedTuple

from planc.facts.engine import Engine, engine_value, engines
from planc.facts.facts import Facts
from planc.measuring.fitting import LEAST, MOST, Time, at_end, fit_one, fit_times
from planc.measuring.series import ALLOCATED, SAMPLES, TOKENS, USED, Peak, Series, after_warmup
from planc.plan.model import Plan, Unknown

COMPUTE, COMMUNICATION, MEMORY = "calibration.compute", "calibration.communication", "calibration.memory"

#: Forms of logs: the property of the engines that write them, and its value.
_FORMS = {
    "Megatron-LM": ("family", "megatron"), "torchtitan": ("name", "torchtitan"), "DeepSpeed": ("runtime", "deepspeed"),
}  # fmt: skip

#: Part by which a sum of squares may differ for rounding alone.
_ROUNDING = 1e-9


class Run(NamedTuple):
    """A plan with what was measured of it, under one of its engines."""

    plan: Plan
    series: Series
    engine: Engine


class Row(NamedTuple):
    """One number of a run, predicted and measured, in seconds or bytes; `error` is predicted / measured - 1.

    what: `step time`, `memory allocated` and so on.
    num_values: of so many the measured one is the median (of times) or the largest (of memory).
    predicted: by the plan as it is, with the factors that it has; or the reason why it is not known, with `error` 0.
    calibrated: with the factors that were found, or None.
    """

    run: Run
    what: str
    unit: str
    measured: float
    num_values: int
    predicted: float | Unknown
    error: float
    calibrated: float | None


class Comparison(NamedTuple):
    """All rows, the factors that were found (by field of `calibration`), and what is to be known of them."""

    rows: tuple[Row, ...]
    factors: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]


class _Measured(NamedTuple):
    run: Run
    what: str
    unit: str
    value: float
    num_values: int
    predicted: Callable[..., Any]  # of factors of the time, or of the factor of memory


def compare(runs: Sequence[Run], skip: int) -> Comparison:
    """The comparison of runs with their plans; `skip` is the number of steps that are taken for a warm-up."""
    times = [found for run in runs if (found := _time(run, skip)) is not None]
    peaks = [found for run in runs for found in _peaks(run)]
    notes = list(dict.fromkeys(note for run in runs if (note := _doubt(run))))
    factors: dict[str, float] = {}
    for measured, fitted in ((times, _time_factors), (peaks, _memory_factor)):
        usable = _near(measured, notes)
        if usable:
            factors |= _kept(usable, dict(fitted(usable, notes)), notes)
    rows = (*(_row(found, factors) for found in times), *(_row(found, factors) for found in peaks))
    return Comparison(rows, tuple(factors.items()), tuple(notes))


def _near(found: Sequence[_Measured], notes: list[str]) -> list[_Measured]:
    """Those whose prediction is known and so near that a factor could make up for the difference."""
    known = [each for each in found if not isinstance(_as_planned(each), Unknown)]
    far = [each for each in known if not LEAST <= float(_as_planned(each)) / each.value <= MOST]
    if far:
        more = f", and {len(far) - 1} more," if 1 < len(far) else ""
        notes.append(
            f"{far[0].what} of {far[0].run.series.source} is more than {MOST:g} times off{more} and is left out of "
            "the factors: plan and measurement do not belong together"
        )
    return [each for each in known if not any(each is other for other in far)]


def _kept(found: Sequence[_Measured], factors: dict[str, float], notes: list[str]) -> dict[str, float]:
    """The factors if they are within reason, and predictions are nearer to what was measured with them than without."""
    ends = [name for name, factor in factors.items() if at_end(factor)]
    if ends:
        looked = f"`{ends[0]}` would be at the end of what is looked for, {LEAST:g} to {MOST:g}"
        notes.append(f"{looked}: plan and measurement do not belong together")
        return {}
    before, after = _squares(found, {}), _squares(found, factors)
    if after <= before * (1 + _ROUNDING) + _ROUNDING:
        return factors
    notes.append(f"no factors for {found[0].what}: those that were found do not bring predictions nearer")
    return {}


def _squares(found: Sequence[_Measured], factors: dict[str, float]) -> float:
    """The sum of the squares of relative errors, without end where a prediction is not known."""
    fitted = [_fitted(each, factors) if factors else _as_planned(each) for each in found]
    if any(isinstance(value, Unknown) for value in fitted):
        return float("inf")
    return sum((float(value) / each.value - 1) ** 2 for value, each in zip(fitted, found, strict=True))


def engine_of(plan: Plan, series: Series) -> Engine:
    """The engine of a plan that a series names, or that writes logs of its form; else the first that the plan emits."""
    found = engines(plan)
    named = [engine for engine in found if engine.name == series.engine or _writes(engine, series.form)]
    return (named or found)[0]


def _writes(engine: Engine, form: str) -> bool:
    """Whether logs of a form come from an engine."""
    name, value = _FORMS.get(form, ("name", form))
    return bool(engine_value(engine, name) == value)


def _doubt(run: Run) -> str:
    """What makes it doubtful that a run was trained by the engine that it is compared with; or nothing."""
    series, name = run.series, run.engine.name
    if series.form in _FORMS:
        if series.engine or _writes(run.engine, series.form):
            return ""
        taken = "the plan emits no trainer" if name == "generic" else f"the plan is predicted for {name}"
        return f"{series.source} is of {series.form}, and {taken}"
    several = [engine.name for engine in engines(run.plan)]
    if series.engine or len(several) == 1:
        return ""
    return (
        f"the plan is emitted for {' and '.join(several)}, and {name} was taken; `--engine` or a column `engine` "
        f"chooses for {series.source}"
    )


def warmup_only(run: Run, skip: int) -> bool:
    """Whether every step that a run logged lies in its warm-up."""
    return bool(run.series.points) and not after_warmup(run.series, skip)


def _time(run: Run, skip: int) -> _Measured | None:
    values = after_warmup(run.series, skip)
    if not values:
        return None
    facts = Facts(run.plan, run.engine)
    seconds = _seconds(facts, run.series.unit, median(values))
    if isinstance(seconds, Unknown):
        return None
    return _Measured(run, "step time", "s", seconds, len(values), cache(partial(_predicted_time, run)))


def _seconds(facts: Facts, unit: str, value: float) -> Any:
    """Seconds of a step in which so much was done."""
    if unit == TOKENS:
        tokens, cards = facts["batch.tokens"], facts["world.size"]
        if isinstance(tokens, Unknown) or isinstance(cards, Unknown):
            return tokens if isinstance(tokens, Unknown) else cards
        return float(tokens / cards) / value
    if unit == SAMPLES:
        samples = facts["batch.global"]
        return samples if isinstance(samples, Unknown) else float(samples) / value
    return value


def _predicted_time(run: Run, compute: float | None, communication: float | None) -> Any:
    factors = {COMPUTE: compute, COMMUNICATION: communication}
    given = {path: factor for path, factor in factors.items() if factor is not None}
    return Facts(run.plan, run.engine, given)["step.time"]


def _peaks(run: Run) -> list[_Measured]:
    """The peak of each kind and stage: of the ranks of one stage, the one that took most."""
    facts = Facts(run.plan, run.engine)
    largest: dict[tuple[str, int | None], tuple[Peak, int]] = {}
    for peak in run.series.peaks:
        key = peak.kind, _stage(facts, peak.rank)
        best, count = largest.get(key, (peak, 0))
        largest[key] = (peak if best.num_bytes < peak.num_bytes else best), count + 1
    several = 1 < len({stage for _, stage in largest})
    return [
        _Measured(
            run,
            f"memory {kind}" + (f", stage {stage}" if several else ""),
            "bytes",
            peak.num_bytes,
            count,
            cache(partial(_predicted_memory, run, kind, stage)),
        )
        for (kind, stage), (peak, count) in sorted(largest.items(), key=_by_stage)
    ]


def _by_stage(item: tuple[tuple[str, int | None], Any]) -> tuple[int, str]:
    (kind, stage), _ = item
    return -1 if stage is None else stage, kind


def _stage(facts: Facts, rank: int | None) -> int | None:
    """The pipeline stage of a rank: ranks of a stage are consecutive. None for the fullest one, if it is not known."""
    world, stages = facts["world.size"], facts["parallel.pipeline"]
    if rank is None or isinstance(world, Unknown) or isinstance(stages, Unknown) or world <= rank:
        return None
    return int(rank * stages // world)


def _predicted_memory(run: Run, kind: str, stage: int | None, factor: float | None) -> Any:
    facts = Facts(run.plan, run.engine, {} if factor is None else {MEMORY: factor})
    at = facts["memory.worst_stage"] if stage is None else stage
    if isinstance(at, Unknown):
        return at
    view = facts.at_stage(at)
    peak = view["stage.peak"]
    if kind == ALLOCATED:
        return peak
    reserve = view["stage.total"] if kind == USED else view["stage.reserve"]
    if isinstance(peak, Unknown) or isinstance(reserve, Unknown):
        return peak if isinstance(peak, Unknown) else reserve
    return reserve if kind == USED else peak + reserve


def _as_planned(found: _Measured) -> Any:
    return found.predicted(None, None) if found.unit == "s" else found.predicted(None)


def _fitted(found: _Measured, factors: dict[str, float]) -> Any:
    """The prediction with factors; None if none of them is one of what was measured."""
    if found.unit == "s":
        names = ("compute", "communication")
        return found.predicted(*(factors.get(name) for name in names)) if "compute" in factors else None
    return found.predicted(factors["memory"]) if "memory" in factors else None


def _time_factors(times: Sequence[_Measured], notes: list[str]) -> list[tuple[str, float]]:
    written = {_factor(found.run.plan, COMMUNICATION) for found in times}
    communication = written.pop() if len(written) == 1 else 1.0
    found = fit_times([_floats(each.predicted) for each in times], [each.value for each in times], communication)
    if found is None:
        notes.append("no factor of the time is known: the predictions do not depend on one")
        return []
    if found.communication is not None:
        return [("compute", found.compute), ("communication", found.communication)]
    layouts = len({id(each.run.plan) for each in times})
    why = "there is one layout" if layouts == 1 else "the layouts hardly differ in their share of communication"
    advice = "; measure a layout with another share of it to tell them apart"
    if found.is_beyond:
        why, advice = f"no pair of factors from {LEAST:g} to {MOST:g} fits the layouts", ""
    notes.append(
        f"{why}, so the times give one factor, which is laid to computation; communication keeps "
        f"{communication:g}{advice}"
    )
    if communication == 1:
        return [("compute", found.compute)]
    return [("compute", found.compute), ("communication", communication)]


def _floats(predicted: Callable[..., Any]) -> Time:
    return lambda compute, communication: float(predicted(compute, communication))


def _factor(plan: Plan, path: str) -> float:
    value = plan.value(path) if path in plan else 1
    return float(value) if isinstance(value, int | float) or hasattr(value, "numerator") else 1.0


def _memory_factor(peaks: Sequence[_Measured], notes: list[str]) -> list[tuple[str, float]]:
    factor = fit_one([_float(found.predicted) for found in peaks], [found.value for found in peaks])
    if factor is None:
        notes.append("no factor of memory is known: what is not model states is too small a part of it")
        return []
    return [("memory", factor)]


def _float(predicted: Callable[..., Any]) -> Callable[[float], float]:
    return lambda factor: float(predicted(factor))


def _row(found: _Measured, factors: dict[str, float]) -> Row:
    predicted = _as_planned(found)
    if isinstance(predicted, Unknown):
        return Row(found.run, found.what, found.unit, found.value, found.num_values, predicted, 0.0, None)
    fitted = _fitted(found, factors)
    predicted = float(predicted)
    calibrated = None if fitted is None or isinstance(fitted, Unknown) else float(fitted)
    error = predicted / found.value - 1
    return Row(found.run, found.what, found.unit, found.value, found.num_values, predicted, error, calibrated)
