"""Two states of plans beside each other as Markdown, for a comment below a change that is asked for.

What a plan wrote stands in code spans and blocks alone, where it is neither markup nor a mention of somebody.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.text import visible
from planc.plan.model import Plan
from planc.showing.changes import Change, Changes, Found, Side, change_text
from planc.showing.comparison import HEADLINES, Comparison, counts_text, diagnostic_text, headlines, place_of
from planc.showing.origins import place_text


def comparison_markdown(compared: Comparison) -> str:
    """The comparison as Markdown: what a reviewer asks first, then the fields, and every number folded away."""
    lines = [f"### {' -> '.join(map(_code, dict.fromkeys((compared.old, compared.new))))}"]
    for changes in compared.plans:
        lines.extend(("", *_of_plan(changes)))
    for plans, word in ((compared.gone, "is gone"), (compared.added, "is new")):
        lines.extend(line for plan in plans for line in ("", _alone(plan, word)))
    lines.extend(_diagnostics(compared.found))
    return "\n".join(lines) + "\n"


def _of_plan(changes: Changes) -> Iterator[str]:
    old, new = changes.old.name, changes.new.name
    name = _code(new) if old == new else f"{_code(old)} -> {_code(new)}"
    if not changes:
        yield f"**plan {name}**: no difference"
        return
    yield f"**plan {name}**: {counts_text(changes)}"
    first = headlines(changes)
    if first:
        yield from ("", *_table(first, {change: _named(HEADLINES[change.path], change) for change in first}))
    if changes.stated:
        yield from ("", "```diff", *(line for change in changes.stated for line in _field(change)), "```")
    yield from _diagnostics(changes.found)
    for word, group in (("that follow", changes.followed), ("numbers", changes.numbers)):
        if group:
            yield from ("", f"<details><summary>{len(group)} {word}</summary>", "")
            yield from (*_table(group, {change: _name(change) for change in group}), "", "</details>")


def _alone(plan: Plan, word: str) -> str:
    return f"**plan {_code(plan.name)}** {word} ({_code(place_text(plan.span))})"


def _field(change: Change) -> Iterator[str]:
    """The lines of a field, as a diff has them; the place stands behind the last one."""
    lines = []
    for mark, side in (("-", change.old), ("+", change.new)):
        if side.text:
            lines.append(f"{mark} {change.path} = {visible(side.text)}".replace("```", "'''"))
    yield from lines[:-1]
    yield f"{lines[-1]}  # {place_of(change)}"


def _table(changes: tuple[Change, ...], names: dict[Change, str]) -> Iterator[str]:
    yield from ("| | before | after | |", "|---|---:|---:|---:|")
    for change in changes:
        yield f"| {names[change]} | {_cell(change.old)} | {_cell(change.new)} | {change_text(change)} |"


def _name(change: Change) -> str:
    return _named(_code(change.path), change)


def _named(name: str, change: Change) -> str:
    """A name with the engines that have these values, where a plan's differ."""
    return f"{name} ({change.engine})" if change.engine else name


def _cell(side: Side) -> str:
    return _code(side.text) if side.text else ""


def _diagnostics(found: Found) -> Iterator[str]:
    if found.came or found.went:
        yield ""
    for word, group in (("new", found.came), ("gone", found.went)):
        for diagnostic in group:
            yield f"- {word}: {_code(diagnostic_text(diagnostic))}"


def _code(text: str) -> str:
    """A text as a code span of a table's cell."""
    return f"`{visible(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
