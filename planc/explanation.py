"""Every derived number of a plan with its formula and inputs, as data; `planc explain` shows it.

The formula, its source and what it assumes come from the docstring of the function that computes the number, so what is
explained is what was done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from planc.diagnostics import amounts
from planc.facts.engine import Engine, engines
from planc.facts.evidence import evidence_of
from planc.facts.facts import FACTS, STAGE, STAGED, Facts
from planc.plan.model import Located, Plan, Record, Unknown
from planc.plan.quantities import amount_text
from planc.plan.schema import SECTIONS, Field
from planc.plan.units import BANDWIDTH, BYTES, POWER, RATE, TIME, Amount

MEMORY_NOTE = (
    "`memory.*` is of a card of the fullest stage of the pipeline, at the peak of a step; its parts add up to "
    "`memory.total`, which `memory.free` and `memory.headroom` take from what the card has"
)

#: The path of the time that `--step-time` gives.
STEP_TIME = "step.measured"

_LONGEST_INTEGER = 4096  # bits of an integer that JSON is given as a number; Python refuses to write much longer ones
_LONG = re.compile(r"(?<![\d.])\d{5,}(?![\d.]*e)")
_MANY = 10**12  # tokens, from which on they are rounded as people say them
_PLAIN = frozenset((int, float, Fraction))


class Input(NamedTuple):
    """A field or another number that a formula was given; `text` in human units."""

    path: str
    value: Any
    text: str


class Number(NamedTuple):
    """A derived number; `engines` are those that give this value, none if all of the plan's do.

    value: the number or word, or Unknown; then `text` is the reason and `missing` the fields that would supply it.
    formula, source, assumes: from the docstring of the function; `assumes` may be empty.
    where: constants and functions of the formula, each with its value and source.
    stage: the stage of the pipeline that has this value, for a number that differs from stage to stage.
    """

    path: str
    engines: tuple[str, ...]
    unit: str
    value: Any
    text: str
    missing: tuple[str, ...]
    meaning: str
    formula: str
    source: str
    assumes: str
    where: tuple[str, ...]
    inputs: tuple[Input, ...]
    stage: int | None


class Explanation(NamedTuple):
    """The fields that some number reads, and all numbers, of one plan for each engine that trains it."""

    plan: Plan
    engines: tuple[Engine, ...]
    facts: tuple[Facts, ...]
    fields: tuple[tuple[Input, Located], ...]
    numbers: tuple[Number, ...]


def explain(plan: Plan, step_seconds: Any) -> Explanation:
    """The explanation of a plan; `step_seconds` is the measured time of a step, or None."""
    given = {} if step_seconds is None else {STEP_TIME: step_seconds}
    trainers = engines(plan)
    known = [_known(Facts(plan, engine, given)) for engine in trainers]
    numbers = [number for path in FACTS for number in _numbers(path, known)]
    facts = tuple(own.facts for own in known)
    return Explanation(plan, trainers, facts, tuple(_fields(plan, known[0])), tuple(numbers))


def value_text(path: str, value: Any, unit: str = "") -> str:
    """A value in human units: by the unit of the fact, or the type of the field, that the path names."""
    if type(value) in _PLAIN and path in FACTS:
        return _in_unit(value, unit or FACTS[path].unit)
    if isinstance(value, Unknown):
        return "unknown"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Record):
        return value.word or "set"
    if isinstance(value, Amount):
        return _grouped(amount_text(value))
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(path, item, unit) for item in value)}]"
    name = path.removesuffix("[]")
    if unit or name in FACTS:
        return _in_unit(value, unit or FACTS[name].unit)
    if path == STEP_TIME:
        return _in_unit(value, "s")
    field = field_of(path)
    dimensions = field.type.dimensions if field is not None else ()
    for dimension, unit in ((BYTES, "bytes"), (BANDWIDTH, "bytes/s"), (TIME, "s"), (RATE, "FLOP/s"), (POWER, "W")):
        if dimension in dimensions:
            return _in_unit(value, unit)
    if field is not None and field.type.form == "share":
        return amounts.percent_text(value)
    return _count(value)


def short_text(path: str, value: Any) -> str:
    """A derived number as a table has room for it: memory in powers of 1024, as cards have it, parameters rounded."""
    unit = FACTS[path].unit
    if not isinstance(value, Unknown):
        if unit == "bytes" and 1024 <= abs(value):
            return amounts.size_text(value, binary=path.startswith(("memory.", "stage.")))
        if unit == "parameters" and 10**6 <= value:
            return f"{amounts.parameters_text(value)} parameters"
    return value_text(path, value)


@lru_cache(1024)
def field_of(path: str) -> Field | None:
    """The field of the language that a plan's path names, or None if there is none."""
    section, field = "plan", None
    for name in path.split("."):
        field = next((known for known in SECTIONS.get(section, ()) if known.name == name), None)
        if field is None:
            return None
        section = field.type.of
    return field


