"""What a fault is known by: the same when its line moves, another when its line is rewritten, and its own alone."""

from __future__ import annotations

from hypothesis import given

from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.fingerprint import fingerprints
from planc.diagnostics.report import Report
from planc.source import Source, Span
from tests.analysis import analysis_of
from tests.diagnostics.given import UNBALANCED, UNKNOWN, real_report, reports

PLAN = """\
gpu card { memory = 80 GiB  bf16 = true }
model small { layers = 24  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan run {
  model = small
  cluster { gpu = card  nodes = 8  gpus_per_node = 8 }
  parallel { tensor = 8  pipeline = 3 }
  batch { global = 64  micro = 1 }
  precision = bf16
}
"""


def of(text: str) -> tuple[str, ...]:
    """The fingerprint of the one fault in a plan, PLN101."""
    found = analysis_of(text).diagnostics
    assert [diagnostic.code for diagnostic in found] == ["PLN101"]
    return fingerprints(found)


def fault(source: Source, start: int, end: int) -> Diagnostic:
    return UNKNOWN.at(Span(source, start, end), "wrong")


def test_it_stays_when_lines_move() -> None:
    assert of(f"# a comment\n\n{PLAN}") == of(PLAN)
    assert of(
        PLAN.replace("  precision = bf16\n", "").replace("  model = small\n", "  precision = bf16\n  model = small\n")
    ) == of(PLAN)


def test_it_stays_when_the_line_is_laid_out_anew() -> None:
    assert of(PLAN.replace("{ tensor = 8  pipeline = 3 }", "{\ttensor=8 pipeline=3 }")) == of(PLAN)
    assert of(PLAN.replace("\n", "\r\n")) == of(PLAN)


def test_it_stays_when_the_message_has_other_numbers() -> None:
    more_nodes = PLAN.replace("nodes = 8", "nodes = 16")
    assert analysis_of(more_nodes).diagnostics[0].message != analysis_of(PLAN).diagnostics[0].message
    assert of(more_nodes) == of(PLAN)


def test_it_is_another_when_the_line_is_rewritten() -> None:
    assert of(PLAN.replace("pipeline = 3", "pipeline = 12")) != of(PLAN)


def test_it_is_another_for_another_file_code_or_place() -> None:
    text = "a a b\n"
    source, other = Source("a.plan", text), Source("b.plan", text)
    found = (fault(source, 0, 1), fault(other, 0, 1), fault(source, 4, 5), UNBALANCED.at(Span(source, 0, 1), "wrong"))
    assert len(set(fingerprints(found))) == 4
    assert len({fingerprint for each in found for fingerprint in fingerprints((each,))}) == 4


def test_faults_that_are_alike_are_counted() -> None:
    source = Source("a.plan", "a a\n")
    first, second = fault(source, 0, 1), fault(source, 2, 3)
    both = fingerprints((first, second))
    assert len(set(both)) == 2
    assert fingerprints((second,)) == both[:1]


@given(reports())
def test_no_two_are_alike_whatever_the_text(report: Report) -> None:
    found = fingerprints(report.diagnostics)
    assert len(set(found)) == len(report.diagnostics)
    assert fingerprints(report.diagnostics) == found


def test_real_faults_have_their_own() -> None:
    found = fingerprints(real_report().diagnostics)
    assert len(set(found)) == len(found)
