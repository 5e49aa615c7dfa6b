"""The SARIF that is written, judged by Microsoft's validator with the rules that GitHub applies to uploads.

Its only complaint is that planc names no home page, since it has none. The program is the npm package
`@microsoft/sarif-multitool` (5.7.0 was tried).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Label
from planc.diagnostics.report import Report
from planc.diagnostics.sarif import render
from planc.source import Source
from tests.diagnostics.given import EVIL, UNKNOWN, at, real_report, small_report

MULTITOOL = shutil.which("sarif-multitool")
NO_HOME_PAGE = "SARIF2005"

pytestmark = [
    pytest.mark.consumer,
    pytest.mark.skipif(MULTITOOL is None, reason="sarif-multitool is not installed"),
]


def complaints(text: str, folder: Path) -> set[str]:
    """The rules of the validator that find an error or a warning in a document."""
    written, judged = folder / "found.sarif", folder / "judged.sarif"
    written.write_text(text)
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}  # it asks for ICU otherwise
    rules = set()
    for kind in ("Sarif", "Ghas"):  # not both at once: the program's npm wrapper hands its arguments to a shell
        command = [str(MULTITOOL), "validate", str(written), "--output", str(judged), "--rule-kind", kind]
        subprocess.run([*command, "--log", "ForceOverwrite"], env=environment, capture_output=True, timeout=300)
        (run,) = json.loads(judged.read_text(encoding="utf-8-sig"))["runs"]
        rules |= {found["ruleId"] for found in run["results"]}
    return rules


def hostile_report() -> Report:
    source = Source(f"{EVIL}/\udcff.plan", f"x = {EVIL} 1")
    label = Label(at(source, "x"), EVIL)
    found = UNKNOWN.at(at(source, "1"), EVIL, EVIL, related=(label,), help=(EVIL,), notes=(EVIL,))
    return Report((found,), (source.name,), ((source.name, EVIL),))


@pytest.mark.parametrize("report", [real_report, small_report, hostile_report])
def test_the_validator_has_no_complaint(report: Callable[[], Report], tmp_path: Path) -> None:
    assert complaints(render(report()), tmp_path) == {NO_HOME_PAGE}


def test_a_run_that_found_nothing(tmp_path: Path) -> None:
    assert complaints(render(Report((), ("a.plan",))), tmp_path) == {NO_HOME_PAGE}


def test_the_validator_sees_what_github_refuses(tmp_path: Path) -> None:
    document = json.loads(render(small_report()))
    document["runs"][0]["results"][0]["locations"].clear()
    del document["runs"][0]["tool"]["driver"]["rules"][0]["help"]
    assert {"GH1015", "GH2012"} <= complaints(json.dumps(document), tmp_path)
