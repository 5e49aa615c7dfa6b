"""What planc says about a text or a file, for the tests of rules and pages."""

from __future__ import annotations

from pathlib import Path

from planc.commands.files import Files
from planc.compiler import Analysis, analyse
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.kinds import known_rules
from planc.reporting.suppressions import suppress
from planc.source import Source


def analysis_of(text: str) -> Analysis:
    """The analysis of a text that stands alone; it may use the catalogue."""
    return analyse((Source("case.plan", text),), Files().load)


def analysis_of_file(path: Path) -> Analysis:
    """The analysis of a file, with the files that it uses."""
    files = Files()
    source = files.read(str(path))
    assert isinstance(source, Source), source
    return analyse((source,), files.load)


def reported_of(text: str) -> tuple[Diagnostic, ...]:
    """What is left to report of a text that stands alone, by its suppressions."""
    source = Source("case.plan", text)
    found = analyse((source,), Files().load).diagnostics
    outcome = suppress(found, (source,), known_rules)
    return in_order((*outcome.diagnostics, *outcome.faults))


def faults(analysis: Analysis) -> list[Diagnostic]:
    """The errors and warnings; what a target leaves to the program is no fault."""
    return [diagnostic for diagnostic in analysis.diagnostics if diagnostic.severity is not Severity.INFO]


def codes(analysis: Analysis) -> list[str]:
    """The codes of the errors and warnings, in the order in which they are reported."""
    return [diagnostic.code for diagnostic in faults(analysis)]
