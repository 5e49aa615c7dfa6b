"""A policy's rule that a plan breaks, as a diagnostic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import UNREASONED, Diagnostic, Label
from planc.facts.engine import Engine, engines
from planc.facts.fact import path_of
from planc.facts.facts import FACTS, Facts
from planc.plan.model import Part, Plan, PolicyRule
from planc.rules._places import related, stands
from planc.rules._values import filled, value_text
from planc.source import Span

_SHOWN = 3  # values that the label shows
_LONGEST = 60, 9  # characters and words of a condition that is quoted whole; of a longer one, the part that decides


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


def lacking(rule: PolicyRule, facts: Facts) -> tuple[str, ...]:
    """The fields that would let a rule speak that can neither be broken nor kept; empty if it can."""
    breaking = rule.verb != "require"
    guard = rule.guard is None or rule.guard(facts.__getitem__)
    outcome = rule.condition(facts.__getitem__)
    if guard is False or outcome is (not breaking) or (guard is True and outcome is breaking):
        return ()
    fields = dict.fromkeys(field for path, why in facts.unknown(rule.paths) for field in why.missing or (path,))
    return tuple(fields) or rule.paths  # a value of another kind lets nothing be compared either


def _diagnostic(plan: Plan, facts: Facts, rule: PolicyRule) -> Diagnostic:
    deciding = [part for part in rule.parts() if part.condition(facts.__getitem__) is (rule.verb != "require")]
    paths = tuple(dict.fromkeys((*(path for part in deciding for path in part.paths), *rule.paths)))
    values = [f"`{path}` is {value_text(path, facts[path])}" for path in paths]
    span = _place(plan, (*paths, *_fields(paths), "policies"))
    reason = filled(rule.because, facts.__getitem__) if rule.because else ""
    verb = {"require": "requires", "forbid": "forbids", "warn": "warns of"}[rule.verb]
    return Diagnostic(
        f"policy `{rule.name}` {verb} {_condition(rule, deciding)}",
        Label(span, ", ".join(values[:_SHOWN])),
        (
            *related(plan, span, *((path, "") for path in paths)),
            Label(rule.span, reason or UNREASONED),
        ),
        notes=(", ".join(values[_SHOWN:]),) if _SHOWN < len(values) else (),
    )


def _condition(rule: PolicyRule, deciding: list[Part]) -> str:
    """The condition of a rule as a message quotes it: the first part that decides where the whole is too long."""
    is_named = rule.name.rpartition(".")[2][:1].isalpha() and "." in rule.name
    place = "" if is_named else f" in its line {rule.span.line}"  # two have to differ
    for text, behind in ((rule.text, ""), *((part.text, place) for part in deciding)):
        in_a_line = " ".join(text.split())
        num_words = len(in_a_line.split()) + len(behind.split())
        if len(in_a_line) <= _LONGEST[0] and num_words <= _LONGEST[1] and "#" not in text:
            return f"`{in_a_line}`{behind}"
    return "its condition" if is_named else f"the condition{place}"


def _place(plan: Plan, paths: tuple[str, ...]) -> Span:
    """The entry of the first of these fields that is written, be it as `none`: in the plan's own file, else in any."""
    entries = [plan[path].entry for path in paths if stands(plan, path) or _says_none(plan, path)]
    own = [entry for entry in entries if entry.source is plan.span.source]
    return next(iter(own or entries), plan.span)


def _says_none(plan: Plan, path: str) -> bool:
    """Whether a field, or the section that it is in, is written as `none`."""
    located = plan.find(path)
    written = re.fullmatch(r"([\w-]+)\s*=\s*none", located.entry.text) if located is not None else None
    return written is not None and written[1] in path.split(".")


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