def plain(value: Any) -> Any:
    """A value as JSON can hold it: exact fractions become floats, sections the word that they were made from."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Record):
        return value.word
    if isinstance(value, Amount):
        return amount_text(value)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Fraction):
        try:
            return float(value)
        except OverflowError:
            return amounts.number_text(value)
    if isinstance(value, int) and _LONGEST_INTEGER < value.bit_length():
        return amounts.number_text(value)
    return value


def stage_of(facts: Facts) -> int:
    """The stage of the pipeline for which numbers are shown that differ from stage to stage: the fullest one."""
    worst = facts["memory.worst_stage"]
    return 0 if isinstance(worst, Unknown) else int(worst)


def view_of(facts: Facts, path: str) -> Facts:
    """The facts that know a path: those of the fullest stage, where it differs from stage to stage."""
    if path not in STAGED:
        return facts
    stages, index = facts.stages, stage_of(facts)
    known = () if isinstance(stages, Unknown) else stages
    return next((stage for stage in known if stage[STAGE] == index), None) or facts.at_stage(index)


def given_of(facts: Facts, paths: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What a formula was given; of optional inputs those that are known. A name with `[]` has the values of stages."""
    for path in dict.fromkeys(paths):
        name = path.rstrip("?~")
        value = facts.given(path)
        if value is not None:
            yield name, value


def reason_text(unknown: Unknown) -> str:
    """Why a number is not known, as the command line knows it."""
    return "`--step-time` is not given" if STEP_TIME in unknown.missing[:1] else unknown.reason


class _Known(NamedTuple):
    """The facts of an engine, those of the fullest stage, and what was asked for so far: each is worded once."""

    facts: Facts
    view: Facts
    stage: int
    values: dict[str, Input]


def _known(facts: Facts) -> _Known:
    return _Known(facts, view_of(facts, STAGE), stage_of(facts), {})


def _numbers(path: str, every: list[_Known]) -> list[Number]:
    """The number for every engine; one for all of them where they agree, inputs included."""
    if len(every) == 1:  # one engine agrees with itself, which need not be looked at
        return [_number(path, every[0], ())]
    alike: dict[Any, list[_Known]] = {}
    for own in every:
        alike.setdefault(_comparable(own, path), []).append(own)
    if len(alike) == 1:
        return [_number(path, every[0], ())]
    return [_number(path, group[0], tuple(own.facts.engine.name for own in group)) for group in alike.values()]


def _number(path: str, known: _Known, names: tuple[str, ...]) -> Number:
    fact = FACTS[path]
    _, value, text = _value(known, path)
    inputs = tuple(_inputs(known, fact.inputs))
    stage = known.stage if path in STAGED else None
    unit = fact.unit
    missing: tuple[str, ...] = ()
    if isinstance(value, Unknown):
        text = reason_text(value)
        missing = tuple("--step-time" if name == STEP_TIME else name for name in value.missing)
    elif isinstance(value, Amount):
        unit, value = value.dimension[0][0], value.value
    return Number(path, names, unit, value, text, missing, *evidence_of(fact.formula.__doc__), inputs, stage)


