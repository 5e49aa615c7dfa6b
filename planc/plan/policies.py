"""Policies: checked once against the language, then judged by a plan's fields and derived numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import all_nearest
from planc.plan import faults
from planc.plan.evaluate import ANY, FAULTY, Env, Val, evaluate, unescaped
from planc.plan.judgeable import can_be_broken
from planc.plan.model import Part, PolicyRule, Unknown
from planc.plan.naming import instead
from planc.plan.null import is_null, null_for_none
from planc.plan.schema import APPROXIMATE, DERIVED, Field, Type
from planc.plan.scope import Report
from planc.plan.shape import BROKEN, Shape, fields_of
from planc.plan.target_names import target_names
from planc.plan.units import MONEY, PLAIN, Amount, Dimension, money_kinds
from planc.syntax import nodes

#: A value that a reason quotes: `{parallel.tensor}`.
QUOTED_PATH = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)\}")

#: The beginning of one, closed or not.
_OPENED = re.compile(r"\{[ \t]*([A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*)?(?:[ \t]*(\}))?")

Lookup = Callable[[str], Any]


def policy_rules(shape: Shape, report: Report) -> tuple[PolicyRule, ...]:
    """The rules of a policy; those that could not be read or are faulty are left out, with a report."""
    rules = []
    for name, slot in shape.slots.items():
        rule = slot.value
        if rule is BROKEN or not isinstance(rule, nodes.Rule):
            continue
        found: list[Any] = []
        paths: list[str] = []
        kinds: dict[str, tuple[Dimension, ...]] = {}
        env = Env(_lookup_of_types(paths, kinds), found.append)
        for part in (rule.condition, rule.guard):
            if part is not None:
                val = evaluate(part, env)
                if val.form not in ("flag", "any"):
                    found.append(
                        faults.WRONG_TYPE.at(
                            part.span, "the condition is no yes or no", help=("compare it with a value",)
                        )
                    )
        if rule.because is not None:
            found.extend(_reason_faults(rule.because))
        several = {path: kinds[path] for path in kinds if 1 < paths.count(path)}  # once, it can be of each kind
        if not found and paths_known(rule, paths) and not can_be_broken(rule, several, env):
            found.append(_never_broken(rule, tuple(several)))
        for diagnostic in found:
            report(diagnostic)
        if found or not paths_known(rule, paths):
            continue
        full = str(shape.word) if name.startswith("#") else f"{shape.word}.{name}"
        text = rule.condition.span.text
        rules.append(
            PolicyRule(
                full,
                rule.verb,
                text,
                rule.span,
                _judge(rule.condition),
                _judge(rule.guard),
                None if rule.because is None else rule.because.value,
                tuple(dict.fromkeys(paths)),
                partial(_parts, rule.condition, "and" if rule.verb == "require" else "or"),
            )
        )
    return tuple(rules)


def _parts(condition: Any, operator: str) -> Iterator[Part]:
    """The conditions that an operator joins, in their order."""
    if isinstance(condition, nodes.Binary) and condition.operator == operator:
        yield from _parts(condition.left, operator)
        yield from _parts(condition.right, operator)
        return
    paths: list[str] = []
    evaluate(condition, Env(_lookup_of_types(paths, {}), _silent))
    yield Part(condition.span.text, _judge(condition), tuple(dict.fromkeys(paths)))


def _lookup_of_types(paths: list[str], kinds: dict[str, tuple[Dimension, ...]]) -> Callable[..., Val]:
    """A lookup that knows types but no values; it notes the paths, and the kinds of those that have several."""

    def lookup(path: nodes.Path, report: Report) -> Val:
        val = _typed(path, report, lambda _: FAULTY, paths)
        if val.kinds:
            kinds[paths[-1]] = val.kinds
        return val

    return lookup


def _never_broken(rule: nodes.Rule, paths: tuple[str, ...]) -> Diagnostic:
    """The fault of a rule whose comparisons no plan brings together."""
    label = f"in each plan `{paths[0]}` is of one kind, and what asks for another is unknown"
    help = ("write a rule of its own for each kind: of a plan with another kind it says nothing",)
    return faults.WRONG_TYPE.at(rule.condition.span, "no plan can break this rule", label, help=help)


def _reason_faults(reason: nodes.String) -> list[Any]:
    """The faults of a reason: its text as a string, and paths in braces that name nothing."""
    found: list[Any] = []
    if isinstance(unescaped(reason, found.append), Unknown):
        return found
    found.extend(_unread_paths(reason))
    for match in QUOTED_PATH.finditer(reason.span.text):
        names, at = [], reason.span.start + match.start(1)
        for part in match[1].split("."):
            names.append(nodes.Name(reason.span._replace(start=at, end=at + len(part)), part))
            at += len(part) + 1
        if match[1] not in DERIVED and field_at("plan", tuple(match[1].split("."))) is None:
            span = reason.span._replace(start=names[0].span.start, end=names[-1].span.end)
            found.append(unknown_path(nodes.Path(span, tuple(names)), "plan"))
    return found


def _unread_paths(reason: nodes.String) -> Iterator[Diagnostic]:
    """The faults of braces that are not closed, or have blanks around a path: nothing is read there."""
    for match in _OPENED.finditer(reason.span.text):
        is_closed = match[2] or "}" in match.string[match.end() :].partition("{")[0]
        if QUOTED_PATH.fullmatch(match[0]) or (is_closed and not (match[1] and match[2])):
            continue
        message = "blanks within the braces of a value" if is_closed else "`{` is not closed"
        span = reason.span._replace(start=reason.span.start + match.start(), end=reason.span.start + match.end())
        meant = (f"{{{match[1]}}}",) if match[1] and _is_path("plan", match[1]) else ()
        help, label = tuple(f"write `{text}`" for text in meant), "no value is read here"
        yield faults.MALFORMED_STRING.at(span, message, label, help=help, fixes=instead(span, meant))


def paths_known(rule: nodes.Rule, paths: list[str]) -> bool:
    """Whether every path of a rule names something; an unknown one is marked by an empty entry."""
    return "" not in paths and not isinstance(rule.condition, nodes.Bad)


def _judge(node: Any) -> Any:
    """A function from a lookup of numbers to True, False or Unknown; None for no expression."""
    if node is None:
        return None

    def judge(lookup: Lookup) -> Any:
        return evaluate(node, Env(lambda path, report: _typed(path, report, lookup, []), _silent)).value

    return judge


def _silent(diagnostic: Any) -> None:
    """Faults of a policy are reported once, when it is read."""


def _typed(path: nodes.Path, report: Report, lookup: Lookup, paths: list[str]) -> Val:
    """The value at a path of the plan, with the type that the language gives it."""
    names = tuple(name.text for name in path.names)
    dotted = ".".join(names)
    if dotted in DERIVED:
        paths.append(dotted)
        return _derived_value(dotted, lookup(dotted))
    field = field_at("plan", names)
    if field is None:
        paths.append("")
        report(unknown_path(path, "plan"))
        return ANY
    if isinstance(field, Field):
        paths.append(dotted)
        if field.type.form in ("record", "map"):
            return Val(lookup(dotted), "record")
        return typed_value(lookup(dotted), field.type)
    return ANY


def _derived_value(path: str, value: Any) -> Val:
    """A derived number as an operand; of money only a known amount says of which currency it is."""
    exact = path not in APPROXIMATE
    if DERIVED[path] != MONEY:
        return Val(value, "number", DERIVED[path], exact=exact)
    if isinstance(value, Amount):
        return Val(value.value, "number", value.dimension, exact=exact)
    return Val(value, "any", kinds=money_kinds(""))


def field_at(kind: str, names: tuple[str, ...]) -> Field | None:
    """The field at a path below a kind of block, by the language's tables alone."""
    fields, field = fields_of(kind), None
    for at, name in enumerate(names):
        field = fields.get(name)
        if field is None:
            return None
        if field.type.form == "map" and at == len(names) - 2:
            return Field(names[-1], field.type.item)
        fields = fields_of(field.type.of) if field.type.form in ("record", "variant", "reference") else {}
    return field


