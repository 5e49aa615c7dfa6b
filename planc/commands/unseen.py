"""What a run of `lint` could not see: rules that lacked a number, and what no file tells of the machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.commands import output
from planc.compiler import Analysis, Skipped, plan_facts, silent_policies
from planc.verifying import Verification, verifications


class Unseen(NamedTuple):
    """Each once, in the order of the files."""

    skipped: tuple[Skipped, ...]
    verify: tuple[Verification, ...]


def unseen(analyses: tuple[Analysis, ...]) -> Unseen:
    """What was not seen of the plans of some files."""
    plans = [plan for analysis in analyses for plan in analysis.plans]
    skipped = dict.fromkeys(each for analysis in analyses for each in analysis.skipped)
    skipped.update(dict.fromkeys(each for plan in plans for each in silent_policies(plan)))
    verify = dict.fromkeys(each for plan in plans for each in verifications(plan, plan_facts(plan)))
    return Unseen(tuple(skipped), tuple(verify))


def lines_of(of: Unseen) -> Iterator[str]:
    """The lines that say so."""
    if of.skipped:
        yield ""
        yield "Rules that stayed silent, and what would let them speak:"
    else:
        yield "No rule stayed silent."
    for each in of.skipped:
        fields = ", ".join(output.quoted(field) for field in each.missing)
        yield f"  {each.code} {each.name} in plan {output.quoted(each.plan)}: {fields}"
    if of.verify:
        yield ""
        yield "Verify on the machines what no file tells:"
    for plan in dict.fromkeys(look.plan for look in of.verify):
        yield f"  plan {output.quoted(plan)}"
        for look in of.verify:
            if look.plan == plan:
                yield f"    {look.name}: {look.claim}"
                yield f"      $ {look.command}"
