"""Wrong files and what is said about each: one snapshot holds text and outcome, so a reviewer opens one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.text import render
from tests.analysis import analysis_of

CASES = sorted(Path(__file__).parent.glob("*.plan"))


class TextExtension(SingleFileSnapshotExtension):
    """A snapshot a case, as text."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_wrong(path: Path, snapshot: Any) -> None:
    text = path.read_text(encoding="utf-8")
    diagnostics = analysis_of(text).diagnostics
    found = [diagnostic for diagnostic in diagnostics if diagnostic.severity is not Severity.INFO]
    assert found, "a wrong file draws at least one diagnostic"
    outcome = "\n".join(render(diagnostic, color=False) for diagnostic in found)
    assert f"{text}\n{'-' * 20}\n{outcome}" == snapshot(extension_class=TextExtension)
