"""Diagnostics a line each, as editors and `grep` take them: `path:line:column: error[PLN101] message`.

`[*]` before the message marks a fault with a safe fix, as in ruff's output of this name. A policy's reason follows its
message where it is short.
"""

from __future__ import annotations

from planc.diagnostics.diagnostic import UNREASONED, Diagnostic
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible

_POLICIES = ("PLN090", "PLN091")
_LONGEST_REASON = 100


def render(report: Report) -> str:
    """One line for each diagnostic; nothing if there is none. Characters that do not print are shown as escapes."""
    return "".join(f"{_line(diagnostic)}\n" for diagnostic in report.diagnostics)


def _line(diagnostic: Diagnostic) -> str:
    source = diagnostic.primary.span.source
    line, column = source.position(diagnostic.primary.span.start)
    mark = " [*]" if any(fix.safe for fix in diagnostic.fixes) else ""
    kind = f"{diagnostic.severity.value}[{diagnostic.code}]{mark}"
    return f"{visible(source.name)}:{line}:{column}: {kind} {visible(diagnostic.message)}{_reason(diagnostic)}"


def _reason(diagnostic: Diagnostic) -> str:
    """What a policy says of the rule that is broken, behind a colon."""
    if diagnostic.code not in _POLICIES or not diagnostic.related:
        return ""
    reason = " ".join(diagnostic.related[-1].text.split())
    return f": {visible(reason)}" if reason != UNREASONED and len(reason) <= _LONGEST_REASON else ""
