"""The whole pipeline on one screen: sources to plans and diagnostics, a plan to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan import faults
from planc.plan.candidates import Choices
from planc.plan.house import House
from planc.plan.model import Choice, Located, Plan, Record, Unknown
from planc.plan.overrides import NAME as SETTINGS
from planc.plan.resolve import resolve
from planc.plan.scope import Load, Made
from planc.rules import all_rules
from planc.rules._policies import lacking
from planc.rules.rule import Rule
from planc.source import Source, Span
from planc.targets import known_targets, load_target
from planc.targets.target import EmittedFile

#: The rules that speak for a policy's: the last related place is the rule that the policy has.
_OF_POLICIES = ("PLN090", "PLN091")


class Skipped(NamedTuple):
    """A rule that stayed silent about a plan, and the fields that would let it speak; of a policy by its name there."""

    code: str
    name: str
    plan: str
    missing: tuple[str, ...]


class Analysis(NamedTuple):
    """The plans of the given sources, and everything that planc has to say about their text, meaning and layout."""

    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]


def analyse(
    sources: tuple[Source, ...],
    load: Load,
    settings: tuple[str, ...] = (),
    made: Made | None = None,
    house: House | None = None,
) -> Analysis:
    """The plans that the sources declare, and every fault, in the order of the files and places.

    `load` supplies the files that a file uses: a Source, or the reason why it cannot be had.
    `settings` are `path=value` texts that the command line sets in every plan.
    `made` holds the files that were read before, for a caller that analyses many files one by one with one `load`.
    `house` is what holds for every plan without being written in it.
    """
    plans, parts, choices, found = resolve(sources, load, known_targets(), settings, made, house)
    diagnostics = list(found)
    skipped: list[Skipped] = []
    rules = all_rules()
    for plan in (*parts, *plans):
        diagnostics.extend(_judged(plan, rules, skipped, _every(plan)))
    for choice, reports in choices:
        diagnostics.extend(_whatever_is_chosen(choice, rules, reports))
    if settings:
        diagnostics = [_without_edits_of_settings(diagnostic) for diagnostic in diagnostics]
    return Analysis(plans, in_order(diagnostics), tuple(dict.fromkeys(skipped)))


def judge(plan: Plan) -> tuple[Diagnostic, ...]:
    """What the rules and the emitted targets say of one plan."""
    return tuple(_judged(plan, all_rules(), [], _every(plan)))


def silent_policies(plan: Plan) -> Iterator[Skipped]:
    """The rules of policies that could not judge a plan."""
    for facts in _every(plan):
        for rule in plan.policies:
            missing = lacking(rule, facts)
            if missing:
                yield Skipped(_OF_POLICIES[rule.verb == "warn"], rule.name, plan.name, missing)


def errors_of(plan: Plan, every: tuple[Facts, ...]) -> Iterator[Diagnostic]:
    """The errors of one plan, of which the facts under each engine are known already."""
    errors = tuple(rule for rule in all_rules() if rule.severity is Severity.ERROR)
    for found in _judged(plan, errors, [], every):
        if found.severity is Severity.ERROR:
            yield found


def unknown_fields(record: Record, prefix: str = "") -> Iterator[tuple[str, Located]]:
    """The fields of a plan that should have a value and have none."""
    for name, located in record.fields.items():
        if isinstance(located.value, Record):
            yield from unknown_fields(located.value, f"{prefix}{name}.")
        elif isinstance(located.value, Unknown) and not located.value.unset:
            yield f"{prefix}{name}", located


def _without_edits_of_settings(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with the fixes of files alone: a value of the command line stands in none."""
    fixes = (fix for fix in diagnostic.fixes if all(edit.span.source.name != SETTINGS for edit in fix.edits))
    return diagnostic._replace(fixes=tuple(fixes))


def _every(plan: Plan) -> tuple[Facts, ...]:
    """The facts of a plan for each engine that trains it."""
    return tuple(Facts(plan, engine) for engine in engines(plan))


def _judged(
    plan: Plan, rules: tuple[Rule, ...], skipped: list[Skipped], every: tuple[Facts, ...]
) -> Iterator[Diagnostic]:
    """What the rules and the emitted targets say of a plan, for each engine that trains it."""
    yield from by_rules(plan, rules, skipped, every)
    for choice in plan.targets:
        yield from load_target(choice.name).check(plan, every[0])


def by_rules(
    plan: Plan, rules: tuple[Rule, ...], skipped: list[Skipped], every: tuple[Facts, ...]
) -> Iterator[Diagnostic]:
    """What the rules say of a plan, for each engine that trains it; those that lack a number are added to `skipped`."""
    for number, facts in enumerate(every):
        if number:
            facts.learn(every[0])
        for rule in rules:
            if plan.subject not in ("plan", rule.subject):
                continue
            missing = facts.unknown(rule.needs)
            if not missing:
                yield from _stamped(rule, rule.check(plan, facts))
            elif plan.subject == "plan":
                fields = dict.fromkeys(field for path, why in missing for field in why.missing or (path,))
                skipped.append(Skipped(rule.code, rule.name, plan.name, tuple(fields)))


def _whatever_is_chosen(
    choice: Choices, rules: tuple[Rule, ...], reports: tuple[tuple[Diagnostic, ...], ...]
) -> Iterator[Diagnostic]:
    """What holds for every candidate of open fields; and where each has an error of its own, that none is left."""
    # A candidate that is no value of its field has been reported where it stands, and is left out.
    kept = [
        (plan, text) for plan, text, report in zip(choice.plans, choice.written, reports, strict=True) if not report
    ]
    if not kept:
        return
    judged = [tuple(_judged(plan, rules, [], _every(plan))) for plan, _ in kept]
    written = [text for _, text in kept]
    paths = " and ".join(f"`{field.path}`" for field in choice.fields)
    places = [set(map(_alike, each)) for each in judged]
    common = set.intersection(*places)
    for found in judged[0]:
        if _alike(found) in common:
            note = f"the same whatever {paths} is chosen; shown for {written[0]}"
            yield found._replace(notes=(*found.notes, note), fixes=())  # they mend this choice, perhaps no other
    errors = [[found for found in each if found.severity is Severity.ERROR] for each in judged]
    if all(errors) and not any(_alike(found) in common for found in errors[0]):
        shown = [f"{text}: {each[0].message} ({each[0].code})" for text, each in zip(written, errors, strict=True)]
        more = (f"and {len(shown) - 8} more",) if 8 < len(shown) else ()
        message = f"no candidate of {paths} is free of errors"
        yield faults.NO_CANDIDATE.at(choice.fields[0].span, message, "each one fails", notes=(*shown[:8], *more))


def _alike(found: Diagnostic) -> tuple[str, Span, Span | None]:
    """What two candidates have in common that report the same, with other numbers; of policies, the same rule."""
    rule = found.related[-1].span if found.code in _OF_POLICIES and found.related else None
    return found.code, found.primary.span, rule


def open_fields(plan: Plan) -> Iterator[Diagnostic]:
    """A fault for each field that `compile` would have to choose, or that has no value for any other reason."""
    left = {field.path for field in plan.open}
    for path, located in unknown_fields(plan):
        if not left:  # what follows from an open field is open with it
            message = f"`{path}` has no value"
            yield faults.OPEN_FIELD.at(located.entry, message, located.value.reason, help=("write the value",))
    for field in plan.open:
        help = (f"write the value, or compile with `--set {field.path}=...`",)
        yield faults.OPEN_FIELD.at(field.span, f"`{field.path}` is left open", "a file holds one value", help=help)


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
