"""A policy's rule that a plan breaks, as a diagnostic."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.facts.engine import Engine, engines
from planc.facts.fact import path_of
from planc.facts.facts import FACTS, Facts
from planc.plan.model import Plan, PolicyRule
from planc.rules._places import place, related
from planc.rules._values import filled, value_text

_SHOWN = 3  # values that the label shows
_LONGEST = 40  # of a condition that the message quotes; a longer one stands in the related label


def broken(plan: Plan, facts: Facts, verbs: tuple[str, ...]) -> Iterator[Diagnostic]:
    """The rules of these verbs that the plan breaks under this engine and under none before it.

    What several engines break is one fault, reported for the first.
    """
    earlier: list[Engine] = []
    for engine in engines(plan):
        if engine == facts.engine:
            break
        earlier.append(engine)
    for rule in plan.policies:
        new = not any(breaks(rule, Facts(plan, engine)) for engine in earlier)
        if rule.verb in verbs and breaks(rule, facts) and new:
            yield _diagnostic(plan, facts, rule)


def breaks(rule: PolicyRule, facts: Facts) -> bool:
    """Whether the numbers break a rule; what cannot be judged breaks nothing."""
    if rule.guard is not None and rule.guard(facts.__getitem__) is not True:
        return False
    return rule.condition(facts.__getitem__) is (rule.verb != "require")


def _diagnostic(plan: Plan, facts: Facts, rule: PolicyRule) -> Diagnostic:
    values = [f"`{path}` is {value_text(path, facts[path])}" for path in rule.paths]
    span = place(plan, *rule.paths, *_fields(rule.paths), "policies")
    reason = filled(rule.because, facts.__getitem__) if rule.because else ""
    condition = rule.text
    if _LONGEST < len(rule.text) or "\n" in rule.text:  # what two rules say at one place has to differ
        is_named = rule.name.rpartition(".")[2][:1].isalpha() and "." in rule.name
        condition = "its condition" if is_named else f"the condition in its line {rule.span.line}"
    verb = {"require": "requires", "forbid": "forbids", "warn": "warns of"}[rule.verb]
    quoted = f"`{condition}`" if condition == rule.text else condition
    return Diagnostic(
        f"policy `{rule.name}` {verb} {quoted}",
        Label(span, ", ".join(values[:_SHOWN])),
        (
            *related(plan, span, *((path, "") for path in rule.paths)),
            Label(rule.span, reason or "the rule of the policy"),
        ),
    )


def _fields(paths: tuple[str, ...]) -> list[str]:
    """The fields from which derived numbers follow: those of their own sections first, then the plan's sizes."""
    found: list[str] = []
    seen, todo = set(paths), list(paths)
    while todo:
        fact = FACTS.get(todo.pop(0))
        for name in map(path_of, fact.inputs if fact is not None else ()):
            if name not in seen:
                seen.add(name)
                (todo if name in FACTS else found).append(name)
    own = tuple(f"{path.partition('.')[0]}." for path in paths)
    order = (own, ("parallel.",), ("shard.",), ("batch.",), ("pipeline",), ("precision",), ("optimizer",))
    return sorted(
        found, key=lambda name: next((at for at, start in enumerate(order) if name.startswith(start)), len(order))
    )
