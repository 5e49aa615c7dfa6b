"""What differs between two plans: the fields, what follows from them, the derived numbers, and the diagnostics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from planc.diagnostics.amounts import number_text
from planc.diagnostics.diagnostic import Diagnostic
from planc.explanation import STEP_TIME, field_of, reason_text, short_text, value_text, view_of
from planc.facts.engine import Engine, engines
from planc.facts.facts import FACTS, Facts, of_experts
from planc.plan.evaluate import FAULTY
from planc.plan.model import Located, Origin, Plan, Record, Unknown
from planc.plan.units import Amount

_STATED = (Origin.WRITTEN, Origin.INHERITED, Origin.OVERRIDDEN)
_ALIKE = 1e-9  # numbers that differ by less, as a share, differ by rounding


class Side(NamedTuple):
    """A value before or after, as text and as it is; `at` is the place of a field.

    What is not there has an empty text; what is not known has the reason, and is not `known`.
    """

    text: str
    value: Any
    at: Located | None = None
    known: bool = True


_ABSENT = Side("", None, None, False)


class Change(NamedTuple):
    """A field or number that differs; `engine` names the trainers, `old -> new`, where a plan's differ."""

    path: str
    unit: str
    engine: str
    old: Side
    new: Side

    @property
    def mark(self) -> str:
        """`+` for what is new, `-` for what is gone, `~` for what has another value."""
        return "~" if self.old.known == self.new.known else "+" if self.new.known else "-"


class Found(NamedTuple):
    """The diagnostics of one side alone, and how many are on both."""

    came: tuple[Diagnostic, ...]
    went: tuple[Diagnostic, ...]
    num_kept: int


class Changes(NamedTuple):
    """All that differs between two plans.

    stated: fields that someone set; followed: fields that follow from others or have another default.
    """

    old: Plan
    new: Plan
    stated: tuple[Change, ...]
    followed: tuple[Change, ...]
    numbers: tuple[Change, ...]
    found: Found

    def __bool__(self) -> bool:
        return bool(self.stated or self.followed or self.numbers or self.found.came or self.found.went)


def changes_of(old: Plan, new: Plan, given: dict[str, Any], found: Found) -> Changes:
    """What differs between two plans; `given` is known of both beside their fields, `found` what is said of them."""
    fields = tuple(_fields(old, new))
    stated = tuple(change for change in fields if _is_stated(change))
    followed = tuple(change for change in fields if not _is_stated(change))
    return Changes(old, new, stated, followed, tuple(_numbers(old, new, given)), found)


def found_of(old: Sequence[Diagnostic], new: Sequence[Diagnostic]) -> Found:
    """The diagnostics that came and went; one that moved or is met again is the same by its code and message."""
    before, after = Counter(map(_key, old)), Counter(map(_key, new))
    came = _left_over(new, after - before)
    went = _left_over(old, before - after)
    return Found(came, went, (before & after).total())


def change_text(change: Change) -> str:
    """How much more or less it is: `+12.5 %`, `x 16`, `-4.2 points` of a share; empty where that says nothing."""
    old, new = _number(change.old.value), _number(change.new.value)
    if old is None or new is None:
        return ""
    if change.unit == "share":
        return f"{_signed(100 * (new - old))} points"
    if old <= 0 or new <= 0:  # of what is missing, a share says nothing
        return ""
    if 10 <= new / old:
        return f"x {number_text(new / old)}"
    return f"{_signed(100 * (new - old) / old)} %"


def _signed(value: float) -> str:
    rounded = round(value, 1) or float(f"{value:.1g}")
    return f"{'+' if 0 < rounded else ''}{number_text(rounded)}"


def _is_stated(change: Change) -> bool:
    return any(side.at is not None and side.at.origin in _STATED for side in (change.old, change.new))


def _fields(old: Plan, new: Plan) -> Iterator[Change]:
    before, after = dict(_flat(old, "")), dict(_flat(new, ""))
    before.update(_options(old))
    after.update(_options(new))
    for path in (*after, *(path for path in before if path not in after)):
        left, right = before.get(path, _ABSENT), after.get(path, _ABSENT)
        if not (left.known or right.known):
            continue
        if left.text != right.text or left.value != right.value:
            yield Change(path, "", "", left, right)


def _flat(record: Record, prefix: str) -> Iterator[tuple[str, Side]]:
    """Every field that has a value, and the word of every section that is one of several."""
    for name, located in record.fields.items():
        yield from _below(f"{prefix}{name}", located.value, located)


