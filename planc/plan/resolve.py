"""Tree to plan: the only road. References are followed, defaults filled, quantities brought to base units."""

from __future__ import annotations

from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.candidates import Choices, choices_of, open_slots
from planc.plan.emission import Targets, emitted, gradients_of, rules_of, targets_of
from planc.plan.house import House, policies_of, scope_of_house, with_versions, without_policies
from planc.plan.instance import Instance, Partial
from planc.plan.merge import Merger
from planc.plan.model import Open, Origin, Plan, Record
from planc.plan.overrides import overrides
from planc.plan.policies import policy_rules
from planc.plan.scope import Load, Made, Report, Scope, circles, scopes, with_used
from planc.plan.shape import Shape, standing_alone
from planc.source import Source


class Resolved(NamedTuple):
    """The plans of the given sources; their models, clusters and cards, each as a plan of that one field; faults.

    choices: for each plan with open fields, the plans that its candidates give, with what is wrong with each of them.
    """

    plans: tuple[Plan, ...]
    parts: tuple[Plan, ...]
    choices: tuple[tuple[Choices, tuple[tuple[Diagnostic, ...], ...]], ...]
    diagnostics: tuple[Diagnostic, ...]


def resolve(
    sources: tuple[Source, ...],
    load: Load,
    targets: Targets,
    settings: tuple[str, ...] = (),
    made: Made | None = None,
    house: House | None = None,
    partial: Partial | None = None,
) -> Resolved:
    """What the sources mean, with the files that they use, and every fault of their text and meaning.

    settings: `path=value` texts of the command line, set in every plan of the sources.
    made: the files that were read before; those that are read now are added.
    house: what holds for every plan of the sources.
    partial: what may be missing, where the plans are made of other tools' files.
    """
    made = {} if made is None else made
    bodies, found = overrides(settings)
    diagnostics: list[Diagnostic] = list(found)
    merger = Merger(diagnostics.append, load)
    plans: list[Plan] = []
    parts: list[Plan] = []
    choices: list[tuple[Choices, tuple[tuple[Diagnostic, ...], ...]]] = []
    given = scopes(sources, load, made)
    home = None if house is None else with_used(scope_of_house(house), load, made)
    every = _all_scopes([*given, home] if home is not None else given)
    diagnostics.extend(circles(every))
    if home is not None:
        diagnostics.extend(without_policies(home))
    for scope in every:
        diagnostics.extend(scope.faults)
        own = any(scope.source is source for source in sources)
        for block in scope.file.blocks:
            if (block.kind, block.name.text) in scope.twice:
                continue
            # A used file's plans and templates are judged when that file is linted.
            if block.kind in ("plan", "template") and not own:
                continue
            shape = merger.block(scope, block)
            if shape is None or block.kind == "template":
                continue
            if block.kind == "policy":
                policy_rules(shape, diagnostics.append)
            elif block.kind == "plan":
                if house is not None and home is not None:
                    shape = with_versions(shape, house, merger, home)
                for body in bodies:
                    shape = merger.apply(shape, body, (), scope, "plan", Origin.OVERRIDDEN)
                plans.append(_plan(shape, merger, targets, home, diagnostics.append, partial))
                if plans[-1].open:
                    choices.extend(_choices(shape, merger, targets, home))
            elif own:
                parts.append(_part(shape, block.kind, merger))
    return Resolved(tuple(plans), tuple(parts), tuple(choices), tuple(diagnostics))


def _plan(
    shape: Shape,
    merger: Merger,
    targets: Targets,
    home: Scope | None,
    report: Report,
    partial: Partial | None = None,
) -> Plan:
    """The plan of a shape, with all of its fields."""
    instance = Instance(shape, merger, report, partial=partial)
    fields = {name: instance.located((name,)) for name in shape.fields}
    chosen = targets_of(instance, targets)
    fields["emit"] = emitted(fields["emit"], chosen)
    precision = fields["precision"].value
    if isinstance(precision, Record) and precision.fields["gradients"].value is None:
        gradients = precision.fields["gradients"]
        dtype = gradients_of(instance, precision, fields["emit"], chosen, targets)
        settled = {**precision.fields, "gradients": gradients._replace(value=dtype)}
        fields["precision"] = fields["precision"]._replace(
            value=Record(precision.kind, precision.word, precision.span, settled)
        )
    left_open = tuple(Open(".".join(path), slot.entry) for path, slot in open_slots(shape))
    name = str(shape.word)
    rules = rules_of(instance, policies_of(home) if home is not None else [])
    return Plan(name, shape.span, fields, policies=rules, targets=chosen, left_open=left_open)


def _choices(
    shape: Shape, merger: Merger, targets: Targets, home: Scope | None
) -> list[tuple[Choices, tuple[tuple[Diagnostic, ...], ...]]]:
    """What the plan may become, with the faults of meaning of each candidate plan."""
    reports: list[list[Diagnostic]] = []

    def settle(settled: Shape) -> Plan:
        reports.append([])
        return _plan(settled, merger, targets, home, reports[-1].append)

    found, at = [], 0
    for choice in choices_of(Instance(shape, merger, _ignore), settle):
        own = reports[at : at + len(choice.plans)]
        at += len(choice.plans)
        found.append((choice, tuple(tuple(report) for report in own)))
    return found


def _part(shape: Shape, kind: str, merger: Merger) -> Plan:
    """A model, cluster or gpu block by itself, as a plan that has this field only."""
    whole = standing_alone(shape, kind)
    instance = Instance(whole, merger, merger.report)
    fields = {field: instance.located((field,)) for field in whole.fields}
    return Plan(str(shape.word), shape.span, fields, subject=kind)


def _all_scopes(given: list[Scope]) -> list[Scope]:
    """The scopes and those that they use, each once."""
    found: list[Scope] = []
    todo = list(given)
    while todo:
        scope = todo.pop(0)
        if not any(scope is other for other in found):
            found.append(scope)
            todo.extend(used for _, used in scope.used)
    return found


def _ignore(diagnostic: Diagnostic) -> None:
    """Reported when the plan itself was read."""
