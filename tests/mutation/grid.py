"""The grid: every field of a plan, one at a time, set to 0, to -1, to an odd number, to its double and half, to each of
its words, and left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.plan.model import Plan, Record
from planc.plan.schema import SECTIONS, Field, Type
from planc.plan.units import BANDWIDTH, BYTES, EPOCHS, POWER, RATE, SAMPLES, STEPS, TIME, TOKENS, Amount
from tests.mutation.plans import Clean, Fields

#: Values of fields that a plan does not write and that have no whole number by default.
_AMOUNTS = {
    BYTES: "64 GiB", BANDWIDTH: "50 GB/s", TIME: "10 min", STEPS: "100 steps", TOKENS: "1000000 tokens",
    SAMPLES: "1000 samples", RATE: "100 TFLOPS", POWER: "700 W", EPOCHS: "2 epochs",
}  # fmt: skip
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(\s.*)?")

#: Fields that name other blocks or targets, or say nothing of a run: no value of the grid means anything there.
_LEFT_OUT = frozenset((
    "cluster.gpu", "cluster.groups", "model", "cluster", "policies", "emit", "versions", "resume.saved_by",
    "calibration",
))  # fmt: skip


class Mutant(NamedTuple):
    """A clean plan with one change: the kind of the change, the field, its value (None: left out), and all fields."""

    clean: Clean
    kind: str
    path: str
    value: str | None
    fields: Fields

    @property
    def name(self) -> str:
        """What was changed in which plan."""
        change = f"without {self.path}" if self.value is None else f"{self.path} = {self.value}"
        return f"{self.clean.trainer} {self.clean.name}: {change}"


def mutants(clean: Clean, plan: Plan) -> Iterator[Mutant]:
    """Every mutant of a clean plan, each text once; `plan` is what it resolves to."""
    seen = {tuple(clean.fields.items())}
    for path, field in _fields(clean):
        for kind, value in _values(clean, path, field, plan):
            fields = _changed(clean.fields, path, field, value)
            key = tuple(fields.items())
            if key not in seen:
                seen.add(key)
                yield Mutant(clean, kind, path, value, fields)


def _fields(clean: Clean) -> Iterator[tuple[str, Field]]:
    for block in ("gpu", "cluster", "model", "plan"):
        yield from _fields_of(clean, block, "" if block == "plan" else f"{block}.")


def _fields_of(clean: Clean, section: str, prefix: str) -> Iterator[tuple[str, Field]]:
    """The fields that a section may have in this plan, with those of the sections in it."""
    word = clean.fields.get(prefix.rstrip("."))
    for field in SECTIONS[section]:
        path = f"{prefix}{field.name}"
        if path in _LEFT_OUT or (field.only and word not in field.only):
            continue
        if field.type.form not in ("record", "target"):
            yield path, field
        if field.type.form in ("record", "variant") and _is_usable(clean, path, field.type.of):
            yield from _fields_of(clean, field.type.of, f"{path}.")


def _is_usable(clean: Clean, path: str, section: str) -> bool:
    """Whether a single field may be written in a section: it is there, or nothing in it is required."""
    if any(written.startswith(f"{path}.") for written in clean.fields):
        return True
    return not any(field.required and not field.only for field in SECTIONS[section])


def _values(clean: Clean, path: str, field: Field, plan: Plan) -> Iterator[tuple[str, str | None]]:
    kind, written = field.type, clean.fields.get(path)
    if kind.form in ("word", "variant") or kind.words:
        yield from (("word", word) for word in kind.words)
    if kind.form == "flag" or kind.flag:
        yield from (("word", "true"), ("word", "false"))
    if kind.form in ("text", "version"):
        yield "empty", '""'
    if kind.form == "list":
        yield "empty", "[]"
    if kind.form == "map":
        yield "empty", "{ }"
    if kind.form in ("count", "number", "share", "quantity", "money"):
        yield from _numbers(written or _unwritten(path, kind, plan))
    if written is not None:
        yield "absent", None


def _numbers(base: str) -> Iterator[tuple[str, str]]:
    match = _NUMBER.fullmatch(base)
    assert match is not None, base
    number, unit = float(match[1]), match[2] or ""
    yield "0", f"0{unit}"
    yield "-1", f"-1{unit}"
    if number.is_integer():
        yield "odd", f"{int(number) + (1 if number % 2 == 0 else 2)}{unit}"
    yield "double", f"{_spelled(number * 2)}{unit}"
    yield "half", f"{_spelled(number / 2)}{unit}"


def _spelled(number: float) -> str:
    return str(int(number)) if number.is_integer() else f"{number:.12f}".rstrip("0")


def _unwritten(path: str, kind: Type, plan: Plan) -> str:
    """A number for a field that the plan does not write: what it stands at, where that is a whole number."""
    known = plan.find(path)
    value = known.value if known is not None else None
    if kind.form == "money":
        return f"2 USD/{kind.of}"
    if kind.form == "quantity" and kind.dimensions[0] in _AMOUNTS:
        return _AMOUNTS[kind.dimensions[0]]
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value:
        return str(value)
    return "0.5" if kind.form == "share" else "2"


def _changed(fields: Fields, path: str, field: Field, value: str | None) -> Fields:
    """The fields after the change. Where a section has become another one, it keeps the fields that that one has."""
    inner = {inside.name: inside for inside in SECTIONS.get(field.type.of, ())} if field.type.form == "variant" else {}
    found = {}
    for name, written in fields.items():
        own = inner.get(name.removeprefix(f"{path}.").partition(".")[0]) if name.startswith(f"{path}.") else None
        if name == path:
            if value is not None:
                found[name] = value
        elif own is None or (value is not None and (not own.only or value in own.only)):
            found[name] = written
    if value is not None:
        found.setdefault(path, value)
    return found


def raw(mutant: Mutant, clean: Plan) -> Any:
    """The value that the change stands for in the files of the clean plan, in base units; None if it is no number.

    Where the language refuses a value, this is what somebody who writes the consumer's own files would have written.
    """
    match = re.match(r"-?\d+(?:\.\d+)?", mutant.value or "")
    if match is None:
        return {"true": True, "false": False}.get(mutant.value or "")
    number = float(match[0])
    known = clean.find(mutant.path)
    before = known.value if known is not None else None
    written = _NUMBER.match(mutant.clean.fields.get(mutant.path, ""))
    if isinstance(before, Amount):
        unit = float(before.value) / float(written[1]) if written else 1.0
        return before._replace(value=_whole(number * unit))
    if written and isinstance(before, (int, float)) and not isinstance(before, (bool, Record)) and float(written[1]):
        return _whole(number * float(before) / float(written[1]))
    return _whole(number)


def _whole(number: float) -> Any:
    return int(number) if number.is_integer() else number


def with_value(record: Record, path: str, value: Any) -> Record:
    """The record with another value at a path, everything else as it was."""
    first, _, rest = path.partition(".")
    located = record.fields.get(first)
    if located is None:
        return record
    if rest:
        if not isinstance(located.value, Record):
            return record
        value = with_value(located.value, rest, value)
    elif isinstance(located.value, Record) and not isinstance(value, Record):
        return record  # a section stands for another one only as a whole
    return _with_fields(record, {**record.fields, first: located._replace(value=value)})


def _with_fields(record: Record, fields: Any) -> Record:
    if isinstance(record, Plan):
        return Plan(
            record.name, record.span, fields, subject=record.subject, policies=record.policies,
            targets=record.targets, left_open=record.open,
        )  # fmt: skip
    return Record(record.kind, record.word, record.span, fields)
