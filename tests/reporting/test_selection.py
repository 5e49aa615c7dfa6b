"""Selection: what codes, beginnings of codes and names choose, and which of two has its way."""

from __future__ import annotations

import pytest

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.reporting.selection import Selection, chosen
from planc.source import Source, Span

AT = Label(Span(Source("x", "abc"), 0, 1))
ERROR = Diagnostic("m", AT, code="PLN101", name="indivisible-world-size")
WARNING = Diagnostic("m", AT, code="PLN203", name="idle-pipeline", severity=Severity.WARNING)
INFO = Diagnostic("m", AT, code="PLN937", name="left-to-deepspeed-program", severity=Severity.INFO)
LANGUAGE = Diagnostic("m", AT, code="PLN012", name="missing-field")
PARTLY = Diagnostic("m", AT, code="PLN043", name="partly-read-model", severity=Severity.WARNING)
POLICY = Diagnostic("policy `house.fabric` forbids `x`", AT, code="PLN090", name="broken-policy")


@pytest.mark.parametrize(
    ("found", "selection", "severity"),
    [
        (ERROR, Selection(), Severity.ERROR),
        (WARNING, Selection(), Severity.WARNING),
        (INFO, Selection(), None),
        (INFO, Selection(min_severity=Severity.INFO), Severity.INFO),
        (WARNING, Selection(min_severity=Severity.ERROR), None),
        (WARNING, Selection(min_severity=Severity.ERROR, warn_as_error=("all",)), Severity.ERROR),
        (WARNING, Selection(warn_as_error=("PLN2",)), Severity.ERROR),
        (WARNING, Selection(warn_as_error=("idle-pipeline",)), Severity.ERROR),
        (WARNING, Selection(warn_as_error=("PLN202",)), Severity.WARNING),
        (INFO, Selection(warn_as_error=("all",), min_severity=Severity.INFO), Severity.INFO),
        (ERROR, Selection(ignore=("PLN101",)), None),
        (ERROR, Selection(ignore=("pln1",)), None),
        (ERROR, Selection(ignore=("indivisible-world-size",)), None),
        (ERROR, Selection(ignore=("all",)), None),
        (ERROR, Selection(select=("PLN2",)), None),
        (ERROR, Selection(select=("PLN1", "PLN2")), Severity.ERROR),
        (ERROR, Selection(select=()), None),
        (ERROR, Selection(select=("PLN101",), ignore=("PLN1",)), Severity.ERROR),
        (ERROR, Selection(select=("PLN1",), ignore=("PLN101",)), None),
        (ERROR, Selection(select=("PLN1",), ignore=("PLN1",)), None),
        (ERROR, Selection(select=("PLN10",), ignore=("all",)), Severity.ERROR),
        (ERROR, Selection(select=("indivisible-world-size",), ignore=("PLN101",)), None),
        (LANGUAGE, Selection(select=(), ignore=("all",)), Severity.ERROR),
        (PARTLY, Selection(ignore=("PLN043",)), None),
        (POLICY, Selection(ignore=("house.fabric",)), None),
        (POLICY, Selection(ignore=("house.*",)), None),
        (POLICY, Selection(ignore=("lab.*", "house.torch")), Severity.ERROR),
        (POLICY, Selection(ignore=("broken-policy",), select=("house.fabric",)), None),
        (POLICY, Selection(ignore=("PLN0",), select=("house.fabric",)), Severity.ERROR),
    ],
)
def test_what_is_reported(found: Diagnostic, selection: Selection, severity: Severity | None) -> None:
    kept = chosen(found, selection)
    assert (None if kept is None else kept.severity) == severity
    assert kept is None or kept == found._replace(severity=kept.severity)
