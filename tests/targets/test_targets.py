"""What each target writes for each plan beside this file and for the examples: reviewed as a snapshot, and checked."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from planc.diagnostics.diagnostic import Severity
from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from tests.compiling import ROOT, analysed, errors, files_of, read

HERE = Path(__file__).parent
OK = sorted(HERE.glob("*/ok_*.plan"))
FAULTY = sorted(HERE.glob("*/err_*.plan"))
EXAMPLES = [path for path in sorted(ROOT.glob("examples/*.plan")) if path.name != "broken.plan" and read(path).plans]


class TextExtension(SingleFileSnapshotExtension):
    """One readable file a snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def case(path: Path) -> str:
    """The name of a case: its folder and file."""
    return f"{path.parent.name}-{path.stem}"


def plans(path: Path) -> tuple[Plan, ...]:
    """The plans of a file that has no error."""
    analysis = read(path)
    assert errors(analysis) == []
    return analysis.plans


def emitted(paths: list[Path], ending: str) -> list[Any]:
    """Every file with an ending that is emitted for some plans, as test parameters."""
    found = []
    for path in paths:
        for plan in read(path).plans:
            for file in files_of(plan):
                if file.path.endswith(ending):
                    found.append(pytest.param(plan, file, id=f"{case(path)}-{plan.name}-{file.path}"))
    return found


@pytest.mark.parametrize("path", [*OK, *EXAMPLES], ids=case)
def test_what_is_written(path: Path, snapshot: SnapshotAssertion) -> None:
    parts = [path.read_text(encoding="utf-8")]
    for plan in plans(path):
        for file in files_of(plan):
            mark = " (executable)" if file.executable else ""
            parts.append(f"==> {plan.name}/{file.path}{mark} <==\n{file.text}")
    assert "\n".join(parts) == snapshot(extension_class=TextExtension)


@pytest.mark.parametrize("path", OK, ids=case)
def test_a_clean_plan_draws_no_more_than_advice(path: Path) -> None:
    loud = [diagnostic for diagnostic in read(path).diagnostics if diagnostic.severity is not Severity.INFO]
    assert loud == []


@pytest.mark.parametrize("path", FAULTY, ids=case)
def test_a_faulty_plan_reports_its_code_and_no_other(path: Path) -> None:
    """The file's name says the code: `err_pln931_ring.plan`; its first line, a comment, what it shows."""
    code = path.stem.split("_")[1].upper()
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    found = [diagnostic for diagnostic in read(path).diagnostics if diagnostic.severity is not Severity.INFO]
    assert [diagnostic.code for diagnostic in found] == [code]
    assert len(found[0].message.split()) <= 12
    assert found[0].primary.span.line != 1


@pytest.mark.parametrize("path", [*OK, *EXAMPLES], ids=case)
def test_the_same_plan_gives_the_same_bytes(path: Path) -> None:
    again = analysed(path.read_text(encoding="utf-8"), str(path)).plans
    assert [files_of(plan) for plan in plans(path)] == [files_of(plan) for plan in again]


@pytest.mark.parametrize("path", [*OK, *EXAMPLES], ids=case)
def test_every_file_ends_in_one_newline(path: Path) -> None:
    for plan in plans(path):
        for file in files_of(plan):
            assert file.text.endswith("\n")
            assert not file.text.endswith("\n\n")


def schema(name: str) -> Draft202012Validator:
    """The validator of one of the schemas that planc ships."""
    data = json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(data)
    return Draft202012Validator(data)


@pytest.mark.parametrize(("plan", "file"), emitted([*OK, *EXAMPLES], "ds_config.json"))
def test_ds_config_follows_its_schema(plan: Plan, file: EmittedFile) -> None:
    assert [error.message for error in schema("ds_config.schema.json").iter_errors(json.loads(file.text))] == []


ACCELERATE = [
    parameter
    for backend in ("ddp", "fsdp1", "fsdp2", "deepspeed")
    for parameter in emitted([*OK, *EXAMPLES], f"accelerate_{backend}.yaml")
]


@pytest.mark.parametrize(("plan", "file"), ACCELERATE)
def test_accelerate_files_follow_their_schema(plan: Plan, file: EmittedFile) -> None:
    assert [error.message for error in schema("accelerate.schema.json").iter_errors(yaml.safe_load(file.text))] == []


SCRIPTS = [*emitted([*OK, *EXAMPLES], ".sh"), *emitted([*OK, *EXAMPLES], ".sbatch")]


@pytest.mark.parametrize(("plan", "file"), SCRIPTS)
def test_scripts_are_bash(plan: Plan, file: EmittedFile) -> None:
    assert file.executable
    run = subprocess.run(["bash", "-n"], input=file.text.encode(), capture_output=True, check=False)
    assert (run.returncode, run.stderr.decode()) == (0, "")


def test_shellcheck_finds_nothing_in_any_script(tmp_path: Path) -> None:
    """In one call: every start of shellcheck costs more than a script does."""
    paths = []
    for parameter in SCRIPTS:
        path = tmp_path / str(parameter.id)
        path.write_text(parameter.values[1].text, encoding="utf-8")
        paths.append(str(path))
    program = Path(sysconfig.get_path("scripts"), "shellcheck")
    run = subprocess.run([program, "-s", "bash", "-o", "all", *paths], capture_output=True, check=False)
    assert (run.returncode, run.stdout.decode()) == (0, "")
