"""What a plan emits and by which policies it is judged, and what follows from that: the dtype of its gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.diagnostics.names import all_nearest
from planc.plan import faults
from planc.plan.coerce import coerce
from planc.plan.evaluate import FAULTY
from planc.plan.instance import Instance
from planc.plan.model import Choice, Located, Origin, PolicyRule, Record, Unknown
from planc.plan.naming import instead
from planc.plan.policies import policy_rules
from planc.plan.schema import Field
from planc.plan.scope import Scope, lookup
from planc.plan.shape import BROKEN, NOWHERE, Shape, head_of
from planc.source import Span
from planc.syntax import nodes


class Targets(NamedTuple):
    """The targets that can be emitted: their names, and what a plan has to know of each.

    options: those that a target of a name takes; gradients: the dtype of a trainer's gradients by default (`weights`:
    that of the matrix products), empty for what trains nothing; aliases: what people call targets, asked for an
    unknown name only.
    """

    names: tuple[str, ...] = ()
    options: Callable[[str], tuple[Field, ...]] = lambda name: ()
    gradients: Callable[[str], str] = lambda name: ""
    aliases: Callable[[], Mapping[str, tuple[str, ...]]] = dict


def rules_of(instance: Instance, always: Sequence[tuple[Scope, nodes.Block]]) -> tuple[PolicyRule, ...]:
    """The rules of the policies that judge the plan: those that it names, with what it sets in them, and the given."""
    found: list[PolicyRule] = []
    slot = instance.root.slots.get("policies")
    named = slot.value.items if slot is not None and isinstance(slot.value, nodes.List) else ()
    scope = slot.scope if slot is not None else NOWHERE
    for item in named:
        head = head_of(item)
        block = lookup(scope, ("policy",), head, _ignore) if head is not None else None
        shape = instance.merger.block(*block) if block else None
        if shape is not None and isinstance(item, nodes.Narrowed):
            shape = instance.merger.apply(shape, item.body, (), scope, "policy")
        if shape is not None:
            found.extend(policy_rules(shape, _ignore))
    for where, policy in always:
        shape = instance.merger.block(where, policy)
        known = {rule.span for rule in found}
        if shape is not None:
            found.extend(rule for rule in policy_rules(shape, _ignore) if rule.span not in known)
    return tuple(found)


def targets_of(instance: Instance, known: Targets) -> tuple[Choice, ...]:
    """The targets that the plan emits, with their options; a name that is none is reported and left out."""
    slot = instance.root.slots.get("emit")
    if slot is None or not isinstance(slot.value, nodes.List):
        return ()
    choices: list[Choice] = []
    places: dict[str, Span] = {}
    for item in slot.value.items:
        head = head_of(item)
        if head is None:
            continue
        if head.text in places:
            related = (Label(places[head.text], "first here"),)
            message = f"target `{head.text}` is written twice"
            instance.report(faults.WRITTEN_TWICE.at(head.span, message, "again here", related=related))
            continue
        places[head.text] = head.span
        if head.text not in known.names:
            instance.report(_unknown_target(head, known))
            continue
        fields = {field.name: field for field in known.options(head.text)}
        shape = Shape(head.text, head.text, head.span, fields, {}, (), False)
        if isinstance(item, nodes.Narrowed):
            shape = instance.merger.apply(shape, item.body, (), slot.scope, head.text)
        record = {name: _option(instance, shape, field) for name, field in fields.items()}
        choices.append(Choice(head.text, Record(head.text, head.text, head.span, record), head.span))
    return tuple(choices)


def emitted(emit: Located, choices: tuple[Choice, ...]) -> Located:
    """`emit` as the plan holds it: Unknown if one of its names could not be understood."""
    if isinstance(emit.value, tuple) and len(emit.value) != len(choices):
        return emit._replace(value=FAULTY)
    return emit


def gradients_of(instance: Instance, precision: Any, emit: Located, choices: tuple[Choice, ...], known: Targets) -> Any:
    """The dtype of gradients where it is not written: as the trainers in `emit` have it, else the compute dtype."""
    compute = precision.word if precision.word in ("fp32", "fp16") else "bf16"
    if isinstance(emit.value, Unknown):
        return emit.value
    by_default = {choice.name: known.gradients(choice.name) for choice in choices}
    dtypes = {name: compute if dtype == "weights" else dtype for name, dtype in by_default.items() if dtype}
    if 1 < len(set(dtypes.values())):
        shown = " and ".join(f"{name} in {dtype}" for name, dtype in dtypes.items())
        message = "the emitted trainers accumulate gradients in different dtypes"
        help = ("write `gradients = fp32` in `precision`",)
        instance.report(faults.CONFLICTING_TRAINERS.at(emit.entry, message, shown, help=help))
        return FAULTY
    return next(iter(dtypes.values()), compute)


def _option(instance: Instance, shape: Shape, field: Field) -> Located:
    slot = shape.slots.get(field.name)
    if slot is None:
        value = FAULTY if shape.poisoned else field.default
        return Located(value, shape.span, Origin.DEFAULTED, shape.span)
    if isinstance(slot.value, nodes.Candidates):
        message = f"option `{field.name}` cannot be left open"
        instance.report(faults.MISPLACED.at(slot.entry, message, help=("write the value",)))
    if slot.value is BROKEN or isinstance(slot.value, (Shape, nodes.Candidates)):
        return Located(FAULTY, slot.span, slot.origin, slot.entry)
    return Located(coerce(slot.value, field.type, instance.env(slot)), slot.span, slot.origin, slot.entry)


def _unknown_target(head: nodes.Name, known: Targets) -> Diagnostic:
    names = known.names
    called = known.aliases().get(head.text.lower().replace("_", "-"), ())
    near = called or all_nearest(head.text, sorted(names))
    return faults.UNKNOWN_TARGET.at(
        head.span,
        f"unknown target `{head.text}`",
        "no such target",
        help=(f"did you mean {either([f'`{name}`' for name in (near if called else near[:1])])}?",) if near else (),
        notes=(f"the targets are {', '.join(f'`{name}`' for name in names)}",),
        fixes=instead(head.span, near),
    )


def _ignore(diagnostic: Diagnostic) -> None:
    """Reported where the policy is read for itself."""
