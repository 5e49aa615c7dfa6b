"""How a plan states its batch: which of its numbers are written, and which are left to follow."""

from __future__ import annotations

from planc.facts.facts import Facts
from planc.plan.model import Origin, Plan
from planc.rules._numbers import in_the_manner_of, known
from planc.rules._places import stands


def written(plan: Plan, path: str) -> bool:
    """Whether a field holds a number that someone wrote."""
    return plan.is_written(path) and known(plan.value(path))


def follows(plan: Plan, path: str) -> bool:
    """Whether a field is left to follow from the others, by `auto` or by not being written."""
    return plan[path].origin is Origin.SOLVED


def global_text(plan: Plan, facts: Facts, samples: int) -> str:
    """A global batch as the plan would write its value: in tokens where it is written in tokens."""
    located = plan["batch.global"]
    text = located.span.text if stands(plan, "batch.global") else ""
    length = facts["batch.sequence_length"]
    amount = samples * length if "tokens" in text and known(length) else samples
    return in_the_manner_of(text, amount)
