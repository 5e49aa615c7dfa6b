"""Diagnostics as a JUnit report, read back by an XML parser."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.junit import render
from planc.diagnostics.report import Report
from tests.diagnostics.given import EVIL, real_report, reports, small_report


def suite(report: Report) -> ElementTree.Element:
    """The one suite of the report; its counts are those of its cases."""
    root = ElementTree.fromstring(render(report).encode())
    (found,) = root
    assert (root.tag, found.tag, found.get("name")) == ("testsuites", "testsuite", "planc")
    for counted, tag in (("failures", "failure"), ("errors", "error")):
        assert root.get(counted) == found.get(counted) == str(len(found.findall(f"testcase/{tag}")))
    assert root.get("tests") == found.get("tests") == str(len(found))
    return found


def test_a_case_for_each_fault_clean_file_and_file_not_read() -> None:
    warning, error, clean, unread = suite(small_report())
    assert error.attrib == {
        "classname": "pretrain.plan",
        "name": "PLN011: unknown field `tensr` in `parallel`",
        "file": "pretrain.plan",
        "line": "2",
    }
    (failure,) = error
    first = "pretrain.plan:2:14: error[PLN011] unknown field `tensr` in `parallel`"
    assert (failure.tag, failure.attrib) == ("failure", {"message": first, "type": "unknown-field"})
    assert (failure.text or "").splitlines() == [
        first,
        "no such field",
        "lib/c.plan:2:3: 8 ranks",
        "help: did you mean `tensor`?",
        "note: `parallel` has `tensor`",
    ]
    (output,) = warning
    assert (output.tag, output.text) == (
        "system-out",
        "lib/c.plan:1:11: warning[PLN107] 3 stages hold 5 and 6 layers",
    )
    assert (clean.attrib, list(clean)) == ({"classname": "clean.plan", "name": "no faults", "file": "clean.plan"}, [])
    (reason,) = unread
    assert (reason.tag, reason.text) == ("error", "cannot read `gone.plan`: no such file")


def test_faults_with_one_message_have_names_of_their_own() -> None:
    report = small_report()
    error = report.diagnostics[1]
    names = [case.get("name") for case in suite(report._replace(diagnostics=(error, error)))]
    assert names[:2] == [f"PLN011: {error.message}", f"PLN011: {error.message} (2)"]


def test_no_text_of_a_plan_is_an_attachment_of_gitlab() -> None:
    report = small_report()
    warning = report.diagnostics[0]._replace(message="[[ATTACHMENT|/etc/passwd]]")
    assert "[[ATTACHMENT|" not in (suite(Report((warning,), ()))[0][0].text or "")


def test_what_xml_cannot_hold_is_shown_as_an_escape() -> None:
    error = small_report().diagnostics[1]._replace(message=EVIL)
    text = suite(Report((error,), ()))[0][0].text or ""
    assert "\\x1b[2J\\x07\\x9b\\x7f\\u202e" in text
    assert "]]><b>&amp;" in text
    assert "\\ufffe" in text


@given(reports())
def test_hostile_text_reads_back(report: Report) -> None:
    found = suite(report)
    faulty = {diagnostic.primary.span.source.name for diagnostic in report.diagnostics}
    clean = [name for name in report.files if name not in faulty]
    assert len(found) == len(report.diagnostics) + len(clean) + len(report.unread)
    assert len({(case.get("file"), case.get("name")) for case in found}) == len(found)
    assert all(case.get("name", "").isprintable() and case.get("file", "").isprintable() for case in found)
    assert all(line.isprintable() for case in found for outcome in case for line in (outcome.text or "").split("\n"))


def test_real_faults() -> None:
    report = real_report()
    found = suite(report)
    errors = [diagnostic for diagnostic in report.diagnostics if diagnostic.severity is Severity.ERROR]
    assert len(found.findall("testcase/failure")) == len(errors)
    assert {case.get("file") for case in found} >= set(report.files)
