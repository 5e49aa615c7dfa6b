"""An imported plan as data for programs; `schemas/import.schema.json` describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.json import as_data, place
from planc.native.importing import Plan
from planc.native.kind import Said
from planc.source import Source

VERSION = 1  # of the form; a key that is removed or changes its meaning raises it, a new key does not


def import_data(
    plan: Plan | None, output: str | None, files: Sequence[Source], diagnostics: Sequence[Diagnostic]
) -> dict[str, Any]:
    """What was said of each field and where, what lacks, and what is left; of files that give no plan, the faults.

    output: the file in which the plan was written; files: those that were read.
    """
    read = frozenset(files)
    return {
        "version": VERSION,
        "errors": sum(each.severity is Severity.ERROR for each in diagnostics),
        "warnings": sum(each.severity is Severity.WARNING for each in diagnostics),
        "output": output,
        "plan": None if plan is None else plan.text,
        "said": [] if plan is None else [_said(each, read) for each in plan.said],
        "missing": [] if plan is None else [{"path": each.path, "reason": each.reason} for each in plan.missing],
        "left": [] if plan is None else [{"key": each.key, **place(each.place)} for each in plan.left],
        "refused": [] if plan is None else [{"target": target, "reason": reason} for target, reason in plan.refused],
        "diagnostics": [as_data(each) for each in diagnostics],
    }


def _said(said: Said, files: frozenset[Source]) -> dict[str, Any]:
    """A value of the plan; what was worked out has no key, and stands nowhere."""
    at = place(said.entry) if said.entry.source in files else dict.fromkeys(("file", "line", "column"))
    key = None if at["file"] is None else said.key
    return {"path": said.path, "value": said.text, "key": key, "assumed": said.assumed, **at}
