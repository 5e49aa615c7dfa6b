"""Diagnostics as commands in the log of a GitHub workflow, which shows each as an annotation at its line."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.paragraphs import paragraphs
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """One command, on a line of its own, for each diagnostic and for each file that could not be read."""
    commands = [_of_diagnostic(diagnostic) for diagnostic in report.diagnostics]
    for name, reason in report.unread:
        properties = {"file": visible(name), "title": "planc cannot read this file"}
        commands.append(_command("error", properties, visible(f"cannot read `{name}`: {reason}")))
    return "".join(f"{command}\n" for command in commands)


def _of_diagnostic(diagnostic: Diagnostic) -> str:
    span = diagnostic.primary.span
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    properties = {"file": visible(span.source.name), "line": str(line), "endLine": str(end_line)}
    if line == end_line:  # the runner takes columns within one line only
        properties |= {"col": str(column), "endColumn": str(end_column)}
    properties["title"] = f"{diagnostic.code} {diagnostic.name}"
    return _command(_COMMANDS[diagnostic.severity], properties, "\n".join(paragraphs(diagnostic)))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {written}::{_data(message)}"


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
