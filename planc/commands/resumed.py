"""`planc lint --checkpoint`: the plans that go on from a checkpoint, beside the checkpoint itself."""

from __future__ import annotations

import os
from collections.abc import Sequence

from planc.commands.checkpoints import looked_at
from planc.commands.output import CannotWork, quoted
from planc.compiler import Analysis, plan_facts
from planc.diagnostics.diagnostic import Diagnostic
from planc.evidence.checkpoints.resuming import faults
from planc.plan.model import Unknown

#: Rules that tell of the same by the plan which `resume.saved_by` names.
_SAME = {"PLN854": "PLN810", "PLN855": "PLN809"}


def of_checkpoint(folder: str, analyses: Sequence[Analysis]) -> tuple[Diagnostic, ...]:
    """What keeps the plans that have a `resume` section from going on from a folder."""
    if not os.path.isdir(folder):
        raise CannotWork(f"there is no folder {quoted(folder)}, which `--checkpoint` names")
    plans = [plan for analysis in analyses for plan in analysis.plans]
    resumed = [plan for plan in plans if not isinstance(plan.value("resume"), Unknown | None)]
    if plans and not resumed:
        raise CannotWork("no plan has a `resume` section, which is what `--checkpoint` is compared with")
    looked = looked_at(folder)
    if not looked.found and not looked.fault:
        raise CannotWork(f"{quoted(folder)} holds no checkpoint of a format that planc reads")
    told = {(found.code, found.primary.span.source) for analysis in analyses for found in analysis.diagnostics}
    return tuple(
        fault
        for plan in resumed
        for fault in faults(plan, plan_facts(plan), looked.found, looked.newest, looked.fault)
        if (_SAME.get(fault.code), fault.primary.span.source) not in told
    )
