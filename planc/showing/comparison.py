"""Two states of plans beside each other, and how `planc diff` shows them on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.paragraphs import place_text as label_place
from planc.diagnostics.text import visible
from planc.facts.engine import engines
from planc.plan.model import Plan
from planc.showing.changes import Change, Changes, Found, change_text
from planc.showing.origins import origin_text, place_text

#: The numbers that a reader looks for first, each with what it is called in a sentence.
HEADLINES = {
    "memory.total": "memory",
    "step.time": "step",
    "step.tokens_per_second": "throughput",
    "step.mfu": "MFU",
    "pipeline.bubble": "bubble",
    "train.time": "run",
    "train.cost": "cost",
}

_RESET = "\033[0m"
_BOLD = "\033[1m"
_STYLES = {"+": "\033[32m", "-": "\033[31m", "~": "\033[33m"}
_WIDEST = 40  # columns of a value that others are lined up with


class Comparison(NamedTuple):
    """Two files, or a file in two states: their names, what is said of neither's plans alone, and the plans.

    plans: those that are on both sides; `gone` and `added` are on one alone.
    """

    old: str
    new: str
    found: Found
    plans: tuple[Changes, ...]
    gone: tuple[Plan, ...]
    added: tuple[Plan, ...]

    def __bool__(self) -> bool:
        return bool(any(self.plans) or self.gone or self.added or self.found.came or self.found.went)


def comparison_text(compared: Comparison, color: bool) -> str:
    """The comparison as lines: for each plan the fields, what follows, the numbers and the diagnostics."""
    names = dict.fromkeys((visible(compared.old), visible(compared.new)))
    lines = [_painted(" -> ".join(names), _BOLD, color)]
    for changes in compared.plans:
        lines.extend(("", _painted(title(changes), _BOLD, color), *_of_plan(changes, color)))
    for mark, plans, word in (("-", compared.gone, "is gone"), ("+", compared.added, "is new")):
        for plan in plans:
            lines.extend(("", _marked(mark, f"plan {visible(plan.name)} {word}  {place_text(plan.span)}", color)))
    if compared.found.came or compared.found.went:
        lines.extend(("", "of the files", *_diagnostics(compared.found, color)))
    return "\n".join(lines) + "\n"


def title(changes: Changes) -> str:
    """What is compared: `plan run`, or `plan a -> plan b`."""
    old, new = visible(changes.old.name), visible(changes.new.name)
    return f"plan {new}" if old == new else f"plan {old} -> plan {new}"


def headlines(changes: Changes) -> tuple[Change, ...]:
    """The changes of the numbers that a reader looks for first."""
    return tuple(change for path in HEADLINES for change in changes.numbers if change.path == path)


def counts_text(changes: Changes) -> str:
    """How much differs, as the last line says it."""
    parts = [
        plural(len(changes.stated), "field") + (f" and {len(changes.followed)} that follow" if changes.followed else "")
    ]
    parts.append(f"{plural(len({change.path for change in changes.numbers}), 'number')}")
    found = changes.found
    if found.came or found.went:
        parts.append(f"{plural(len(found.came), 'diagnostic')} more, {len(found.went)} fewer")
    return ", ".join(parts)


def place_of(change: Change) -> str:
    """Where a field got its new value, or had the one that is gone."""
    if change.new.at is not None:
        return origin_text("", change.new.at)
    return f"was {origin_text('', change.old.at)}" if change.old.at is not None else ""


def values_text(change: Change) -> str:
    """`old -> new`, or the one that there is."""
    texts = [visible(side.text) for side in (change.old, change.new) if side.text]
    return " -> ".join(texts)


def _of_plan(changes: Changes, color: bool) -> Iterator[str]:
    before, after = engines(changes.old), engines(changes.new)
    if not changes:
        yield f"  no difference{_kept(changes.found)}"
        return
    if before != after:
        trained = " -> ".join(" and ".join(engine.name for engine in each) for each in (before, after))
        yield f"  trained by {trained}"
    yield from _rows([(change, place_of(change)) for change in changes.stated], color)
    for name, group in (("what follows", changes.followed), ("numbers", changes.numbers)):
        if group:
            yield from ("", f"  {name}")
            yield from _rows([(change, change_text(change) or place_of(change)) for change in group], color)
    if changes.found.came or changes.found.went:
        yield from ("", "  diagnostics", *_diagnostics(changes.found, color))
    first = headlines(changes)
    if first:
        yield from ("", "  in short")
        yield from _aligned([(HEADLINES[change.path], change, change_text(change)) for change in first], "    ")
    yield from ("", f"  {counts_text(changes)}{_kept(changes.found)}")


def _rows(rows: list[tuple[Change, str]], color: bool) -> Iterator[str]:
    """One line for each change, behind its mark."""
    lines = _aligned([(change.path, change, note) for change, note in rows], "")
    for (change, _), line in zip(rows, lines, strict=True):
        yield _marked(change.mark, line, color)


def _aligned(rows: list[tuple[str, Change, str]], indent: str) -> list[str]:
    """Names, values and notes in three columns."""
    names = [f"{name}{_trained(change)}" for name, change, _ in rows]
    values = [values_text(change) for _, change, _ in rows]
    first = max(map(len, names), default=0)
    second = max((len(value) for value in values if len(value) <= _WIDEST), default=0)
    return [
        f"{indent}{name:<{first}}  {value:<{second}}  {note}".rstrip()
        for name, value, (_, _, note) in zip(names, values, rows, strict=True)
    ]


def _trained(change: Change) -> str:
    """The engines that have these values, unless no engine trains both plans, which is said above."""
    return f" [{change.engine}]" if change.engine and " -> " not in change.engine else ""


def _diagnostics(found: Found, color: bool) -> Iterator[str]:
    for mark, group in (("-", found.went), ("+", found.came)):
        for diagnostic in group:
            yield _marked(mark, diagnostic_text(diagnostic), color)


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """A diagnostic on one line: `error[PLN101]: message  run.plan:8:14`."""
    head = f"{diagnostic.severity.value}[{diagnostic.code}]: {visible(diagnostic.message)}"
    return f"{head}  {label_place(diagnostic.primary)}"


def _kept(found: Found) -> str:
    return f"; {plural(found.num_kept, 'diagnostic')} on both sides" if found.num_kept else ""


def _marked(mark: str, text: str, color: bool) -> str:
    return "  " + _painted(f"{mark} {text}", _STYLES[mark], color)


def _painted(text: str, style: str, color: bool) -> str:
    return f"{style}{text}{_RESET}" if color else text
