"""What `planc explain --output-format json` prints; `schemas/explain.schema.json` describes it."""

from __future__ import annotations

from typing import Any

from planc.explanation import Explanation, plain
from planc.plan.model import Unknown


def plan_data(found: Explanation) -> dict[str, Any]:
    """One plan of the document."""
    return {
        "plan": found.plan.name,
        "file": found.plan.span.source.name,
        "line": found.plan.span.line,
        "column": found.plan.span.column,
        "engines": [{"name": engine.name, "convention": engine.convention} for engine in found.engines],
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
                "inputs": [
                    {"path": given.path, "value": plain(given.value), "text": given.text} for given in number.inputs
                ],
            }
            for number in found.numbers
        ],
    }
