"""Every file that is emitted for the plans of the tests and the examples."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from tests.compiling import ROOT, errors, files_of, read

PLAN_FILES = [
    *sorted(ROOT.glob("tests/targets/*/ok_*.plan")),
    *sorted(ROOT.glob("tests/consumers/plans/*.plan")),
    *(path for path in sorted(ROOT.glob("examples/*.plan")) if path.name != "broken.plan"),
]


@cache
def all_plans() -> tuple[tuple[str, Plan], ...]:
    """The plans, each with a name that no other has."""
    found = []
    for path in PLAN_FILES:
        analysis = read(path)
        assert errors(analysis) == [], path
        found += [(f"{path.parent.name}-{path.stem}-{plan.name}", plan) for plan in analysis.plans]
    return tuple(found)


@cache
def all_files(ending: str) -> tuple[tuple[str, EmittedFile], ...]:
    """The files whose path has an ending, each with the name of its plan."""
    return tuple((name, file) for name, plan in all_plans() for file in files_of(plan) if file.path.endswith(ending))


def plans_that_write(path: str) -> list[Any]:
    """The plans that emit a file of this path, as test parameters."""
    return [
        pytest.param(plan, id=name) for name, plan in all_plans() if any(file.path == path for file in files_of(plan))
    ]


def put(text: str, path: Path) -> Path:
    """The path, where an executable file with this text now lies."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
