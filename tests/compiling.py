"""Plans of files and texts, compiled in this process: what the tests of targets and consumers start from."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from planc import resources
from planc.compiler import Analysis, analyse, emit, plan_facts
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.source import Source
from planc.targets import target_names
from planc.targets.target import EmittedFile

ROOT = Path(__file__).parents[1]


def analysed(text: str, name: str = "test.plan") -> Analysis:
    """The analysis of a text that stands in a file of this name."""
    return analyse((Source(name, text),), load)


@cache
def read(path: Path) -> Analysis:
    """The analysis of a file, made once."""
    return analysed(path.read_text(encoding="utf-8"), str(path))


def plan_of(path: Path, name: str | None = None) -> Plan:
    """The plan of a file that has no error; its first, or the one of a name."""
    analysis = read(path)
    assert errors(analysis) == [], errors(analysis)
    return next(plan for plan in analysis.plans if name in (None, plan.name))


def facts_of(plan: Plan) -> Facts:
    """The facts of a plan."""
    return plan_facts(plan)


def errors(analysis: Analysis) -> list[Diagnostic]:
    """The errors of an analysis."""
    return [diagnostic for diagnostic in analysis.diagnostics if diagnostic.severity is Severity.ERROR]


def files_of(plan: Plan) -> tuple[EmittedFile, ...]:
    """The files of all targets of a plan that this version writes."""
    names = target_names()
    return emit(plan, lambda choice: choice.name in names)


def file_of(plan: Plan, path: str) -> str:
    """The text of one file of a plan."""
    return next(file.text for file in files_of(plan) if file.path == path)


def written_out(plan: Plan, folder: Path) -> Path:
    """The folder below `folder` into which the plan's files were written, as `compile` writes them."""
    target = folder / plan.name
    for file in files_of(plan):
        path = target / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        path.chmod(0o755 if file.executable else 0o644)
    return target


def load(name: str, importer: Source | None) -> Source | str:
    if name.startswith("planc/"):
        if name.removeprefix("planc/") not in resources.names("catalogue", ".plan"):
            return "the catalogue has no such file"
        return Source(name, resources.read_text(f"catalogue/{name.removeprefix('planc/')}.plan"))
    folder = os.path.dirname(importer.name) if importer is not None else "."
    path = Path(folder, name)
    return Source(str(path), path.read_text(encoding="utf-8")) if path.exists() else "there is no such file"
