"""A plan with other values of some fields, for a question that starts with "what if": nothing is worked out anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planc.plan.model import Located, Origin, Plan, Record
from planc.source import Span


def with_values(plan: Plan, values: Mapping[str, Any]) -> Plan:
    """The plan with these values of fields, by path; a section is given another word and keeps its fields.

    Each stands where the field stood, or the plan does. Fields below a section that is not there stay away.
    """
    fields: Mapping[str, Located] = plan.fields
    for path, value in values.items():
        fields = _with(fields, path, value, plan.span)
    return Plan(
        plan.name,
        plan.span,
        fields,
        subject=plan.subject,
        policies=plan.policies,
        targets=plan.targets,
        left_open=plan.open,
    )


def _with(fields: Mapping[str, Located], path: str, value: Any, span: Span) -> Mapping[str, Located]:
    first, _, rest = path.partition(".")
    located = fields.get(first, Located(None, span, Origin.OVERRIDDEN, span))
    old = located.value
    if rest:
        if not isinstance(old, Record):
            return fields
        new: Any = Record(old.kind, old.word, old.span, _with(old.fields, rest, value, span))
    elif isinstance(old, Record):
        new = Record(old.kind, value, old.span, old.fields)
    else:
        return {**fields, first: located._replace(value=value, origin=Origin.OVERRIDDEN)}
    return {**fields, first: located._replace(value=new)}
