"""A resolved plan as a text of JSON, and the plan that such a text holds: what travels with a job without its sources.

A plan that is read again has every value, and knows which of them were written, so that the same facts and the same
files follow from it. It has no places, so nothing can be reported of it, and no policies, which judge a plan and change
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any

from planc.plan.model import Choice, Located, Origin, Plan, Record, Unknown
from planc.plan.units import Amount
from planc.source import Source, Span

#: The file of a compiled folder that holds such a text.
NAME = "planc.plan.json"

VERSION = 1  # of the form; a change of what stands there raises it

#: Fields of a plan that are no values: the targets stand beside them, and policies are left out.
_NO_VALUES = ("emit", "policies")


class Unreadable(Exception):
    """Why a text holds no plan."""


def text_of(plan: Plan) -> str:
    """The plan as a text, the same for the same plan; a field of it is a line."""
    document: dict[str, Any] = {
        "version": VERSION,
        "plan": plan.name,
        **_parts(plan),
        "targets": [{"name": choice.name, **_parts(choice.options)} for choice in plan.targets],
    }
    fields = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in document["fields"].items())
    parts = {name: json.dumps(value) for name, value in document.items()}
    parts |= {"fields": f"{{\n  {fields}\n}}", "sha256": json.dumps(_digest(document))}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {text}" for name, text in parts.items()) + "\n}\n"


def plan_in(text: str) -> Plan:
    """The plan in a text that `text_of` gave; Unreadable if it is none."""
    try:
        document = json.loads(text)
        if type(document["version"]) is not int or document["version"] != VERSION:
            raise Unreadable(f"it has another form than {VERSION}, the one that this planc knows")
        if document.pop("sha256") != _digest(document):
            raise Unreadable("it was edited; compile the plan again")
        nowhere = Span(Source(NAME, text), 0, 0)
        targets = tuple(
            Choice(each["name"], Record("target", each["name"], nowhere, _fields(each, nowhere)), nowhere)
            for each in document["targets"]
        )
        plan = Plan(document["plan"], nowhere, _fields(document, nowhere), targets=targets)
        is_whole = text_of(plan) == text
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        is_whole = False
    if not is_whole:
        raise Unreadable("it is not in the form that planc writes")
    return plan


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _parts(record: Record) -> dict[str, Any]:
    """The fields of a record in their order, and the names of those that are written."""
    names = [name for name in record if not (record.kind == "plan" and name in _NO_VALUES)]
    return {
        "fields": {name: _data(record.fields[name].value) for name in names},
        "written": [name for name in names if record.is_written(name)],
    }


def _fields(data: Mapping[str, Any], nowhere: Span) -> dict[str, Located]:
    written = {*data["written"]}
    return {
        name: Located(_value(item, nowhere), nowhere, Origin.WRITTEN if name in written else Origin.DEFAULTED, nowhere)
        for name, item in data["fields"].items()
    }


def _data(value: Any) -> Any:
    """A value as JSON has it; what is no JSON is an object with one key that says what it is."""
    if isinstance(value, Record):
        return {"kind": value.kind, "name": value.word, **_parts(value)}
    if isinstance(value, Unknown):
        return {"unknown": value.reason, "missing": list(value.missing), "unset": value.unset}
    if isinstance(value, Amount):
        return {"amount": _data(value.value), "dimension": [list(part) for part in value.dimension]}
    if isinstance(value, tuple):
        return [_data(item) for item in value]
    if isinstance(value, dict):
        return {"map": {key: _data(item) for key, item in value.items()}}
    if isinstance(value, Fraction):
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if type(value) is int and 64 < value.bit_length():
        return {"integer": hex(value)}  # Python refuses to write more than 4300 decimal digits
    return value


def _value(data: Any, nowhere: Span) -> Any:
    """The value of which `_data` gave the form."""
    if isinstance(data, list):
        return tuple(_value(item, nowhere) for item in data)
    if not isinstance(data, dict):
        return data
    if "kind" in data:
        return Record(data["kind"], data["name"], nowhere, _fields(data, nowhere))
    if "unknown" in data:
        return Unknown(data["unknown"], tuple(data["missing"]), data["unset"])
    if "amount" in data:
        return Amount(_value(data["amount"], nowhere), tuple((base, power) for base, power in data["dimension"]))
    if "map" in data:
        return {key: _value(item, nowhere) for key, item in data["map"].items()}
    if "fraction" in data:
        return Fraction(int(data["fraction"][0], 16), int(data["fraction"][1], 16))
    return int(data["integer"], 16)
