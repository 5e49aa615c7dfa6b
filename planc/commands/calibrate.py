"""`planc calibrate`: predictions of plans beside what their runs measured, and the factors that follow.

What an argument is follows from its name: a file that ends in `.plan` is a plan, and the measurements behind it are of
it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import Configurations
from planc.commands.files import ENDING, Files
from planc.commands.measurements import read_measurements
from planc.commands.output import CannotWork, is_error
from planc.commands.reading import SET, chosen_plans, read_one
from planc.commands.settling import settle
from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible

if TYPE_CHECKING:
    from planc.measuring.comparison import Run
    from planc.measuring.series import Series
    from planc.plan.model import Plan
    from planc.source import Source

#: Steps that count as warm-up: kernels are chosen, memory is first allocated, the network's connections are made.
WARMUP = 5


def run(arguments: list[str]) -> int:
    """Exit status: 1 if a plan has errors, which leave some numbers unknown, else 0."""
    from planc.commands.calibration import as_data, as_text
    from planc.measuring.comparison import compare, warmup_only

    options = parsed(parser(), arguments)
    if options.skip < 0:
        raise CannotWork("--skip takes a number of steps from 0")
    files = Files()
    runs: list[Run] = []
    failed = False
    for plan_file, names in _groups(options.files):
        made, faulty = _runs(files, plan_file, names, options)
        runs.extend(made)
        failed = failed or faulty
    for each in runs:
        if warmup_only(each, options.skip):
            raise CannotWork(
                f"{output.quoted(each.series.source)}: each of its {plural(len(each.series.points), 'value')} holds "
                f"some of the first {plural(options.skip, 'step')}, which count as warm-up; `--skip 0` takes all"
            )
    comparison = compare(runs, options.skip)
    if options.output_format == "json":
        import json

        output.write(json.dumps(as_data(comparison), indent=2) + "\n")
    else:
        output.write(as_text(comparison))
    return 1 if failed else 0


def _groups(names: list[str]) -> list[tuple[str, list[str]]]:
    """Each plan file with the measurements behind it."""
    found: list[tuple[str, list[str]]] = []
    for name in names:
        if name.endswith(ENDING):
            found.append((name, []))
        elif not found:
            raise CannotWork(f"{output.quoted(name)} stands before any plan; write `run{ENDING} LOG`")
        else:
            found[-1][1].append(name)
    for plan_file, logs in found:
        if not logs:
            usage = output.quoted(f"planc calibrate {plan_file} LOG")
            raise CannotWork(f"no measurement follows {output.quoted(plan_file)}; write {usage}")
    return found


def _runs(files: Files, plan_file: str, names: list[str], options: argparse.Namespace) -> tuple[list[Run], bool]:
    """The runs that files measured of one file's plans, and whether that has errors, which are shown."""
    from planc.measuring.comparison import Run, engine_of
    from planc.reporting.configuration import Chosen

    read = read_one(files, plan_file)
    analyses = _Analyses(files, read.sources, tuple(options.set))
    found = (*read.diagnostics, *analyses.diagnostics(()))
    diagnostics = settle(found, read.sources, analyses.configurations, Chosen(), options.set).diagnostics
    output.complain(output.as_text(filter(is_error, diagnostics), output.in_color(options.color, sys.stderr)))
    failed = any(map(is_error, diagnostics))
    if failed and not analyses.plans(()):
        raise CannotWork(f"{output.quoted(plan_file)} has no plan that can be calibrated")
    runs = []
    for name in names:
        for series in read_measurements(name):
            plan = _plan(analyses, series, plan_file, options.plan)
            named = _of_engine(series, plan, options.engine)
            runs.append(Run(plan, named, engine_of(plan, named)))
    return runs, failed


class _Analyses:
    """The plans of one file under the settings of measurements, each analysed once."""

    __slots__ = ("_files", "_found", "_settings", "_sources", "configurations")

    def __init__(self, files: Files, sources: tuple[Source, ...], settings: tuple[str, ...]) -> None:
        self._files = files
        self._sources = sources
        self._settings = settings
        self._found: dict[tuple[str, ...], Any] = {}
        self.configurations = Configurations(files)

    def plans(self, settings: tuple[str, ...]) -> tuple[Plan, ...]:
        """The plans with more fields set."""
        plans: tuple[Plan, ...] = self._analysis(settings).plans
        return plans

    def diagnostics(self, settings: tuple[str, ...]) -> tuple[Any, ...]:
        """What is wrong with them."""
        diagnostics: tuple[Any, ...] = self._analysis(settings).diagnostics
        return diagnostics

    def _analysis(self, settings: tuple[str, ...]) -> Any:
        if settings not in self._found:
            from planc.compiler import analyse

            house = next(iter(self.configurations.houses(self._sources).values()), None)
            self._found[settings] = analyse(self._sources, self._files.load, (*self._settings, *settings), None, house)
        return self._found[settings]


def _plan(analyses: _Analyses, series: Series, plan_file: str, chosen: str | None) -> Plan:
    """The plan that a series is of."""
    from planc.plan.overrides import NAME

    for found in analyses.diagnostics(series.settings) if series.settings else ():
        if is_error(found) and found.primary.span.source.name == NAME:
            text = found.primary.span.source.text
            raise CannotWork(f"{output.quoted(series.source)} sets {output.quoted(text)}: {visible(found.message)}")
    name = series.plan or chosen
    plans = chosen_plans(analyses.plans(series.settings), (name,) if name else (), plan_file)
    if 1 < len(plans):
        listing = ", ".join(output.quoted(plan.name) for plan in plans)
        raise CannotWork(
            f"{output.quoted(plan_file)} has several plans, {listing}: name the one that "
            f"{output.quoted(series.source)} is of with `--plan`, or in a column `plan`"
        )
    return plans[0]


def _of_engine(series: Series, plan: Plan, chosen: str | None) -> Series:
    """A series with the engine that it names itself, else the one that is chosen."""
    from planc.facts.engine import engines

    name = series.engine or chosen or ""
    names = [engine.name for engine in engines(plan)]
    if name and name not in names:
        guess = output.did_you_mean(name, names) or f"; it has {', '.join(map(output.quoted, names))}"
        raise CannotWork(f"plan {output.quoted(plan.name)} is not emitted for an engine {output.quoted(name)}{guess}")
    return series._replace(engine=name)


def parser() -> argparse.ArgumentParser:
    """The command line of `planc calibrate`."""
    made = Parser(
        prog="planc calibrate",
        description="Show predictions of plans beside what their runs measured, and the factors that a plan may state "
        "in `calibration { }`. Reads logs of Megatron-LM, torchtitan and DeepSpeed, and tables (.csv, .jsonl).",
    )
    made.add_argument(
        "files",
        nargs="+",
        metavar="PLAN|LOG",
        help="a plan file, then the logs and tables that are of it; then more such",
    )
    made.add_argument("--plan", metavar="NAME", help="the plan that is meant where a file has several")
    made.add_argument("--engine", metavar="ENGINE", help="the engine that is meant where a plan is emitted for several")
    made.add_argument(
        "--skip",
        type=int,
        default=WARMUP,
        metavar="STEPS",
        help=f"steps of a run that count as warm-up; default: {WARMUP}",
    )
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made
