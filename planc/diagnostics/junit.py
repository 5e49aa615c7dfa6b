"""Diagnostics as the JUnit report of a test run: a case for each diagnostic, and for each file without one.

An error is a failure; a warning or advice is a case that passes and has its text as output, since `lint` succeeds with
it. A file that could not be read is an error of the run. No time and no host is given, so that the same plans give the
same report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.paragraphs import paragraphs, place_text
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible


class _Case(NamedTuple):
    """A test case; `outcome` is the element that says how it went, empty if there is nothing to say."""

    file: str
    name: str
    outcome: str = ""
    kind: str = ""
    lines: tuple[str, ...] = ()
    line: int = 0


def render(report: Report) -> str:
    """The XML document. Characters that XML cannot hold are among those that do not print, and shown as escapes."""
    cases = list(_cases(report))
    outcomes = Counter(case.outcome for case in cases)
    counts = {"tests": len(cases), "failures": outcomes["failure"], "errors": outcomes["error"]}
    root = ElementTree.Element("testsuites", {key: str(count) for key, count in counts.items()})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "planc", **root.attrib})
    seen: Counter[tuple[str, str]] = Counter()
    for case in cases:
        seen[case.file, case.name] += 1
        _add(suite, case, seen[case.file, case.name])
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _cases(report: Report) -> Iterator[_Case]:
    yield from (_of_diagnostic(diagnostic) for diagnostic in report.diagnostics)
    faulty = {diagnostic.primary.span.source.name for diagnostic in report.diagnostics}
    for name in report.files:
        if name not in faulty:
            yield _Case(visible(name), "no faults")
    for name, reason in report.unread:
        yield _Case(visible(name), "can be read", "error", "unread", (visible(f"cannot read `{name}`: {reason}"),))


def _of_diagnostic(diagnostic: Diagnostic) -> _Case:
    file = visible(diagnostic.primary.span.source.name)
    name = f"{diagnostic.code}: {visible(diagnostic.message)}"
    outcome = "failure" if diagnostic.severity is Severity.ERROR else "system-out"
    head, *rest = paragraphs(diagnostic)
    kind = f"{diagnostic.severity.value}[{diagnostic.code}]"
    lines = (f"{place_text(diagnostic.primary)}: {kind} {head}", *rest)
    return _Case(file, name, outcome, diagnostic.name, lines, diagnostic.primary.span.line)


def _add(suite: ElementTree.Element, case: _Case, count: int) -> None:
    """Appends a case; of two cases with one name readers keep the first, so the second has its number behind it."""
    name = case.name if count == 1 else f"{case.name} ({count})"
    place = {"file": case.file, **({"line": str(case.line)} if case.line else {})}
    element = ElementTree.SubElement(suite, "testcase", {"classname": case.file, "name": name, **place})
    if not case.outcome:
        return
    outcome = ElementTree.SubElement(element, case.outcome)
    outcome.text = "\n".join(case.lines)
    if case.outcome == "system-out":
        outcome.text = outcome.text.replace("[[ATTACHMENT|", "[ [ATTACHMENT|")  # GitLab would link to that file
    else:
        outcome.attrib.update({"message": case.lines[0], "type": case.kind})
