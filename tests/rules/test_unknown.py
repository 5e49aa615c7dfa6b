"""Whatever field of a plan is unknown or not set, no rule raises, and an unknown field gives no rule more to say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record, Unknown
from planc.rules import all_rules
from tests.analysis import analysis_of_file
from tests.rules.test_rules import ERR, FOLDER

RULES = all_rules()
FAULTY = Unknown("it is faulty")

#: One failing case for each rule that judges plans.
CASES = sorted({name.partition("/")[0]: name for name in reversed(ERR)}.values())


#: Sections of a plan of which no rule or fact reads a field.
UNREAD = {
    "evidence", "log", "recompute",
}  # fmt: skip


def paths(record: Record, prefix: str = "") -> Iterator[str]:
    """Every field of a plan that a rule or fact may read, sections included."""
    for name in record:
        path = f"{prefix}{name}"
        if path not in UNREAD:
            yield path
            value = record.fields[name].value
            if isinstance(value, Record):
                yield from paths(value, f"{path}.")


def replaced(plan: Plan, path: str, value: object) -> Plan:
    """The plan with the value of one field replaced."""
    fields = _replaced(plan.fields, path.split("."), value)
    return Plan(plan.name, plan.span, fields, subject=plan.subject, policies=plan.policies, targets=plan.targets)


def _replaced(fields, names, value):
    located = fields[names[0]]
    if 1 < len(names):
        inner = located.value
        value = Record(inner.kind, inner.word, inner.span, _replaced(inner.fields, names[1:], value))
    return {**fields, names[0]: located._replace(value=value)}


def reported(plan: Plan) -> set[str]:
    """Codes of the rules that speak about a plan."""
    found = set()
    for engine in engines(plan):
        facts = Facts(plan, engine)
        for rule in RULES:
            if not facts.unknown(rule.needs):
                found |= {rule.code for _ in rule.check(plan, facts)}
    return found


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("value", [FAULTY, None], ids=["faulty", "not-set"])
def test_one_field_less(name: str, value: object) -> None:
    for plan in analysis_of_file(FOLDER / name).plans:
        before = reported(plan)
        for path in paths(plan):
            found = reported(replaced(plan, path, value))
            if value is FAULTY:
                assert found <= before, f"without `{path}` there is {found - before} to say"


@pytest.mark.parametrize("name", CASES)
def test_two_fields_less(name: str) -> None:
    for plan in analysis_of_file(FOLDER / name).plans:
        for first in ("parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.data", "cluster.nodes"):
            for second in ("model", "batch.micro", "batch.global", "cluster.gpu", "shard.stage", "pipeline"):
                reported(replaced(replaced(plan, first, FAULTY), second, FAULTY))
