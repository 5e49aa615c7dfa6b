"""`planc fmt`: gives plan files the canonical layout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from planc.commands import output
from planc.commands.configuring import CONFIG, FORCE_EXCLUDE, NO_CONFIG, Configurations
from planc.commands.difference import difference
from planc.commands.files import Files
from planc.commands.output import CannotWork
from planc.commands.reading import Read, read_all
from planc.commands.replacing import has_mark, replace_without_mark
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.diagnostics.text import visible
from planc.format.formatting import format_source, format_text
from planc.source import Source

if TYPE_CHECKING:
    import argparse

_STDIN = ("-",)

#: Files from which on it pays to start workers, and how many one is given at a time.
_ENOUGH, _CHUNK = 60, 20


class Options(NamedTuple):
    """What `planc fmt` was asked for; `parser` says what each means."""

    files: tuple[str, ...] = (".",)
    check: bool = False
    diff: bool = False
    color: str = "auto"
    stdin_filename: str | None = None
    config: str | None = None
    use_config: bool = True
    force_exclude: bool = False

    @property
    def only_shows(self) -> bool:
        """Whether nothing is written."""
        return self.check or self.diff


class Outcome(NamedTuple):
    """The canonical text of each source that can be read, what those that change are before, and what is wrong."""

    texts: dict[Source, str]
    changed: dict[Source, str]
    diagnostics: tuple[Diagnostic, ...]


def run(arguments: list[str]) -> int:
    """Exit status: 2 if a file could not be read or written, else 1 if a check found one that would change, else 0."""
    options = _options(arguments)
    files = Files(options.stdin_filename)
    configurations = Configurations(files, options.config, options.use_config)
    names = configurations.included(options.files) if options.force_exclude else options.files
    read = read_all(files, names, configurations.is_excluded)
    wrong_settings = in_order(filter(output.is_error, configurations.diagnostics))
    if wrong_settings:  # they may be to say which files are left alone
        output.complain(output.as_text(wrong_settings, output.in_color(options.color, sys.stderr)))
        return 2
    outcome = _formatted(read, files, options)
    if options.files == _STDIN and not options.only_shows:
        output.write("".join(outcome.texts.values()))
        unwritten: dict[Source, str] = {}
    else:
        unwritten = {} if options.only_shows else _write(outcome, files)
        _show(outcome, options, unwritten)
    output.complain(output.as_text(outcome.diagnostics, output.in_color(options.color, sys.stderr)))
    for name, reason in read.unread:
        output.complain(f"planc: cannot read {output.quoted(name)}: {reason}\n")
    for source, reason in unwritten.items():
        output.complain(f"planc: cannot write {output.quoted(source.name)}: {reason}\n")
    if outcome.diagnostics or read.unread or unwritten:
        return 2
    return 1 if outcome.changed and options.only_shows else 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc fmt`."""
    from planc.commands.arguments import Parser

    made = Parser(
        prog="planc fmt",
        description="Give plan files the one canonical layout, which docs/format.md describes. A file that cannot be "
        "read as a plan stays as it is, and what is wrong with it goes to standard error. "
        "Exit status: 0 all files have the layout now, 1 with --check or --diff a file would change, 2 a file could "
        "not be read, for its syntax or else, or not be written.",
    )
    made.add_argument(
        "files",
        nargs="*",
        metavar="FILE|DIR|-",
        help="plan files, and folders to search for *.plan as `planc lint` does; the current folder if nothing is "
        "named; or - alone, which formats standard input to standard output",
    )
    made.add_argument("--check", action="store_true", help="write nothing; name the files that would change")
    made.add_argument(
        "--diff", action="store_true", help="write nothing; show what would change, and nothing else on standard output"
    )
    made.add_argument("--stdin-filename", metavar="NAME", help="the name under which standard input is shown")
    made.add_argument("--force-exclude", **FORCE_EXCLUDE)  # type: ignore[arg-type]
    made.add_argument("--config", **CONFIG)  # type: ignore[arg-type]
    made.add_argument("--no-config", **NO_CONFIG)  # type: ignore[arg-type]
    made.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="of what is wrong with a file; default: auto",
    )
    return made


def _options(arguments: list[str]) -> Options:
    if not any(argument.startswith("-") for argument in arguments):
        return Options(tuple(arguments) or (".",))  # as from a hook; argparse takes a tenth of a start
    from planc.commands.arguments import parsed

    found = parsed(parser(), arguments)
    options = Options(
        tuple(found.files) or (".",),
        found.check,
        found.diff,
        found.color,
        found.stdin_filename,
        found.config,
        not found.no_config,
        found.force_exclude,
    )
    if "-" in options.files and {*options.files} != {"-"}:
        raise CannotWork("standard input is formatted to standard output, so it goes with no other file")
    if options.stdin_filename is not None and "-" not in options.files:
        raise CannotWork("`--stdin-filename` names standard input, which is not read; add `-`")
    return options._replace(files=_STDIN) if "-" in options.files else options


def _formatted(read: Read, files: Files, options: Options) -> Outcome:
    texts: dict[Source, str] = {}
    changed: dict[Source, str] = {}
    diagnostics = list(read.diagnostics)
    for source, text in zip(read.sources, _texts(read.sources), strict=True):
        if text is None:
            diagnostics.extend(format_source(source).diagnostics)
            continue
        texts[source] = text
        before = source.text
        if options.files != _STDIN and has_mark(files.place(source)):
            before = "\ufeff" + before
        if before != text:
            changed[source] = before
    return Outcome(texts, changed, in_order(diagnostics))


def _texts(sources: tuple[Source, ...]) -> list[str | None]:
    """The canonical text of each source, None where it cannot be read; by several processes where there are many."""
    if _ENOUGH <= len(sources):
        from multiprocessing import get_context

        from planc.commands.finding import processors

        workers = min(processors(), len(sources) // _CHUNK)
        if 1 < workers:
            with get_context("fork").Pool(workers) as pool:
                return pool.map(format_text, [source.text for source in sources], chunksize=_CHUNK)
    return [format_text(source.text) for source in sources]


def _write(outcome: Outcome, files: Files) -> dict[Source, str]:
    """Puts the texts that are others on disk; the files that could not be replaced, each with the reason."""
    reasons = {
        source: replace_without_mark(files.place(source), source.text, outcome.texts[source])
        for source in outcome.changed
    }
    return {source: reason for source, reason in reasons.items() if reason is not None}


def _show(outcome: Outcome, options: Options, unwritten: dict[Source, str]) -> None:
    """Says which files change: with `--diff` how, on standard output, and the rest beside it."""
    changed = [source for source in outcome.changed if source not in unwritten]
    for source in changed if options.diff else ():
        names = (source.name, source.name)
        output.write(difference(names, ("as it is", "formatted"), outcome.changed[source], outcome.texts[source]))
    told = "".join(
        f"{'would format' if options.only_shows else 'formatted'} {visible(each.name)}\n" for each in changed
    )
    same = len(outcome.texts) - len(outcome.changed)
    counts = []
    if changed:
        counts.append(f"{plural(len(changed), 'file')} {'would be formatted' if options.only_shows else 'formatted'}")
    if same:
        counts.append(f"{plural(same, 'file')} unchanged")
    summary = f"{', '.join(counts) or 'No files formatted'}.\n"
    if options.diff:
        output.complain((told if options.check else "") + summary)
    else:
        output.write(told + summary)
