"""What limits a plan under each of its engines, with the change that would help most and that no rule forbids."""

from __future__ import annotations

from planc.compiler import errors_of
from planc.facts.dominant import Dominant, Fields, dominants
from planc.facts.engine import Engine, engines
from planc.facts.facts import Facts
from planc.plan.changing import with_values
from planc.plan.model import Plan, Unknown
from planc.targets import load_target


def limits_of(every: tuple[Facts, ...]) -> tuple[Dominant | Unknown, ...]:
    """What limits the plan of which these are the facts, under each engine."""
    plan = every[0].plan
    trainers = _trainers(plan)
    known: list[set[str]] = []  # codes of the plan's own errors, looked for once a change has one

    def is_allowed(fields: Fields, changed: tuple[Facts, ...]) -> bool:
        """Whether a change leaves the trainers as they are and adds no error."""
        other = with_values(plan, fields)
        if _trainers(other) != trainers:
            return False
        errors = {found.code for found in errors_of(other, changed)}
        if errors and not known:
            known.append({found.code for found in errors_of(plan, every)})
        return not errors or errors <= known[0]

    return dominants(every, is_allowed)


def _trainers(plan: Plan) -> tuple[tuple[Engine, ...], tuple[tuple[str, ...], ...]]:
    """The engines that train a plan, and for which of them each target writes files."""
    written = (load_target(choice.name) for choice in plan.targets)
    return engines(plan), tuple(target.variants(plan) for target in written)
