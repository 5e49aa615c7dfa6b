"""Diagnostics as a Code Quality report of GitLab: a JSON array, one object a diagnostic.

The report has no place for a file that could not be read; the exit status and the log say so.
"""

from __future__ import annotations

import json

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.fingerprint import fingerprints
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """The JSON document; `[]` if there is no diagnostic. Of two objects with one fingerprint GitLab shows one."""
    found = zip(report.diagnostics, fingerprints(report.diagnostics), strict=True)
    document = [
        {
            "description": f"{diagnostic.code}: {visible(diagnostic.message)}",
            "check_name": diagnostic.name,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[diagnostic.severity],
            "location": {
                "path": visible(diagnostic.primary.span.source.name),
                "lines": {"begin": diagnostic.primary.span.line},
            },
        }
        for diagnostic, fingerprint in found
    ]
    return json.dumps(document, indent=2) + "\n"
