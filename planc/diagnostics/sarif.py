"""Diagnostics as SARIF 2.1.0, with what GitHub's code scanning asks for beyond its schema.

Text of a plan is shown with escapes where it does not print, and never read as a link or a placeholder: in a message a
brace is doubled, and a bracket that would end a link has a backslash before it (sections 3.11.5 and 3.11.6). An edit
holds its text as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.diagnostics.fingerprint import fingerprints
from planc.diagnostics.line_hash import line_hashes
from planc.diagnostics.page import markdown, parts
from planc.diagnostics.paragraphs import advice
from planc.diagnostics.report import Kind, Report
from planc.diagnostics.text import visible
from planc.source import Source, Span
from planc.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#: Results of a run that GitHub takes; it refuses a file with more.
MOST_RESULTS = 25_000

_LONGEST_DESCRIPTION = 1000  # GitHub takes 1024 characters
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
_SUBJECTS = ("language", "ranks", "batch", "memory", "precision", "network", "launch", "data", "native-files", "target")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def render(report: Report) -> str:
    """The JSON document of one run. The kinds of the report become its rules; a file not read makes the run fail."""
    kept = _most_important(report.diagnostics)
    known = {kind.code: kind for kind in report.kinds}
    kinds = {found.code: known.get(found.code) or _bare_kind(found) for found in kept}
    indices = {code: index for index, code in enumerate(sorted(kinds))}
    unread = [_unread(name, reason) for name, reason in report.unread]
    left_out = len(report.diagnostics) - len(kept)
    notices = [*unread, *([_left_out(left_out)] if left_out else [])]
    run = {
        "tool": {"driver": {**_driver(), "rules": [_rule(kinds[code]) for code in indices]}},
        "invocations": [{"executionSuccessful": not unread, "toolExecutionNotifications": notices}],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(kept, indices)),
    }
    # On one line: an indented document of many faults takes five times as long to write, and twice the room.
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def uri(name: str) -> str:
    """The URI of a file: a relative reference for a relative name, a `file` URI for an absolute one."""
    # On a POSIX system an odd byte of a name is a low surrogate; any other surrogate stands for no byte.
    coded = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", name).encode("utf-8", "surrogateescape")
    quoted = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in coded)
    if quoted.startswith("/"):
        return f"file:///{'/'.join(part for part in _without_dots(quoted) if part != '..')}"
    return "/".join(_without_dots(quoted))


def _without_dots(path: str) -> list[str]:
    """The parts of a path without `.`, and without `..` but at the start: a URI is compared as it is written."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return kept


def _driver() -> dict[str, Any]:
    return {"name": "planc", "version": VERSION, "semanticVersion": VERSION}


def _most_important(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """As many diagnostics as GitHub takes, in their order; errors before warnings where there are more."""
    if len(diagnostics) <= MOST_RESULTS:
        return diagnostics
    ranks = list(Severity)
    by_weight = sorted(range(len(diagnostics)), key=lambda index: ranks.index(diagnostics[index].severity))
    return tuple(diagnostics[index] for index in sorted(by_weight[:MOST_RESULTS]))


def _bare_kind(found: Diagnostic) -> Kind:
    return Kind(found.code, found.name, found.severity, f"{found.name.replace('-', ' ').capitalize()}.")


def _rule(kind: Kind) -> dict[str, Any]:
    found = parts(kind.page)
    return {
        "id": kind.code,
        "name": kind.name,
        "shortDescription": {"text": _shortened(found[""])},
        "fullDescription": {"text": _shortened(found.get("Why") or found[""])},
        "help": {"text": kind.page, "markdown": markdown(kind.page)},
        "defaultConfiguration": {"level": _LEVELS[kind.severity]},
        "properties": {
            "tags": [_SUBJECTS[int(kind.code.removeprefix("PLN")[0])]],
            "precision": "high",
            "problem.severity": _PROBLEMS[kind.severity],
        },
    }


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}..."


def _results(diagnostics: tuple[Diagnostic, ...], indices: dict[str, int]) -> Iterator[dict[str, Any]]:
    lines: dict[Source, list[int]] = {}
    for diagnostic in diagnostics:
        lines.setdefault(diagnostic.primary.span.source, []).append(diagnostic.primary.span.line)
    hashes = {source: line_hashes(source, numbers) for source, numbers in lines.items()}
    for diagnostic, fingerprint in zip(diagnostics, fingerprints(diagnostics), strict=True):
        span = diagnostic.primary.span
        related = [_location(label, number) for number, label in enumerate(diagnostic.related)]
        fixes = [_fix(fix) for fix in diagnostic.fixes]
        yield {
            "ruleId": diagnostic.code,
            "ruleIndex": indices[diagnostic.code],
            "level": _LEVELS[diagnostic.severity],
            "message": {"text": "\n".join(_sentences(diagnostic))},
            "locations": [{"physicalLocation": _physical_location(span)}],
            "partialFingerprints": {
                "primaryLocationLineHash": hashes[span.source][span.line],
                "plancFingerprint/v1": fingerprint,
            },
            **({"relatedLocations": related} if related else {}),
            **({"fixes": fixes} if fixes else {}),
        }


def _sentences(diagnostic: Diagnostic) -> Iterator[str]:
    """The lines of a result's message; a viewer with little room shows the first. Related places are linked."""
    yield _plain(f"{visible(diagnostic.message)}.")
    if diagnostic.primary.text:
        yield _plain(visible(diagnostic.primary.text))
    for number, label in enumerate(diagnostic.related):
        yield f"see [{_link_text(visible(label.text) or 'this place')}]({number})"
    yield from map(_plain, advice(diagnostic))


def _plain(text: str) -> str:
    """Text of a message in which nothing is a link or a placeholder."""
    unlinked = re.sub(r"(\\*)\]\(", lambda match: f"{2 * match[1]}\\](", text)
    return _without_placeholders(unlinked)


def _link_text(text: str) -> str:
    return _without_placeholders(re.sub(r"([\\\[\]])", r"\\\1", text))


def _without_placeholders(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _location(label: Label, number: int) -> dict[str, Any]:
    message = {"message": {"text": _plain(visible(label.text))}} if label.text else {}
    return {"id": number, "physicalLocation": _physical_location(label.span), **message}


def _physical_location(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": uri(span.source.name)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(fix: Fix) -> dict[str, Any]:
    sources: dict[Source, list[Edit]] = {}
    for edit in fix.edits:
        sources.setdefault(edit.span.source, []).append(edit)
    return {
        "description": {"text": _plain(visible(fix.title))},
        "artifactChanges": [
            {"artifactLocation": {"uri": uri(source.name)}, "replacements": _replacements(edits)}
            for source, edits in sources.items()
        ],
        "properties": {"safe": fix.safe},
    }


def _replacements(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    return [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits]


def _unread(name: str, reason: str) -> dict[str, Any]:
    text = _plain(f"{visible(f'cannot read `{name}`: {reason}')}.")
    place = {"physicalLocation": {"artifactLocation": {"uri": uri(name)}}}
    return {"level": "error", "message": {"text": text}, "locations": [place]}


def _left_out(count: int) -> dict[str, Any]:
    text = f"{count} more results are left out, those of the least severity: a run may hold {MOST_RESULTS:,}."
    return {"level": "warning", "message": {"text": text}}
