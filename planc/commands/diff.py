"""`planc diff`: what changes between two plans, files or revisions of one, and what that does to every number."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import Configurations
from planc.commands.files import Files, Revision
from planc.commands.output import CannotWork, did_you_mean, quoted
from planc.commands.reading import read_all
from planc.commands.settling import settle
from planc.compiler import analyse, judge
from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.model import Plan
from planc.reporting.configuration import Chosen
from planc.showing.changes import changes_of, found_of
from planc.showing.comparison import Comparison, comparison_text
from planc.source import Source, Span


class State(NamedTuple):
    """A file in one of the two states: its plans, and what is said of it; `name` is what it is called.

    of_plans: of each plan what is said of it alone; others: what is said of the file.
    """

    name: str
    plans: tuple[Plan, ...]
    of_plans: tuple[tuple[Diagnostic, ...], ...]
    others: tuple[Diagnostic, ...]


class _Reader(NamedTuple):
    files: Files
    configurations: Configurations


def run(arguments: list[str]) -> int:
    """Exit status: with `--exit-code` 1 if anything differs; else 0, also where plans have errors."""
    options = parsed(parser(), arguments)
    files = Files()
    reader = _Reader(files, Configurations(files))
    compared = [_between(reader, options)] if options.against is None else list(_against(reader, options))
    if options.output_format == "json":
        import json

        from planc.showing.comparison_data import comparison_data

        output.write(json.dumps({"version": 1, "comparisons": list(map(comparison_data, compared))}, indent=2) + "\n")
    elif options.output_format == "markdown":
        from planc.showing.comparison_markdown import comparison_markdown

        output.write("\n".join(map(comparison_markdown, compared)) or "No plan differs.\n")
    else:
        color = output.in_color(options.color, sys.stdout)
        output.write("\n".join(comparison_text(each, color) for each in compared) or "No plan differs.\n")
    return 1 if options.exit_code and any(compared) else 0


def _between(reader: _Reader, options: argparse.Namespace) -> Comparison:
    """The comparison of the two files that are named, or of one with itself."""
    if not options.files or 2 < len(options.files):
        raise CannotWork(f"name one or two plan files, not {len(options.files)}; see {quoted('planc diff --help')}")
    if 2 < len(options.plan):
        raise CannotWork("name one plan, or two that are compared, not more")
    first, last, settings = options.files[0], options.files[-1], tuple(options.set)
    alone = len(options.files) == 1
    if alone and len(options.plan) < 2 and not settings:
        raise CannotWork(
            "with what is it to be compared? Name a second file, `--against REVISION`, two plans of the file with "
            "`--plan`, or what is to be set with `--set`"
        )
    old = _state(reader, first, _named(reader, first), ())
    new = old if alone and not settings else _state(reader, last, _named(reader, last), settings)
    pairs = _chosen_pairs(old, new, options.plan)
    if not (old.plans or new.plans or old.others or new.others):
        raise CannotWork(f"neither {quoted(first)} nor {quoted(last)} defines a plan")
    if not pairs and old.plans and new.plans:
        raise CannotWork(
            f"{quoted(first)} and {quoted(last)} share no plan: {_listing(old)} and {_listing(new)}; "
            "name one of each with `--plan`"
        )
    return _comparison(old, new, pairs, options.plan)


def _against(reader: _Reader, options: argparse.Namespace) -> Iterator[Comparison]:
    """The comparison of each plan file with what it was in a revision; of a folder, of the files that differ."""
    from planc.commands.revisions import plan_files, revision

    for name in options.files or ["."]:
        is_folder = os.path.isdir(name)
        before = revision(options.against, name if is_folder else os.path.dirname(name))
        paths = [name]
        if is_folder:
            is_excluded = reader.configurations.is_excluded
            read = read_all(reader.files, (name,), is_excluded)
            for path, reason in read.unread:
                raise CannotWork(f"cannot read {quoted(path)}: {reason}")
            old = (path for path in plan_files(options.against, name) if not is_excluded(path))
            paths = sorted({*read.names, *old}, key=lambda path: path.split(os.sep))
        for path in paths:
            compared = _with_revision(reader, before, path, options)
            if compared is not None and (compared or not is_folder):
                yield compared


def _with_revision(reader: _Reader, before: Revision, path: str, options: argparse.Namespace) -> Comparison | None:
    """The comparison of a file with itself in a revision; None if it has no plan that was asked for."""
    was, shown, is_there = reader.files.read_from(before, path), f"{path}@{before.name}", os.path.lexists(path)
    if isinstance(was, str) and not is_there:
        raise CannotWork(f"there is no {quoted(path)}, neither here nor in {quoted(before.name)}: {was}")
    old = State(shown, (), (), ()) if isinstance(was, str) else _state(reader, shown, was, ())
    new = _state(reader, path, _named(reader, path), tuple(options.set)) if is_there else State(path, (), (), ())
    names = {plan.name for plan in (*old.plans, *new.plans)}
    if options.plan and names.isdisjoint(options.plan):
        return None
    old, new = (_with_plans(state, options.plan) for state in (old, new))
    return _comparison(old, new, _pairs_by_name(old, new), [])


def _named(reader: _Reader, name: str) -> Source | Diagnostic:
    """A file of the command line: one on disk, standard input, or `FILE@REVISION`."""
    from planc.commands.revisions import is_file_of_revision, revision, split

    if os.path.isdir(name):
        raise CannotWork(
            f"{quoted(name)} is a folder; name the plan file, or compare a folder with `--against REVISION`"
        )
    if is_file_of_revision(name):
        path, of = split(name)
        reading = reader.files.read_from(revision(of, os.path.dirname(path)), path)
    else:
        reading = reader.files.read(name)
    if isinstance(reading, str):
        raise CannotWork(f"cannot read {quoted(name)}: {reading}")
    return reading


def _state(reader: _Reader, name: str, reading: Source | Diagnostic, settings: tuple[str, ...]) -> State:
    """What planc makes of a file; what rules say of each plan is told from what is said of the file."""
    shown = " ".join((name, *(f"--set {setting}" for setting in settings)))
    if isinstance(reading, Diagnostic):
        return State(shown, (), (), (reading,))
    sources = (reading,)
    house = reader.configurations.houses(sources)[reading]
    analysis = analyse(sources, reader.files.load, settings, None, house)
    said = settle(analysis.diagnostics, sources, reader.configurations, Chosen(), settings).diagnostics
    judged = [set(map(_key, judge(plan))) for plan in analysis.plans]
    of_plans = tuple(tuple(each for each in said if _key(each) in keys) for keys in judged)
    others = tuple(each for each in said if not any(_key(each) in keys for keys in judged))
    return State(shown, analysis.plans, of_plans, others)


def _key(diagnostic: Diagnostic) -> tuple[str, str, Span]:
    return diagnostic.code, diagnostic.message, diagnostic.primary.span


def _with_plans(state: State, names: Sequence[str]) -> State:
    """The state with these plans only, or as it is if none is named."""
    kept = [at for at, plan in enumerate(state.plans) if not names or plan.name in names]
    return state._replace(
        plans=tuple(state.plans[at] for at in kept), of_plans=tuple(state.of_plans[at] for at in kept)
    )


def _chosen_pairs(old: State, new: State, names: Sequence[str]) -> list[tuple[int, int]]:
    """The plans that are compared, by their places in both files: those that are named, or those of one name."""
    if not names:
        return _pairs_by_name(old, new)
    return [(_place(old, names[0]), _place(new, names[-1]))]


def _pairs_by_name(old: State, new: State) -> list[tuple[int, int]]:
    """The plans of one name, or the only plan of each file."""
    places = {plan.name: at for at, plan in enumerate(old.plans)}
    found = [(places[plan.name], at) for at, plan in enumerate(new.plans) if plan.name in places]
    return found or ([(0, 0)] if len(old.plans) == 1 == len(new.plans) else [])


def _place(state: State, name: str) -> int:
    known = [plan.name for plan in state.plans]
    if name not in known:
        hint = did_you_mean(name, known)
        raise CannotWork(f"no plan {quoted(name)} in {quoted(state.name)}{hint}; it has {_listing(state)}")
    return known.index(name)


def _listing(state: State) -> str:
    return ", ".join(quoted(plan.name) for plan in state.plans) or "none"


def _comparison(old: State, new: State, pairs: list[tuple[int, int]], names: Sequence[str]) -> Comparison:
    """The comparison of the pairs; where plans were named, others are left out."""
    changes = tuple(
        changes_of(old.plans[left], new.plans[right], {}, found_of(old.of_plans[left], new.of_plans[right]))
        for left, right in pairs
    )
    gone = () if names else _others(old, {left for left, _ in pairs})
    added = () if names else _others(new, {right for _, right in pairs})
    return Comparison(old.name, new.name, found_of(old.others, new.others), changes, gone, added)


def _others(state: State, paired: set[int]) -> tuple[Plan, ...]:
    return tuple(plan for at, plan in enumerate(state.plans) if at not in paired)


def parser() -> argparse.ArgumentParser:
    """The command line of `planc diff`."""
    made = Parser(
        prog="planc diff",
        description="Show what changes between two plans, and what that does to every derived number.",
        epilog="FILE may be FILE@REVISION, such as run.plan@HEAD~1: the file as git has it in that revision.",
    )
    made.add_argument(
        "files", nargs="*", metavar="FILE|DIR", help="OLD and NEW; or one file, with --against, --plan or --set"
    )
    made.add_argument(
        "--against",
        metavar="REVISION",
        help="compare files, or the plan files of folders (default: the current one), with a revision",
    )
    made.add_argument(
        "--plan",
        action="append",
        default=[],
        metavar="NAME",
        help="only this plan; given twice, the old and the new one",
    )
    made.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE",
        help="set a field in the new state, such as --set parallel.tensor=4: what if? May be repeated",
    )  # fmt: skip
    made.add_argument("--exit-code", action="store_true", help="end with 1 if anything differs, as `git diff` does")
    made.add_argument("--output-format", choices=("text", "markdown", "json"), default="text", help="default: text")
    made.add_argument(
        "--markdown",
        dest="output_format",
        action="store_const",
        const="markdown",
        help="the same as --output-format markdown, for a comment on a change",
    )
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    return made
