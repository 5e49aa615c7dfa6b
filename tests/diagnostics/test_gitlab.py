"""Diagnostics as a Code Quality report."""

import json

from hypothesis import given

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.gitlab import render
from planc.diagnostics.report import Report
from planc.diagnostics.text import visible
from tests.diagnostics.given import real_report, reports, small_report


def test_an_object_has_what_gitlab_reads() -> None:
    warning, error, unread = json.loads(render(small_report()))
    assert (warning["severity"], error["severity"]) == ("minor", "critical")
    assert warning["description"] == "PLN107: 3 stages hold 5 and 6 layers"
    fingerprint = error.pop("fingerprint")
    assert len(fingerprint) == 32 and int(fingerprint, 16)
    assert error == {
        "description": "PLN011: unknown field `tensr` in `parallel`; no such field; lib/c.plan:2:3: 8 ranks; "
        "help: did you mean `tensor`?; note: `parallel` has `tensor`",
        "check_name": "unknown-field",
        "severity": "critical",
        "location": {"path": "pretrain.plan", "lines": {"begin": 2}},
    }
    fingerprint = unread.pop("fingerprint")
    assert len(fingerprint) == 32 and int(fingerprint, 16)
    assert unread == {
        "description": "cannot read `gone.plan`: no such file",
        "check_name": "unread-file",
        "severity": "critical",
        "location": {"path": "gone.plan", "lines": {"begin": 1}},
    }


def test_the_reason_of_a_policy_is_told() -> None:
    document = json.loads(render(real_report()))
    told = [found["description"] for found in document if found["check_name"] == "broken-policy"]
    assert any(text.endswith(": loss scaling diverged twice") for text in told), told


def test_a_fingerprint_is_of_what_the_fault_is_and_not_of_what_is_said_of_it() -> None:
    report = small_report()
    other = report.diagnostics[1]._replace(message="another message", related=(), help=("other help",))
    said = Report((report.diagnostics[0], other), report.files, (("gone.plan", "permission denied"),))
    before, after = ([found["fingerprint"] for found in json.loads(render(each))] for each in (report, said))
    assert before == after
    assert len(set(before)) == 3


def test_a_description_has_an_end() -> None:
    _, error = small_report().diagnostics
    long = error._replace(help=("a" * 900,) * 50)
    (found,) = json.loads(render(Report((long,), ())))
    assert found["description"].startswith("PLN011: unknown field `tensr` in `parallel`; no such field;")
    assert found["description"].endswith("note: `parallel` has `tensor`")
    assert len(found["description"]) < 1100


def test_nothing_found_is_an_empty_list() -> None:
    assert json.loads(render(Report((), ("a.plan",)))) == []


@given(reports())
def test_hostile_text_reads_back(report: Report) -> None:
    text = render(report)
    assert text.isascii()
    document = json.loads(text)
    names = {visible(name) for name, _ in report.unread}  # a file that could not be read is one fault
    assert len({found["fingerprint"] for found in document}) == len(report.diagnostics) + len(names)
    assert all(found["description"].isprintable() and found["location"]["path"].isprintable() for found in document)
    assert len(document) == len(report.diagnostics) + len(report.unread)
    for found, diagnostic in zip(document, report.diagnostics, strict=False):
        assert found["location"]["lines"]["begin"] == diagnostic.primary.span.line


def test_real_faults() -> None:
    document = json.loads(render(real_report()))
    assert len({found["fingerprint"] for found in document}) == len(real_report().diagnostics)
    assert {found["severity"] for found in document} == {"critical", "minor", "info"}
    assert {diagnostic.severity for diagnostic in real_report().diagnostics} == set(Severity)
