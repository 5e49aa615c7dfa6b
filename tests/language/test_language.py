"""The files that show the language: each lints exactly as its comments say."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from tests.analysis import analysis_of_file, faults
from tests.shared import ROOT, shared

FOLDERS = ("examples", "shared")


def _folder(name: str) -> Path:
    return shared("language") if name == "shared" else ROOT / "examples"


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("file", ["finetune-8b.plan", "cluster-eu.plan"])
def test_clean(folder: str, file: str) -> None:
    assert faults(analysis_of_file(_folder(folder) / file)) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_large_run_is_clean_too(folder: str) -> None:
    assert _loud(_folder(folder) / "pretrain-70b.plan") == set()


def _loud(path: Path) -> set[tuple[str, Severity]]:
    found = analysis_of_file(path).diagnostics
    return {(fault.code, fault.severity) for fault in found if fault.severity is not Severity.INFO}


def _places(path: Path) -> list[tuple[str, int, int]]:
    found = faults(analysis_of_file(path))
    return [(diagnostic.code, diagnostic.primary.span.line, diagnostic.primary.span.column) for diagnostic in found]


def test_broken_reports_seven_faults_and_no_eighth() -> None:
    assert _places(shared("language") / "broken.plan") == [
        ("PLN014", 10, 19),
        ("PLN111", 14, 43),
        ("PLN010", 19, 13),
        ("PLN011", 21, 14),
        ("PLN013", 22, 39),
        ("PLN401", 23, 3),
        ("PLN017", 24, 15),
    ]


def test_our_broken_example_reports_the_lines_that_say_so() -> None:
    path = ROOT / "examples" / "broken.plan"
    marked = [number for number, line in enumerate(path.read_text().splitlines(), 1) if " # <- " in line]
    assert [line for _, line, _ in _places(path)] == marked
    assert len(marked) == 7
