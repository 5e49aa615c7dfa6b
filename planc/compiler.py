"""The whole pipeline on one screen: sources to plans and diagnostics, a plan to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Choice, Plan
from planc.plan.resolve import resolve
from planc.plan.schema import Field
from planc.plan.scope import Load
from planc.rules import all_rules
from planc.rules.rule import Rule
from planc.source import Source
from planc.targets import load_target, target_names
from planc.targets.target import EmittedFile


class Skipped(NamedTuple):
    """A rule that stayed silent about a plan, and the fields that would let it speak."""

    code: str
    name: str
    plan: str
    missing: tuple[str, ...]


class Analysis(NamedTuple):
    """The plans of the given sources, and everything that planc has to say about their text, meaning and layout."""

    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]


def analyse(sources: tuple[Source, ...], load: Load) -> Analysis:
    """The plans that the sources declare, and every fault, in the order of the files and places.

    `load` supplies the files that a file uses: a Source, or the reason why it cannot be had.
    """
    names = target_names()

    def options(name: str) -> tuple[Field, ...] | None:
        return load_target(name).options if name in names else None

    plans, parts, found = resolve(sources, load, names, options)
    diagnostics, skipped = list(found), []
    rules = all_rules()
    for plan in (*parts, *plans):
        for engine in engines(plan):
            facts = Facts(plan, engine)
            for rule in rules:
                if plan.subject not in ("plan", rule.subject):
                    continue
                missing = facts.unknown(rule.needs)
                if missing:
                    if plan.subject == "plan":
                        fields = dict.fromkeys(field for path, why in missing for field in why.missing or (path,))
                        skipped.append(Skipped(rule.code, rule.name, plan.name, tuple(fields)))
                    continue
                diagnostics.extend(_stamped(rule, rule.check(plan, facts)))
        for choice in plan.targets:
            if choice.name in names:
                diagnostics.extend(load_target(choice.name).check(plan, plan_facts(plan)))
    return Analysis(plans, in_order(diagnostics), tuple(dict.fromkeys(skipped)))


def _stamped(rule: Rule, found: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in found:
        yield diagnostic._replace(code=rule.code, name=rule.name, severity=rule.severity)


def plan_facts(plan: Plan) -> Facts:
    """The facts of a plan for the first engine that trains it."""
    return Facts(plan, engines(plan)[0])


def emit(plan: Plan, chosen: Callable[[Choice], bool] = lambda choice: True) -> tuple[EmittedFile, ...]:
    """The files of the plan's chosen targets, in the order in which it emits them. Only for a plan without an error."""
    facts = plan_facts(plan)
    return tuple(
        file for choice in plan.targets if chosen(choice) for file in load_target(choice.name).emit(plan, facts)
    )
