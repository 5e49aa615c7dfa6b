"""Diagnostics as a Code Quality report."""

import json

from hypothesis import given

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.gitlab import render
from planc.diagnostics.report import Report
from tests.diagnostics.given import real_report, reports, small_report


def test_an_object_has_what_gitlab_reads() -> None:
    warning, error = json.loads(render(small_report()))
    assert (warning["severity"], error["severity"]) == ("minor", "critical")
    fingerprint = error.pop("fingerprint")
    assert len(fingerprint) == 32 and int(fingerprint, 16)
    assert error == {
        "description": "PLN011: unknown field `tensr` in `parallel`",
        "check_name": "unknown-field",
        "severity": "critical",
        "location": {"path": "pretrain.plan", "lines": {"begin": 2}},
    }


def test_nothing_found_is_an_empty_list() -> None:
    assert json.loads(render(Report((), ("a.plan",)))) == []


@given(reports())
def test_hostile_text_reads_back(report: Report) -> None:
    text = render(report)
    assert text.isascii()
    document = json.loads(text)
    assert len(document) == len(report.diagnostics)
    assert len({found["fingerprint"] for found in document}) == len(document)
    for found, diagnostic in zip(document, report.diagnostics, strict=True):
        assert found["description"].isprintable()
        assert found["location"]["path"].isprintable()
        assert found["location"]["lines"]["begin"] == diagnostic.primary.span.line


def test_real_faults() -> None:
    document = json.loads(render(real_report()))
    assert len({found["fingerprint"] for found in document}) == len(real_report().diagnostics)
    assert {found["severity"] for found in document} == {"critical", "minor", "info"}
    assert {diagnostic.severity for diagnostic in real_report().diagnostics} == set(Severity)
