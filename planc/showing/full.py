"""Every derived number of a plan with its formula, inputs, source and assumptions, as text."""

from __future__ import annotations

from planc.diagnostics.text import visible
from planc.explanation import MEMORY_NOTE, Explanation, Number, needs_text
from planc.plan.model import Plan, Unknown
from planc.showing.origins import origin_text, place_text


def full_text(found: Explanation) -> str:
    """Every field and number of a plan, each number with its formula, inputs and source."""
    lines = [f"plan {visible(found.plan.name)} ({place_text(found.plan.span)})"]
    lines.extend(f"engine {engine.name}: {engine.convention}" for engine in found.engines)
    lines.extend(("", "fields"))
    width = max((len(field.path) + len(field.text) for field, _ in found.fields), default=0) + 3
    lines.extend(
        f"  {f'{field.path} = {visible(field.text)}':<{width}}  {origin_text(field.path, at)}"
        for field, at in found.fields
    )
    lines.extend(("", "derived numbers"))
    for path in dict.fromkeys(number.path for number in found.numbers):
        lines.extend(_number_lines(found.plan, [number for number in found.numbers if number.path == path]))
    lines.extend(("", f"note: {MEMORY_NOTE}"))
    return "\n".join(lines) + "\n"


def _number_lines(plan: Plan, numbers: list[Number]) -> list[str]:
    """The lines of one derived number, which several engines may give different values."""
    first = numbers[0]
    stages = "" if first.stage is None else f" (stage {first.stage})"
    values = ", ".join(_value(plan, number) + _of_engines(number) for number in numbers) + stages
    lines = [f"  {first.path} = {values}", f"      {first.meaning}", f"      formula: {first.formula}"]
    for number in numbers:
        inputs = ", ".join(f"{given.path} = {visible(given.text)}" for given in number.inputs)
        if inputs:
            lines.append(f"      {f'inputs{_of_engines(number)}:':<8} {inputs}")
    lines.append(f"      source:  {first.source}")
    if first.assumes:
        lines.append(f"      assumes: {first.assumes}")
    lines.extend(f"      where:   {text}" for text in first.where)
    return lines


def _value(plan: Plan, number: Number) -> str:
    if not isinstance(number.value, Unknown):
        return visible(number.text)
    return f"unknown: {visible(number.text)}{needs_text(plan, number.missing, len(number.missing))}"


def _of_engines(number: Number) -> str:
    return f" [{', '.join(number.engines)}]" if number.engines else ""
