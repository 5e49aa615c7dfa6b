"""`planc test`: the cases beside a policy. `ok_*.plan` has to be clean, `err_*.plan` has to be found fault with.

A line of an `err_` case may end in `# <- NAME`: the name of a policy's rule (`house.fabric`), of a policy (`house`, for
any of its rules) or of a built-in rule, or a code. The case then has to draw these, each in its line, and no other
fault. What a comment allows is no fault, as in `lint`.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.files import Files
from planc.commands.output import CannotWork
from planc.compiler import analyse
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.text import visible
from planc.kinds import known_rules
from planc.reporting.suppressions import suppress
from planc.source import Source

_CASE = re.compile(r"(ok|err)_.*\.plan")
_MARK = re.compile(r"#.*?<-[ \t]*([\w.-]+(?:[ \t]*,[ \t]*[\w.-]+)*)[ \t]*$")


def run(arguments: list[str]) -> int:
    """Exit status: 1 if a case fails, else 0."""
    options = parsed(parser(), arguments)
    files = Files()
    cases = sorted(_cases(options.folders or ["."]))
    if not cases:
        raise CannotWork("no cases: a policy's cases are called `ok_*.plan` and `err_*.plan`")
    failures = 0
    for path in cases:
        reading = files.read(path)
        if isinstance(reading, str):
            raise CannotWork(f"cannot read {output.quoted(path)}: {reading}")
        problems = _judge(path, reading, files)
        failures += bool(problems)
        output.write(f"{'FAILED' if problems else 'ok':<6} {visible(path.removeprefix('./'))}\n")
        output.write("".join(f"       {problem}\n" for problem in problems))
    outcome = f"{failures} failed, " if failures else ""
    output.write(f"\n{outcome}{len(cases) - failures} of {plural(len(cases), 'case')} passed.\n")
    return 1 if failures else 0


def _cases(folders: Iterable[str]) -> set[str]:
    """The case files in the folders and below; a case may be named itself."""
    found: set[str] = set()
    for folder in folders:
        if os.path.isfile(folder):
            if not _CASE.fullmatch(os.path.basename(folder)):
                raise CannotWork(f"{output.quoted(folder)} is no case: cases are called `ok_*.plan` and `err_*.plan`")
            found.add(folder)
            continue
        if not os.path.isdir(folder):
            raise CannotWork(f"no such folder: {output.quoted(folder)}")
        for where, folders_below, names in os.walk(folder):
            folders_below[:] = sorted(name for name in folders_below if not name.startswith("."))
            found.update(os.path.join(where, name) for name in names if _CASE.fullmatch(name))
    return found


def _judge(path: str, reading: Source | Diagnostic, files: Files) -> list[str]:
    """What is wrong with the outcome of a case."""
    if isinstance(reading, Diagnostic):
        return [_shown(reading)]
    outcome = suppress(analyse((reading,), files.load).diagnostics, (reading,), known_rules)
    faults = [found for found in (*outcome.diagnostics, *outcome.faults) if found.severity is not Severity.INFO]
    if os.path.basename(path).startswith("ok_"):
        return [_shown(found) for found in faults]
    expected = {
        (number, name.strip())
        for number, line in enumerate(reading.text.splitlines(), 1)
        if (mark := _MARK.search(line)) is not None
        for name in mark[1].split(",")
    }
    if not expected:
        return [] if faults else ["nothing is found fault with"]
    missing = [
        f"line {number}: `{name}` is not reported"
        for number, name in sorted(expected)
        if not any(found.primary.span.line == number and name in _names(found) for found in faults)
    ]
    surplus = [
        f"not expected: {_shown(found)}"
        for found in faults
        if not any(found.primary.span.line == number and name in _names(found) for number, name in expected)
    ]
    return missing + surplus


def _names(found: Diagnostic) -> tuple[str, ...]:
    """The names by which a case may expect a diagnostic: code, name, and of a policy its rule and its own."""
    rule = re.match(r"policy `((?:[^`.]|\.(?=[0-9]))+)[^`]*", found.message)
    return (found.code, found.name, *((rule[0].partition("`")[2], rule[1]) if rule else ()))


def _shown(found: Diagnostic) -> str:
    span = found.primary.span
    place = f"{visible(span.source.name)}:{span.line}:{span.column}"
    return f"{place}: {found.severity.value}[{found.code}] {visible(found.message)}"


def parser() -> argparse.ArgumentParser:
    """The command line of `planc test`."""
    made = Parser(
        prog="planc test",
        description="Run the cases beside a policy: ok_*.plan has to be clean, err_*.plan has to be found fault with, "
        "in the lines that end in `# <- NAME` where there are such. Exit status: 0 all pass, 1 a case fails.",
    )
    made.add_argument("folders", nargs="*", metavar="DIR", help="folders to search; the current one if none is named")
    return made
