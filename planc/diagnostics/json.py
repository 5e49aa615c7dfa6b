"""Diagnostics as data for programs; `schemas/diagnostics.schema.json` describes it.

Lines and columns count from 1, offsets from 0, all of them in code points of the text without its byte-order mark; an
end is the place after the last code point, so an empty place starts and ends alike.
"""

from __future__ import annotations

import json
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.report import Report, page_path
from planc.source import Span

VERSION = 1  # of the form; a key that is removed or changes its meaning raises it, a new key does not


def render(report: Report) -> str:
    """The JSON document of one run: its diagnostics, and the files that could not be read, each with the reason."""
    document = {
        "version": VERSION,
        "files": len(report.files),
        "errors": sum(diagnostic.severity is Severity.ERROR for diagnostic in report.diagnostics),
        "warnings": sum(diagnostic.severity is Severity.WARNING for diagnostic in report.diagnostics),
        "diagnostics": [as_data(diagnostic) for diagnostic in report.diagnostics],
        "unread": [{"file": name, "reason": reason} for name, reason in report.unread],
    }
    if report.skipped is not None:
        document["skipped"] = [
            {"code": code, "name": name, "plan": plan, "missing": list(missing)}
            for code, name, plan, missing in report.skipped
        ]
    if report.verify is not None:
        document["verify"] = [
            {"name": name, "plan": plan, "claim": claim, "command": command}
            for name, plan, claim, command in report.verify
        ]
    return json.dumps(document, indent=2) + "\n"


def as_data(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic as plain data."""
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "page": page_path(diagnostic.code, diagnostic.name),
        "message": diagnostic.message,
        **place(diagnostic.primary.span),
        "label": diagnostic.primary.text,
        "related": [{**place(label.span), "label": label.text} for label in diagnostic.related],
        "help": list(diagnostic.help),
        "notes": list(diagnostic.notes),
        "fixes": [
            {
                "title": fix.title,
                "safe": fix.safe,
                "edits": [{**place(edit.span), "text": edit.text} for edit in fix.edits],
            }
            for fix in diagnostic.fixes
        ],
    }


def place(span: Span) -> dict[str, Any]:
    """Where a span lies."""
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "start": span.start,
        "end": span.end,
    }
