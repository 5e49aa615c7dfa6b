"""Diagnostics as a Code Quality report of GitLab: a JSON array, one object a diagnostic.

GitLab shows the description alone, so all that there is to say stands in it, on one line. A file that could not be read
is an object too, since an empty report would mean that nothing is wrong.
"""

from __future__ import annotations

import json
from hashlib import sha256

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.fingerprint import fingerprints
from planc.diagnostics.paragraphs import paragraphs
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """The JSON document; `[]` if there is nothing to say. Of two objects with one fingerprint GitLab shows one."""
    found = zip(report.diagnostics, fingerprints(report.diagnostics), strict=True)
    document = [_of_diagnostic(diagnostic, fingerprint) for diagnostic, fingerprint in found]
    document.extend(_of_unread(name, reason) for name, reason in report.unread)
    return json.dumps(document, indent=2) + "\n"


def _of_diagnostic(diagnostic: Diagnostic, fingerprint: str) -> dict[str, object]:
    span = diagnostic.primary.span
    return {
        "description": visible(f"{diagnostic.code}: {'; '.join(paragraphs(diagnostic))}"),  # once more, as it cuts
        "check_name": diagnostic.name,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {"path": visible(span.source.name), "lines": {"begin": span.line}},
    }


def _of_unread(name: str, reason: str) -> dict[str, object]:
    # The reason is left out of the fingerprint: another one makes no new fault of it.
    return {
        "description": visible(f"cannot read `{name}`: {reason}"),
        "check_name": "unread-file",
        "fingerprint": sha256(f"unread-file\0{visible(name)}".encode()).hexdigest()[:32],
        "severity": "critical",
        "location": {"path": visible(name), "lines": {"begin": 1}},  # the form asks for a line
    }