def _below(path: str, value: Any, located: Located) -> Iterator[tuple[str, Side]]:
    if isinstance(value, Record):
        if value.word is not None and value.word != value.kind:
            yield path, Side(value.word, value.word, located)
        yield from _flat(value, f"{path}.")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _below(f"{path}.{key}", item, located)
    elif isinstance(value, tuple) and any(isinstance(item, Record) for item in value):
        yield path, Side(value_text(path, value), None, located)
        for at, item in enumerate(value):
            if isinstance(item, Record):
                yield from _flat(item, f"{path}[{at}].")
    elif isinstance(value, Unknown):
        if not value.unset:
            reason = "it has a fault" if value == FAULTY else value.reason
            yield path, Side(f"unknown: {reason}", None, located, False)
    elif value is not None:
        yield path, Side(_text(path, value), value, located)


def _text(path: str, value: Any) -> str:
    """A value of a field; texts stand in quotes as they are written."""
    field = field_of(path)
    form = "text" if field is None else field.type.item.form if field.type.form in ("list", "map") else field.type.form
    if form == "text" and isinstance(value, str):
        return f'"{value}"'
    if form == "text" and isinstance(value, tuple) and not isinstance(value, Amount):
        return f"[{', '.join(_text(path, item) for item in value)}]"
    return value_text(path, value)


def _options(plan: Plan) -> Iterator[tuple[str, Side]]:
    for choice in plan.targets:
        yield from _flat(choice.options, f"emit.{choice.name}.")


def _numbers(old: Plan, new: Plan, given: dict[str, Any]) -> Iterator[Change]:
    """The derived numbers that differ; what the fullest stage needs stands as `memory.*`, not as `stage.*`."""
    pairs = [(Facts(old, left, given), Facts(new, right, given)) for left, right in _pairs(old, new)]
    are_dense = not any(facts.has_experts for pair in pairs for facts in pair)
    for path, fact in FACTS.items():
        if path.startswith("stage.") or (are_dense and of_experts(path)):
            continue
        alike: dict[tuple[str, str], list[str]] = {}
        sides: dict[tuple[str, str], tuple[Side, Side]] = {}
        for before, after in pairs:
            both = _side(path, view_of(before, path)[path]), _side(path, view_of(after, path)[path])
            texts = (both[0].text, both[1].text)
            alike.setdefault(texts, []).append(_name(before.engine.name, after.engine.name))
            sides[texts] = both
        for texts, names in alike.items():
            if not _is_same(*sides[texts]):
                named = 1 < len(alike) or " -> " in names[0]
                yield Change(path, _unit(fact.unit, sides[texts]), ", ".join(names) if named else "", *sides[texts])


def _name(old: str, new: str) -> str:
    return old if old == new else f"{old} -> {new}"


def _pairs(old: Plan, new: Plan) -> list[tuple[Engine, Engine]]:
    """The engines that train both plans; where there is none, the first of each."""
    before, after = engines(old), engines(new)
    return [(engine, engine) for engine in after if engine in before] or [(before[0], after[0])]


def _side(path: str, value: Any) -> Side:
    if not isinstance(value, Unknown):
        return Side(short_text(path, value), value)
    # What is merely not asked for is not there; another reason is told.
    return _ABSENT if STEP_TIME in value.missing else Side(f"unknown: {reason_text(value)}", None, None, False)


def _is_same(old: Side, new: Side) -> bool:
    left, right = _number(old.value), _number(new.value)
    if left is None or right is None:
        return old.text == new.text or not (old.known or new.known)
    return abs(left - right) <= _ALIKE * max(abs(left), abs(right))


def _number(value: Any) -> float | None:
    """A number as a float; None for what is none, or too large for one."""
    if isinstance(value, Amount):
        value = value.value
    if value is None or isinstance(value, (bool, str, tuple, Unknown)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _unit(unit: str, sides: tuple[Side, Side]) -> str:
    """The unit of a number; money has a currency of its own."""
    for side in sides:
        if isinstance(side.value, Amount):
            return str(side.value.dimension[0][0])
    return unit


def _key(diagnostic: Diagnostic) -> tuple[str, str, str]:
    return diagnostic.severity.value, diagnostic.code, diagnostic.message


def _left_over(diagnostics: Sequence[Diagnostic], counts: Counter[tuple[str, str, str]]) -> tuple[Diagnostic, ...]:
    """The diagnostics that are counted, each as often as it is."""
    left, found = Counter(counts), []
    for diagnostic in diagnostics:
        if 0 < left[_key(diagnostic)]:
            left[_key(diagnostic)] -= 1
            found.append(diagnostic)
    return tuple(found)