def unknown_path(path: nodes.Path, kind: str) -> Diagnostic:
    """The fault of a path that names nothing there: the first part that is unknown, and what was meant."""
    from planc.plan.meant import advice  # most files have no such path
    from planc.plan.renaming import renamed_path

    names = [name.text for name in path.names]
    if ".".join(names) in DERIVED:
        label = "values are made of fields, rules may read it"
        return faults.MISPLACED.at(path.span, f"`{'.'.join(names)}` is a derived number", label)
    fields, where, of, at = fields_of(kind), kind, kind, 0
    while names[at] in fields and at < len(names) - 1:
        field = fields[names[at]]
        where, of, at = field.name, field.type.of, at + 1
        fields = fields_of(of) if field.type.form in ("record", "variant", "reference") else {}
    near: tuple[str, ...] = ()
    if kind == "plan":
        while at < len(names) - 1 and _derived(names[: at + 1]):
            where, of, at = names[at], "", at + 1
        near = all_nearest(names[at], _derived(names[:at])) if at else ()
    if kind == "plan" and _derived(names[: at + 1]):
        listed = ", ".join(f"`{'.'.join(names[: at + 1])}.{rest}`" for rest in _derived(names[: at + 1]))
        message = f"`{'.'.join(names)}` is several derived numbers"
        return faults.UNKNOWN_FIELD.at(path.span, message, "which of them?", notes=(f"there are {listed}",))
    if is_null(path):
        return null_for_none(path)
    unknown = path.names[at]
    help = (f"did you mean `{near[0]}`?",) if near else advice(of, unknown.text) if of else ()
    fixes = instead(unknown.span, near)
    if help and not near:
        fixes = renamed_path(path, at, kind, of, lambda dotted: _is_path(kind, dotted))
    minuend, minus, subtrahend = unknown.text.partition("-")
    if minus and minuend in fields:
        help, fixes = (f"with blanks, `{minuend} - {subtrahend}` subtracts",), ()
        if len(names) == at + 1:
            fixes = instead(unknown.span, (f"{minuend} - {subtrahend}",))
    message = f"`{where}` has no `{unknown.text}`"
    return faults.UNKNOWN_FIELD.at(unknown.span, message, "no such field", help=help, fixes=fixes)


