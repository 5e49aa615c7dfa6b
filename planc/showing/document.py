"""What `planc explain --output-format json` prints; `schemas/explain.schema.json` describes it."""

from __future__ import annotations

from typing import Any

from planc.explanation import Explanation, plain
from planc.facts.dominant import Dominant, sentence
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record, Unknown
from planc.plan.units import Amount
from planc.showing.limits import limits_of
from planc.showing.stages import stages_data


def plan_data(found: Explanation) -> dict[str, Any]:
    """One plan of the document."""
    return {
        "plan": found.plan.name,
        "file": found.plan.span.source.name,
        "line": found.plan.span.line,
        "column": found.plan.span.column,
        "engines": [{"name": engine.name, "convention": engine.convention} for engine in found.engines],
        "resolved": _resolved(found.plan),
        "stages": [{"engine": facts.engine.name, **stages_data(facts)} for facts in found.facts],
        "limits": [_limit(facts, limit) for facts, limit in zip(found.facts, limits_of(found.facts), strict=True)],
        "fields": [
            {
                "path": field.path,
                "value": field.value,
                "text": field.text,
                "origin": located.origin.value,
                "file": located.span.source.name,
                "line": located.span.line,
                "column": located.span.column,
            }
            for field, located in found.fields
        ],
        "numbers": [
            {
                "path": number.path,
                "engines": list(number.engines) or [engine.name for engine in found.engines],
                "stage": number.stage,
                "unit": number.unit,
                "known": not isinstance(number.value, Unknown),
                "value": plain(number.value),
                "text": number.text,
                "missing": list(number.missing),
                "meaning": number.meaning,
                "formula": number.formula,
                "source": number.source,
                "assumes": number.assumes,
                "where": list(number.where),
                "inputs": [
                    {"path": given.path, "value": plain(given.value), "text": given.text} for given in number.inputs
                ],
            }
            for number in found.numbers
        ],
    }


def _limit(facts: Facts, found: Dominant | Unknown) -> dict[str, Any]:
    """What limits a step as an engine takes it, and the change that would help most."""
    if isinstance(found, Unknown):
        return {"engine": facts.engine.name, "limit": None, "above_ideal": None, "change": None, "text": found.reason}
    change = found.change and {"text": found.change.text.replace("`", ""), "saving": plain(found.change.saving)}
    shown = {"limit": found.limit, "above_ideal": plain(found.above_ideal), "change": change, "text": sentence(found)}
    return {"engine": facts.engine.name, **shown}


def _resolved(plan: Plan) -> dict[str, Any]:
    """Every field of the plan that has a value, and what it emits."""
    fields = _fields(plan)
    fields.pop("emit", None)
    emitted = [{"target": choice.name, "options": _fields(choice.options)} for choice in plan.targets]
    return {"fields": fields, "emit": emitted}


def _fields(record: Record) -> dict[str, Any]:
    values = ((name, located.value) for name, located in record.fields.items())
    return {name: _value(value) for name, value in values if not isinstance(value, Unknown)}


def _value(value: Any) -> Any:
    """A value as JSON holds it; a section or block has its word or name beside its fields."""
    if isinstance(value, Record):
        return {"name": value.word, "fields": _fields(value)}
    if isinstance(value, dict):
        return {name: _value(item) for name, item in value.items()}
    if isinstance(value, tuple) and not isinstance(value, Amount):
        return [_value(item) for item in value]
    return plain(value)
