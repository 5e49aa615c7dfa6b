"""`planc explain`: what a plan comes to, every derived number with its formula and inputs, or the terms of one."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import Configurations
from planc.commands.files import Files
from planc.commands.output import CannotWork, as_text, is_error
from planc.commands.reading import SET, chosen_plans, read_one
from planc.commands.settling import settle
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic
from planc.explanation import MEMORY_NOTE, STEP_TIME, explain
from planc.reporting.configuration import Chosen

if TYPE_CHECKING:
    from planc.plan.model import Plan

_MORE = "`--all` shows every number with its formula, `--why NUMBER` the terms of one"
_WIDTHS = (80, 120)  # columns: what a narrower or wider terminal is taken for


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
    given = {} if step_seconds is None else {STEP_TIME: step_seconds}
    _refuse_unknown(plans, options.why)
    if given:
        _warn_of_impossible(plans, given, options.step_time)
    ranks = _ranks(plans, options)
    if options.output_format == "json":
        _write_json(plans, given, options.why, ranks)
    elif ranks is not None:
        from planc.showing.ranking import ranks_text

        output.write("\n".join(ranks_text(plan, ranks, _width()) for plan in plans))
    elif options.why:
        _write_trees(plans, given, options.why)
    elif options.all:
        from planc.showing.full import full_text

        output.write("\n".join(full_text(explain(plan, step_seconds)) for plan in plans))
    elif plans:
        from planc.showing.page import page_text

        output.write("\n".join((*(page_text(plan, given, _width()) for plan in plans), f"{_MORE}\n")))
    return 1 if failed else 0


def _write_json(plans: list[Plan], given: dict[str, Any], why: list[str], ranks: list[range] | None) -> None:
    import json

    from planc.showing.document import plan_data
    from planc.showing.why import tree_data, trees

    shown = []
    for plan in plans:
        data = plan_data(explain(plan, given.get(STEP_TIME)))
        if why:
            data["why"] = [tree_data(tree) for path in why for tree in trees(plan, path, given)]
        if ranks is not None:
            from planc.showing.ranking import ranks_data

            data["ranks"] = ranks_data(plan, ranks)
        shown.append(data)
    output.write(json.dumps({"version": 1, "note": MEMORY_NOTE, "plans": shown}, indent=2) + "\n")


def _write_trees(plans: list[Plan], given: dict[str, Any], why: list[str]) -> None:
    """The trees of the numbers that were asked for; the plan stands above its trees where there are several."""
    from planc.showing.origins import place_text
    from planc.showing.why import tree_text, trees

    width, parts = _width(), []
    for plan in plans:
        if 1 < len(plans):
            parts.append(f"plan {plan.name} ({place_text(plan.span)})\n")
        for path in why:
            found = trees(plan, path, given)
            parts.extend(tree_text(tree, 1 < len(found), width) for tree in found)
    output.write("\n".join(parts))


def _refuse_unknown(plans: list[Plan], why: list[str]) -> None:
    from planc.diagnostics.amounts import either
    from planc.showing.why import is_path, known_paths, named_like

    for path in why:
        if plans and not any(is_path(plan, path) for plan in plans):
            known = known_paths(plans)
            alike = either([f"`{name}`" for name in named_like(path, known)])
            hint = f"; did you mean {alike}?" if alike else output.did_you_mean(path, known)
            raise CannotWork(f"no number and no field {output.quoted(path)}{hint}; `planc explain --all` lists them")


def _warn_of_impossible(plans: list[Plan], given: dict[str, Any], written: str) -> None:
    """Says of a measured time that no card could be so fast."""
    from planc.explanation import value_text
    from planc.facts.engine import engines
    from planc.facts.facts import Facts
    from planc.plan.model import Unknown

    for plan in plans:
        facts = Facts(plan, engines(plan)[0], given)
        used = facts["step.mfu"] if isinstance(facts["step.hfu"], Unknown) else facts["step.hfu"]
        if not isinstance(used, Unknown) and 1 < used:
            output.complain(
                f"planc: warning: --step-time {output.quoted(written)} is impossible: the FLOPs of plan "
                f"{output.quoted(plan.name)} would be {value_text('step.hfu', used)} of what its cards can do\n"
            )


def _ranks(plans: list[Plan], options: argparse.Namespace) -> list[range] | None:
    """The ranks that were chosen, none for the first ones; None where ranks were not asked for."""
    if not options.ranks and not options.rank:
        return None
    if options.output_format == "text" and (options.why or options.all):
        raise CannotWork(
            "--ranks shows no numbers: leave `--why` and `--all` out, or ask for JSON, which has all of it"
        )
    from planc.commands.ranking import chosen_ranks

    return chosen_ranks(plans, options.rank)


def _width() -> int:
    """Columns of the terminal, within reason; 100 where there is none: what is stored is the same everywhere."""
    if sys.stdout is None or not sys.stdout.isatty():
        return 100
    from shutil import get_terminal_size

    return min(max(get_terminal_size((100, 24)).columns, _WIDTHS[0]), _WIDTHS[1])


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
        raise CannotWork("--step-time is zero; write the measured time of a step, such as `200ms`")
    return float(found.value)


def parser() -> argparse.ArgumentParser:
    """The command line of `planc explain`."""
    made = Parser(
        prog="planc explain",
        description="Show what a plan comes to: memory, step and run; or all its numbers, or one with its terms.",
    )
    made.add_argument("file", metavar="FILE", help="the plan file")
    made.add_argument("--plan", action="append", default=[], metavar="NAME", help="only this plan; may be repeated")
    made.add_argument(
        "--step-time",
        metavar="TIME",
        help="measured time of a step, such as 200ms: tokens per second, MFU, HFU and what the run costs are then "
        "those of a step that takes this long, in place of the predicted time",
    )
    made.add_argument(
        "--all", action="store_true", help="every number with its formula, inputs, source and assumptions"
    )
    made.add_argument(
        "--why",
        action="append",
        default=[],
        metavar="PATH",
        help="why a number is what it is: the tree of its terms down to the fields, such as --why memory.total; "
        "may be repeated",
    )
    made.add_argument(
        "--ranks", action="store_true", help="which rank sits on which node, and in which group along each axis"
    )
    made.add_argument(
        "--rank",
        action="append",
        default=[],
        metavar="LIST",
        help="as --ranks, of these ranks only, such as --rank 0-15,256; may be repeated",
    )
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made
