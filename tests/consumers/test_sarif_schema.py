"""The SARIF that is written, against the published schema (2.1.0, fifth correction), which an npm package carries."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.diagnostics.report import Report
from planc.diagnostics.sarif import render
from tests.diagnostics.given import real_report, small_report

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
SCHEMA = "package/lib/schemas/sarif-2.1.0-rtm.5.json"

pytestmark = [
    pytest.mark.consumer,
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which fetches the schema, is not installed"),
]


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("npm")
    fetched = subprocess.run(
        ["npm", "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if fetched.returncode:
        pytest.skip(f"npm cannot fetch {PACKAGE}: {fetched.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile(SCHEMA)
        assert member is not None
        schema = json.load(member)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def test_reports(validator: Any) -> None:
    for report in (real_report(), small_report(), Report((), ("a.plan",)), Report((), (), (("x.plan", "gone"),))):
        document = json.loads(render(report))
        assert [error.message for error in validator.iter_errors(document)] == []


def test_the_schema_refuses_what_is_no_sarif(validator: Any) -> None:
    document = json.loads(render(small_report()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert not validator.is_valid(document)
