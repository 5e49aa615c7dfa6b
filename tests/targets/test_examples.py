"""Each target for each example, whatever the example emits itself: the files, or why there are none, as a snapshot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.text import render
from planc.targets import target_names
from tests.compiling import ROOT, analysed, errors, files_of
from tests.targets.test_targets import EXAMPLES, TextExtension

_EMIT = re.compile(r"^(  emit +=) \[.+\]$", re.MULTILINE)


@pytest.mark.parametrize("target", target_names())
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_a_target_makes_of_an_example(path: Path, target: str, snapshot: SnapshotAssertion) -> None:
    text, changed = _EMIT.subn(rf"\1 [{target}]", path.read_text(encoding="utf-8"))
    assert 1 <= changed
    name = path.relative_to(ROOT).as_posix()
    analysis = analysed(text, name)
    shown = [found for found in analysis.diagnostics if found.severity is not Severity.INFO]
    parts = [render(found, False) for found in shown]
    if not errors(analysis):
        for plan in analysis.plans:
            parts.extend(f"==> {plan.name}/{file.path} <==\n{file.text}" for file in files_of(plan))
    assert "\n".join(parts) == snapshot(extension_class=TextExtension)