@lru_cache(512)
def _split(paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Names of inputs, each once, and what stands behind them: `?` or `~` or nothing."""
    return tuple((path.rstrip("?~"), path[len(path.rstrip("?~")) :]) for path in dict.fromkeys(paths))


def _inputs(known: _Known, paths: tuple[str, ...]) -> Iterator[Input]:
    """What a formula was given; as `given_of`, but from what was asked for before."""
    for name, suffix in _split(paths):
        found = _value(known, name)
        if (
            suffix
            and isinstance(found.value, Unknown)
            and (suffix == "~" or found.value.unset or _is_absent(known, name))
        ):
            continue
        yield found


def _is_absent(known: _Known, name: str) -> bool:
    """Whether a name is that of a field which this variant of a section does not have."""
    return name not in FACTS and known.facts.plan.find(name) is None


def _value(known: _Known, name: str) -> Input:
    found = known.values.get(name)
    if found is None:
        facts = known.view if name in STAGED else known.facts
        value = facts.given(name) if name.endswith("[]") else facts[name]
        found = known.values[name] = Input(name, value, value_text(name, value))
    return found


def _comparable(known: _Known, path: str) -> tuple[Any, ...]:
    values = [_value(known, path).value, *(given.value for given in _inputs(known, FACTS[path].inputs))]
    return tuple(id(value) if isinstance(value, Record) else value for value in values)


def _fields(plan: Plan, known: _Known) -> list[tuple[Input, Located]]:
    """The fields that some formula reads and that are set, in the order in which they are read."""
    found = []
    for path in _FIELDS:
        located = plan.find(path)
        given = _value(known, path) if located is not None else None
        if located is not None and given is not None and not isinstance(given.value, Unknown):
            found.append((Input(path, plain(given.value), given.text), located))
    return found


def _read_fields() -> tuple[str, ...]:
    paths = dict.fromkeys(path.rstrip("?~[]") for fact in FACTS.values() for path in fact.inputs)
    return tuple(path for path in paths if path not in FACTS and path != STAGE and not path.startswith("engine."))


#: Fields that some formula reads, in the order in which they are read.
_FIELDS = _read_fields()


def _in_unit(value: Any, unit: str) -> str:
    if unit == "bytes":
        decimal = amounts.size_text(value)
        return decimal if abs(value) < 1024 else f"{decimal} ({amounts.size_text(value, binary=True)})"
    if unit == "bytes/s":
        return amounts.speed_text(value)
    if unit == "s":
        return amounts.time_text(value)
    if unit == "FLOP/s":
        return amounts.rate_text(value)
    if unit == "GPU s":
        return _grouped(amounts.gpu_time_text(value))
    if unit == "J":
        return _grouped(amounts.energy_text(value))
    if unit == "share":
        return _grouped(amounts.percent_text(value))
    if unit == "tokens" and _MANY <= value:
        return f"{amounts.parameters_text(value)} tokens"
    if unit in ("count", "word"):
        return _count(value)
    if unit == "tokens/s":
        return f"{_count(value)} {unit}"
    return f"{_count(value)} {unit.removesuffix('s') if value == 1 else unit}"


def _count(value: Any) -> str:
    """A count as the language writes it, in groups of three digits if it is long."""
    return _grouped(amounts.count_text(value))


def _grouped(text: str) -> str:
    """A text with the digits of its whole numbers in groups of three, from five of them on."""
    return _LONG.sub(lambda match: f"{int(match[0]):_}", text)


def needs_text(plan: Plan, missing: tuple[str, ...], most: int) -> str:
    """What would supply a number: fields that are not set, and fields that are, which would have to be others."""
    names = [name for name in missing if name != STEP_TIME]
    absent = [name for name in names if _is_absent_from(plan, name)]
    found = _listed("it needs", absent, most)
    return found + _listed("it is known for another", [name for name in names if name not in absent], most)


def _listed(verb: str, names: list[str], most: int) -> str:
    more = f" and {len(names) - most} more" if most < len(names) else ""
    return f"; {verb} {', '.join(f'`{name}`' for name in names[:most])}{more}" if names else ""


def _is_absent_from(plan: Plan, path: str) -> bool:
    """Whether a field has no value in the plan, or is none."""
    located = plan.find(path)
    return located is None or located.value is None or isinstance(located.value, Unknown)