def _is_path(kind: str, dotted: str) -> bool:
    return (kind == "plan" and dotted in DERIVED) or field_at(kind, tuple(dotted.split("."))) is not None


def _derived(names: list[str]) -> list[str]:
    """What follows these names in the paths of derived numbers."""
    prefix = "".join(f"{name}." for name in names)
    return [path.removeprefix(prefix) for path in DERIVED if path.startswith(prefix)]


def typed_value(value: Any, kind: Type) -> Val:
    """A value of a field, as an operand."""
    if isinstance(value, Amount):
        return Val(value.value, "number", value.dimension)
    if kind.form in ("count", "number", "share", "quantity", "money"):
        if isinstance(value, bool):
            return Val(value, "flag")
        several = kind.form == "money" or (1 < len(kind.dimensions) and kind.dimensions[0] != PLAIN)
        if several and (isinstance(value, Unknown) or value is None):
            kinds = money_kinds(kind.of) if kind.form == "money" else kind.dimensions
            return Val(value if value is not None else Unknown("not set", unset=True), "any", kinds=kinds)
        return Val(value, "number", kind.dimensions[0], flag=kind.flag)
    if kind.form in ("word", "variant"):
        return Val(value, "word", words=kind.words)
    if kind.form == "list":
        inner = typed_value(None, kind.item)
        return Val(value, "list", inner.dimension, inner.words, item="" if inner.form == "any" else inner.form)
    if kind.form == "target":
        return Val(value, "word", words=target_names())
    if kind.form == "reference":
        return Val(value, "name")
    return Val(value, {"flag": "flag", "text": "text", "version": "version"}.get(kind.form, "record"))
