"""Two states of plans beside each other as data."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.explanation import plain
from planc.facts.engine import engines
from planc.plan.model import Plan
from planc.plan.units import Amount
from planc.showing.changes import Change, Found, Side, change_text
from planc.showing.comparison import Comparison


def comparison_data(compared: Comparison) -> dict[str, Any]:
    """The comparison as `schemas/diff.schema.json` describes it."""
    return {
        "old": compared.old,
        "new": compared.new,
        "differs": bool(compared),
        "plans": [
            {
                "old": _plan_data(changes.old),
                "new": _plan_data(changes.new),
                "differs": bool(changes),
                "fields": [_change_data(change) for change in changes.stated],
                "followed": [_change_data(change) for change in changes.followed],
                "numbers": [_change_data(change) for change in changes.numbers],
                "diagnostics": _found_data(changes.found),
            }
            for changes in compared.plans
        ],
        "gone": [_plan_data(plan) for plan in compared.gone],
        "added": [_plan_data(plan) for plan in compared.added],
        "diagnostics": _found_data(compared.found),
    }


def _plan_data(plan: Plan) -> dict[str, Any]:
    return {"plan": plan.name, "engines": [engine.name for engine in engines(plan)], **_place(plan.span)}


def _place(span: Any) -> dict[str, Any]:
    return {"file": span.source.name, "line": span.line, "column": span.column}


def _change_data(change: Change) -> dict[str, Any]:
    kind = {"+": "added", "-": "gone", "~": "changed"}[change.mark]
    sides = {"old": _side_data(change.old, change.unit), "new": _side_data(change.new, change.unit)}
    return {"path": change.path, "kind": kind, "unit": change.unit, "engine": change.engine, **sides} | {
        "difference": change_text(change)
    }


def _side_data(side: Side, unit: str) -> dict[str, Any] | None:
    """A side; money is a number beside its unit, the currency, as everywhere."""
    if not side.text:
        return None
    value = side.value.value if unit and isinstance(side.value, Amount) else side.value
    data = {"known": side.known, "value": plain(value), "text": side.text}
    if side.at is not None:
        data |= {"origin": side.at.origin.value, **_place(side.at.span)}
    return data


def _found_data(found: Found) -> dict[str, Any]:
    return {
        "came": [_diagnostic_data(each) for each in found.came],
        "went": [_diagnostic_data(each) for each in found.went],
        "kept": found.num_kept,
    }


def _diagnostic_data(diagnostic: Diagnostic) -> dict[str, Any]:
    named = {"code": diagnostic.code, "name": diagnostic.name, "severity": diagnostic.severity.value}
    return {**named, "message": diagnostic.message, **_place(diagnostic.primary.span)}
