"""`planc explain`: every derived number of a plan with its formula, inputs, source and assumptions."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import Configurations
from planc.commands.files import Files
from planc.commands.output import CannotWork, as_text, is_error
from planc.commands.reading import SET, chosen_plans, read_one
from planc.commands.settling import settle
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.text import visible
from planc.explanation import MEMORY_NOTE, Explanation, Number, explain, plain
from planc.plan.model import Located, Origin, Unknown
from planc.plan.solve import equation_of
from planc.reporting.configuration import Chosen

_ORIGINS = {
    Origin.WRITTEN: "written at {place}",
    Origin.DEFAULTED: "default",
    Origin.INHERITED: "from {place}",
    Origin.SOLVED: "worked out",
    Origin.OVERRIDDEN: "set on the command line",
    Origin.ASSUMED: "assumed",
}


def run(arguments: list[str]) -> int:
    """Exit status: 1 if the file has errors, which leave some numbers unknown, else 0."""
    options = parsed(parser(), arguments)
    step_seconds = None if options.step_time is None else _seconds(options.step_time)
    files = Files()
    read = read_one(files, options.file)
    configurations = Configurations(files)
    house = next(iter(configurations.houses(read.sources).values()), None)
    analysis = analyse(read.sources, files.load, tuple(options.set), None, house)
    found = (*read.diagnostics, *analysis.diagnostics)
    diagnostics = settle(found, read.sources, configurations, Chosen(), options.set).diagnostics
    output.complain(as_text(diagnostics, output.in_color(options.color, sys.stderr)))
    failed = any(map(is_error, diagnostics))
    plans = chosen_plans(analysis.plans, options.plan, options.file) if analysis.plans or not failed else []
    explanations = [explain(plan, step_seconds) for plan in plans]
    if options.output_format == "json":
        import json

        document = {"version": 1, "note": MEMORY_NOTE, "plans": [_as_data(found) for found in explanations]}
        output.write(json.dumps(document, indent=2) + "\n")
    else:
        output.write("\n".join(_as_text(found) for found in explanations))
    return 1 if failed else 0


def _seconds(text: str) -> Any:
    """Seconds of a time written in the language's units."""
    from planc.plan.quantities import amount
    from planc.plan.units import TIME, name_of
    from planc.source import Source, Span
    from planc.syntax.nodes import Number as Written

    found = amount(Written(Span(Source("--step-time", text), 0, len(text)), text))
    if isinstance(found, Diagnostic):
        raise CannotWork(f"--step-time {output.quoted(text)}: {found.message}; write a time such as `200ms`")
    if found.dimension != TIME:
        raise CannotWork(
            f"--step-time {output.quoted(text)} is {name_of(found.dimension)}; write a time such as `200ms`"
        )
    if found.value == 0:
        raise CannotWork("--step-time is zero; write the time of a step without communication, such as `200ms`")
    return float(found.value)


def _as_text(found: Explanation) -> str:
    lines = [f"plan {visible(found.plan.name)} ({_place(found.plan.span)})"]
    lines.extend(f"engine {engine.name}: {engine.convention}" for engine in found.engines)
    lines.extend(("", "fields"))
    width = max((len(field.path) + len(field.text) for field, _ in found.fields), default=0) + 3
    lines.extend(
        f"  {f'{field.path} = {visible(field.text)}':<{width}}  {_origin(field.path, at)}" for field, at in found.fields
    )
    lines.extend(("", "derived numbers"))
    for path in dict.fromkeys(number.path for number in found.numbers):
        lines.extend(_number_lines([number for number in found.numbers if number.path == path]))
    lines.extend(("", f"note: {MEMORY_NOTE}"))
    return "\n".join(lines) + "\n"


def _number_lines(numbers: list[Number]) -> list[str]:
    """The lines of one derived number, which several engines may give different values."""
    first = numbers[0]
    values = ", ".join(_value(number) + _of_engines(number) for number in numbers)
    lines = [f"  {first.path} = {values}", f"      {first.meaning}", f"      formula: {first.formula}"]
    for number in numbers:
        inputs = ", ".join(f"{given.path} = {visible(given.text)}" for given in number.inputs)
        if inputs:
            lines.append(f"      {f'inputs{_of_engines(number)}:':<8} {inputs}")
    lines.append(f"      source:  {first.source}")
    if first.assumes:
        lines.append(f"      assumes: {first.assumes}")
    return lines


def _value(number: Number) -> str:
    if not isinstance(number.value, Unknown):
        return visible(number.text)
    needs = f"; it needs {', '.join(f'`{path}`' for path in number.missing)}" if number.missing else ""
    return f"unknown: {visible(number.text)}{needs}"


def _of_engines(number: Number) -> str:
    return f" [{', '.join(number.engines)}]" if number.engines else ""


def _origin(path: str, located: Located) -> str:
    equation = equation_of(path) if located.origin is Origin.SOLVED else ""
    return _ORIGINS[located.origin].format(place=_place(located.span)) + (f" from {equation}" if equation else "")


def _place(span: Any) -> str:
    return f"{visible(span.source.name)}:{span.line}:{span.column}"


def _as_data(found: Explanation) -> dict[str, Any]:
    return {
        "plan": found.plan.name,
        "file": found.plan.span.source.name,
        "line": found.plan.span.line,
        "column": found.plan.span.column,
        "engines": [{"name": engine.name, "convention": engine.convention} for engine in found.engines],
        "fields": [
            {
                "path": field.path,
                "value": field.value,
                "text": field.text,
                "origin": located.origin.value,
                "file": located.span.source.name,
                "line": located.span.line,
                "column": located.span.column,
            }
            for field, located in found.fields
        ],
        "numbers": [
            {
                "path": number.path,
                "engines": list(number.engines) or [engine.name for engine in found.engines],
                "unit": number.unit,
                "known": not isinstance(number.value, Unknown),
                "value": plain(number.value),
                "text": number.text,
                "missing": list(number.missing),
                "meaning": number.meaning,
                "formula": number.formula,
                "source": number.source,
                "assumes": number.assumes,
                "inputs": [
                    {"path": given.path, "value": plain(given.value), "text": given.text} for given in number.inputs
                ],
            }
            for number in found.numbers
        ],
    }


def parser() -> argparse.ArgumentParser:
    """The command line of `planc explain`."""
    made = Parser(prog="planc explain", description="Show every derived number of a plan with its formula and inputs.")
    made.add_argument("file", metavar="FILE", help="the plan file")
    made.add_argument("--plan", action="append", default=[], metavar="NAME", help="only this plan; may be repeated")
    made.add_argument(
        "--step-time",
        metavar="TIME",
        help="time of a step without communication, such as 200ms: gives the share that communication would take, and "
        "tokens per second, MFU and HFU of a step that takes this long",
    )
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made
