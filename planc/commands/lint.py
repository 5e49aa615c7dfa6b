"""`planc lint`: reads plans, has them analysed, and reports what is wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from planc.commands import output
from planc.commands.configuring import CONFIG, FORCE_EXCLUDE, NO_CONFIG, Configurations
from planc.commands.files import ENDING, Files
from planc.commands.finding import analyse_all, analyse_whole
from planc.commands.output import CannotWork
from planc.commands.reading import SET, Read, read_all
from planc.commands.settling import settle
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.reporting.configuration import Chosen
from planc.source import Source

if TYPE_CHECKING:
    import argparse

    from planc.commands.mending import Mended
    from planc.commands.native import Natives
    from planc.commands.unseen import Unseen
    from planc.diagnostics.report import Kind

#: Diagnostics that are written out as text; nobody reads on, and a broken tree may hold ten thousand.
MOST_SHOWN = 1000

_MOST_NAMED = 3  # codes that the last line offers to explain

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


class Options(NamedTuple):
    """What `planc lint` was asked for; `parser` says what each means."""

    files: tuple[str, ...] = (".",)
    output_format: str = "text"
    color: str = "auto"
    chosen: Chosen = Chosen()
    settings: tuple[str, ...] = ()
    use_cache: bool = True
    quiet: bool = False
    statistics: bool = False
    exit_zero: bool = False
    show_skipped: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    config: str | None = None
    use_config: bool = True
    baseline: str | None = None
    write_baseline: bool = False
    stdin_filename: str | None = None
    force_exclude: bool = False
    checkpoint: str | None = None
    kind: str | None = None
    cluster: str | None = None
    model: str | None = None
    world: int | None = None
    trainer: str | None = None


class Outcome(NamedTuple):
    """What one run has to say. `num_known` of the findings were in a baseline, of whose entries `num_gone` are gone."""

    diagnostics: tuple[Diagnostic, ...]
    unseen: Unseen | None = None
    mended: Mended | None = None
    num_known: int = 0
    num_gone: int = 0
    unwritten: tuple[tuple[str, str], ...] = ()


def run(arguments: list[str]) -> int:
    """Exit status: 2 if a file could not be read or written, else 1 if there is an error, else 0."""
    options = _options(arguments)
    files = Files(options.stdin_filename)
    configurations = Configurations(files, options.config, options.use_config)
    names = configurations.included(options.files) if options.force_exclude else options.files
    natives = _natives(files, options)
    read = read_all(files, names, configurations.is_excluded, natives)
    outcome = _judge(read, files, configurations, options, natives)
    if options.write_baseline or options.baseline is not None or configurations.have_baseline(read.sources):
        from planc.commands.known import compare, write

        if options.write_baseline:
            output.write(write(outcome.diagnostics, read.sources, files, configurations, options.baseline))
            return 2 if read.unread else 0
        known = compare(outcome.diagnostics, read.sources, files, configurations, options.baseline)
        outcome = outcome._replace(diagnostics=known.diagnostics, num_known=known.num_known, num_gone=known.num_gone)
    if options.diff and outcome.mended is not None:
        _show_difference(outcome.mended, options.unsafe_fixes)
    else:
        _show(outcome, read, options)
    for name, reason in read.unread:
        output.complain(f"planc: cannot read {output.quoted(name)}: {reason}\n")
    for name, reason in outcome.unwritten:
        output.complain(f"planc: cannot write {output.quoted(name)}: {reason}\n")
    if read.unread or outcome.unwritten:
        return 2
    if options.diff:
        return 1 if outcome.mended is not None and outcome.mended.applied else 0
    return 1 if not options.exit_zero and any(map(output.is_error, outcome.diagnostics)) else 0


def _natives(files: Files, options: Options) -> Natives | None:
    """The files of other tools; None where nothing but plans was named, as by a hook."""
    if _are_plans(options) and not _is_other(files, options):
        given = (options.kind, options.cluster, options.model, options.world, options.trainer)
        if any(option is not None for option in given):
            reason = "what is said beside the files of other tools does not go with plans alone: they say it all"
            raise CannotWork(reason)
        return None
    from planc.commands.beside import Asked, beside
    from planc.commands.native import Natives

    asked = Asked(options.cluster, options.model, options.world, options.trainer)
    return Natives(files, options.kind, *beside(files, asked, options.settings))


def _are_plans(options: Options) -> bool:
    """Whether nothing but plans is named; standard input is one, unless it is said to be of another kind."""
    return all(name.endswith(ENDING) or (name == "-" and options.kind is None) for name in options.files)


def _is_other(files: Files, options: Options) -> bool:
    """Whether what is on standard input begins as no plan does: as JSON, YAML, TOML or a script."""
    reading = files.read("-") if "-" in options.files else None
    if not isinstance(reading, Source) or reading.name.endswith(ENDING):
        return False
    from planc.native.recognising import format_of

    return format_of(reading) is not None


def _judge(
    read: Read, files: Files, configurations: Configurations, options: Options, natives: Natives | None
) -> Outcome:
    """What is reported of the files; with `--fix`, of what they have become."""

    def found(sources: tuple[Source, ...], use_cache: bool) -> tuple[Diagnostic, ...]:
        houses = configurations.houses(sources)
        plans, others = (sources, ()) if natives is None else natives.split(sources)
        if options.checkpoint is None:
            diagnostics = analyse_all(plans, files, options.settings, houses, use_cache)
        else:
            from planc.commands.resumed import of_checkpoint

            diagnostics, analyses = analyse_whole(plans, files, options.settings, houses)
            diagnostics = (*diagnostics, *of_checkpoint(options.checkpoint, analyses))
        judged = None if natives is None else natives.judged(others, houses)
        all_found = (*read.diagnostics, *diagnostics, *(() if judged is None else judged.diagnostics))
        layouts = None if judged is None else judged.layouts
        return settle(all_found, sources, configurations, options.chosen, options.settings, layouts).diagnostics

    if options.fix or options.diff:
        from planc.commands.mending import mend_all

        mended = mend_all(read.sources, files, lambda sources: found(sources, False), options.unsafe_fixes)
        if options.diff:
            return Outcome(mended.diagnostics, mended=mended)
        from planc.commands.mending import write_all

        written, unwritten = write_all(mended, files, lambda sources: found(sources, False))
        return Outcome(written.diagnostics, mended=written, unwritten=unwritten)
    if options.show_skipped:
        houses = configurations.houses(read.sources)
        plans, others = (read.sources, ()) if natives is None else natives.split(read.sources)
        raw, analyses = analyse_whole(plans, files, options.settings, houses)
        judged = None if natives is None else natives.judged(others, houses)
        all_found = (*read.diagnostics, *raw, *(() if judged is None else judged.diagnostics))
        layouts = None if judged is None else judged.layouts
        settled = settle(all_found, read.sources, configurations, options.chosen, options.settings, layouts)
        from planc.commands.unseen import unseen

        others_skipped = () if judged is None else judged.skipped
        return Outcome(settled.diagnostics, unseen=unseen(analyses, others_skipped, options.world is not None))
    return Outcome(found(read.sources, options.use_cache))


def _show(outcome: Outcome, read: Read, options: Options) -> None:
    diagnostics = in_order(outcome.diagnostics)
    if options.statistics:
        from planc.commands import statistics

        output.write(statistics.render(diagnostics, options.output_format))
        return
    if options.output_format != "text":
        from importlib import import_module

        from planc.diagnostics.report import Report

        kinds: tuple[Kind, ...] = ()
        if options.output_format == "sarif":
            from planc.kinds import kinds_of

            kinds = kinds_of(diagnostics)
        unseen = outcome.unseen
        skipped, verify = (None, None) if unseen is None else ((*unseen.skipped, *unseen.others), unseen.verify)
        report = Report(diagnostics, read.names, read.unread, kinds, skipped, verify)
        output.write(import_module(f"planc.diagnostics.{options.output_format}").render(report))
        return
    if diagnostics:
        output.write(output.as_text(diagnostics[:MOST_SHOWN], output.in_color(options.color, sys.stdout)))
    if MOST_SHOWN < len(diagnostics):
        output.write(f"\n... and {len(diagnostics) - MOST_SHOWN} more; `--output-format json` holds them all\n")
    if options.quiet:
        return
    ours = tuple(found for found in diagnostics if found.primary.span.source in read.sources)
    lines = [_summary(outcome, diagnostics, len(read.names)), *_hints(outcome, ours, options)]
    if diagnostics and sys.stdout is not None and sys.stdout.isatty():  # for a person; a log says it often enough
        codes = list(dict.fromkeys(found.code for found in diagnostics))
        lines.append(f"`planc rule {' '.join(codes[:_MOST_NAMED])}` says why, and what would work.")
    if outcome.unseen is not None:
        from planc.commands.unseen import lines_of

        lines.extend(lines_of(outcome.unseen))
    output.write("\n" * bool(diagnostics) + "".join(f"{line}\n" for line in lines))


def _show_difference(mended: Mended, unsafe: bool) -> None:
    from planc.commands.difference import difference

    for before, after, _ in mended.applied:
        output.write(difference((before.name, before.name), ("as it is", "mended"), before.text, after.text))
    count = sum(len(applied) for _, _, applied in mended.applied)
    more = 0 if unsafe else sum(_is_mendable(found, mended.sources) for found in mended.diagnostics)
    others = f"; {plural(more, 'fault')} with `--unsafe-fixes`" if more else ""
    output.complain(f"planc: {plural(count, 'fault') + ' would be' if count else 'nothing'} mended{others}\n")


def _is_mendable(found: Diagnostic, sources: tuple[Source, ...]) -> bool:
    from planc.reporting.fixing import repair_of

    return found.primary.span.source in sources and repair_of(found, unsafe=True) is not None


def _summary(outcome: Outcome, diagnostics: tuple[Diagnostic, ...], num_files: int) -> str:
    if num_files == 0:
        return "No plan files or configurations of other tools were read."
    counts = {
        severity: sum(diagnostic.severity is severity for diagnostic in diagnostics)
        for severity in (Severity.ERROR, Severity.WARNING)
    }
    found = [plural(count, severity.value) for severity, count in counts.items() if count]
    num_mended = sum(len(applied) for _, _, applied in outcome.mended.applied) if outcome.mended is not None else 0
    mended = f"Mended {plural(num_mended, 'fault')}; found" if num_mended else "Found"
    known = f" besides {outcome.num_known} in the baseline" if outcome.num_known else ""
    return f"{mended} {' and '.join(found) or 'no faults'}{known} in {plural(num_files, 'file')}."


def _hints(outcome: Outcome, diagnostics: tuple[Diagnostic, ...], options: Options) -> list[str]:
    hints = []
    safe = unsafe = 0
    if any(found.fixes for found in diagnostics):
        from planc.reporting.fixing import repair_of

        safe = sum(repair_of(found, unsafe=False) is not None for found in diagnostics)
        unsafe = sum(repair_of(found, unsafe=True) is not None for found in diagnostics) - safe
    if safe and not options.fix:
        hints.append(f"{plural(safe, 'fault')} can be mended with `--fix`.")
    if unsafe and not options.unsafe_fixes:
        hints.append(f"{plural(unsafe, 'fault')} can be mended with `--unsafe-fixes`.")
    if outcome.num_gone:
        verb = "is" if outcome.num_gone == 1 else "are"
        gone = f"{plural(outcome.num_gone, 'finding')} of the baseline {verb} gone"
        hints.append(f"{gone}; `--write-baseline` drops {'it' if outcome.num_gone == 1 else 'them'}.")
    return hints


def _options(arguments: list[str]) -> Options:
    if not any(argument.startswith("-") and argument != "-" for argument in arguments):
        return Options(tuple(arguments) or (".",))  # a hook passes nothing but files; argparse is a tenth of a start
    from planc.commands.arguments import parsed

    found = parsed(parser(), arguments)
    options = Options(
        files=tuple(found.files) or (".",),
        output_format=found.output_format,
        color=found.color,
        chosen=_chosen(found),
        settings=tuple(found.set),
        use_cache=not found.no_cache,
        quiet=found.quiet,
        statistics=found.statistics,
        exit_zero=found.exit_zero,
        show_skipped=found.show_skipped,
        fix=found.fix or (found.unsafe_fixes and not found.diff),
        unsafe_fixes=found.unsafe_fixes,
        diff=found.diff,
        config=found.config,
        use_config=not found.no_config,
        baseline=found.baseline,
        write_baseline=found.write_baseline,
        stdin_filename=found.stdin_filename,
        force_exclude=found.force_exclude,
        checkpoint=found.checkpoint,
        kind=found.kind,
        cluster=found.cluster,
        model=found.model,
        world=found.world,
        trainer=found.trainer,
    )
    _check(options)
    return options


def _check(options: Options) -> None:
    """Refuses options that do not go together."""
    if options.statistics and options.output_format not in ("text", "json"):
        raise CannotWork("`--statistics` is shown as `text` or `json`")
    if options.show_skipped and (options.output_format not in ("text", "json") or options.statistics or options.quiet):
        raise CannotWork("`--show-skipped` goes with `--output-format text` or `json` only")
    if options.show_skipped and (options.fix or options.diff):
        raise CannotWork("`--show-skipped` does not go with `--fix` or `--diff`")
    if options.fix and not options.diff and "-" in options.files:
        raise CannotWork("standard input cannot be mended in place; `--diff` shows what would change")
    if options.write_baseline and (options.fix or options.diff):
        raise CannotWork("`--write-baseline` does not go with `--fix` or `--diff`")
    if options.write_baseline and (options.chosen.select is not None or options.chosen.ignore is not None):
        raise CannotWork("a baseline holds every finding: `--write-baseline` does not go with `--select` or `--ignore`")
    if options.write_baseline and "-" in options.files:
        raise CannotWork("standard input has no place in a baseline")
    if options.stdin_filename is not None and "-" not in options.files:
        raise CannotWork("`--stdin-filename` names standard input, which is not read; add `-`")
    if options.checkpoint is not None and (options.fix or options.diff or options.show_skipped):
        raise CannotWork("`--checkpoint` does not go with `--fix`, `--diff` or `--show-skipped`")
    if options.settings and (options.fix or options.diff):
        raise CannotWork("`--set` does not go with `--fix` or `--diff`: what it sets is in no file")


def _chosen(found: argparse.Namespace) -> Chosen:
    return Chosen(
        _entries("--select", found.select),
        _entries("--ignore", found.ignore),
        ("all",) if found.warn_as_error else None,
        Severity(found.min_severity) if found.min_severity else None,
    )


def _entries(option: str, values: list[str] | None) -> tuple[str, ...] | None:
    """The codes and names of an option that may be repeated and take several by commas."""
    if values is None:
        return None
    from planc.commands.configuring import known_rules
    from planc.reporting.configuration_text import wrong_entry
    from planc.reporting.selection import ALL, is_policy

    entries = tuple(entry.strip() for value in values for entry in value.split(",") if entry.strip())
    for entry in entries:
        if entry != ALL and not is_policy(entry):
            problem = wrong_entry(entry, known_rules(), ignored=option == "--ignore")
            if problem is not None:
                raise CannotWork(f"{option} {output.quoted(entry)}: {problem[0]}; {problem[1]}")
    return entries


def parser() -> argparse.ArgumentParser:
    """The command line of `planc lint`."""
    from planc.commands.arguments import Parser, positive
    from planc.native.kind import TRAINERS
    from planc.native.kinds import kind_names

    kinds = kind_names()
    made = Parser(
        prog="planc lint",
        description="Report what is wrong with plans, and with the configurations of other tools. "
        "Exit status: 0 (warnings allowed), 1 errors, 2 a file could not be read or written.",
    )
    made.add_argument(
        "files",
        nargs="*",
        metavar="FILE|DIR|-",
        help="plan files, configurations of other tools, folders to search for both (what git ignores and repositories "
        "inside them are left out), or - for standard input; the current folder if nothing is named",
    )
    shown = made.add_argument_group("what is shown")
    shown.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    shown.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="default: auto, on a terminal; see NO_COLOR",
    )
    shown.add_argument("-q", "--quiet", action="store_true", help="show the diagnostics and nothing else")
    shown.add_argument("--statistics", action="store_true", help="show how often each rule is broken, not where")
    shown.add_argument(
        "--show-skipped",
        action="store_true",
        help="list the rules that lacked a number, with the field that supplies it, and what no file tells, with the "
        "command that shows it",
    )
    shown.add_argument("--exit-zero", action="store_true", help="exit with 0 even if there are errors")
    chosen = made.add_argument_group("what is reported", "RULES are codes, beginnings of codes (PLN1), names, or all")
    chosen.add_argument("--select", action="append", metavar="RULES", help="only these, by commas; may be repeated")
    chosen.add_argument("--ignore", action="append", metavar="RULES", help="all but these, by commas; may be repeated")
    chosen.add_argument("--warn-as-error", action="store_true", help="let warnings count as errors")
    chosen.add_argument(
        "--min-severity",
        choices=[severity.value for severity in Severity],
        help="the least that is shown; default: warning. info shows advice too",
    )
    chosen.add_argument("--baseline", metavar="FILE", help="leave out the findings that this file lists")
    chosen.add_argument(
        "--write-baseline",
        action="store_true",
        help="write all findings to the baseline (default: planc-baseline.json), and report none",
    )
    mended = made.add_argument_group("what is mended")
    mended.add_argument("--fix", action="store_true", help="apply the fixes that cannot change what a plan means")
    mended.add_argument("--unsafe-fixes", action="store_true", help="apply the other fixes too")
    mended.add_argument("--diff", action="store_true", help="show what --fix would change, and exit with 1 if anything")
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument(
        "--checkpoint", metavar="DIR", help="what plans with a `resume` section go on from; its files are looked at"
    )
    beside = made.add_argument_group("files of other tools", "what is not in them is unknown, and never guessed")
    beside.add_argument("--kind", choices=kinds, metavar="KIND", help=f"what the files are: {', '.join(kinds)}")
    beside.add_argument(
        "--cluster", metavar="FILE[:NAME]", help="the cluster, of a plan file, or a card of the catalogue"
    )
    beside.add_argument(
        "--model", metavar="FILE[:NAME]", help="a config.json, a model of a plan file, or one of the catalogue"
    )
    beside.add_argument("--world", type=positive, metavar="N", help="how many ranks the job has")
    beside.add_argument("--trainer", choices=TRAINERS, help="who reads a DeepSpeed file, and fills in `auto`")
    made.add_argument(
        "--stdin-filename", metavar="NAME", help="the file that standard input is, for `use` and settings"
    )
    made.add_argument("--force-exclude", **FORCE_EXCLUDE)  # type: ignore[arg-type]
    made.add_argument("--config", **CONFIG)  # type: ignore[arg-type]
    made.add_argument("--no-config", **NO_CONFIG)  # type: ignore[arg-type]
    made.add_argument("--no-cache", action="store_true", help="analyse every file, and keep nothing for the next run")
    return made
