"""What a run of `lint` could not see: rules that lacked a number, and what no file tells of the machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.commands import output
from planc.compiler import Analysis, Skipped, plan_facts, silent_policies
from planc.verifying import Verification, verifications


class Unseen(NamedTuple):
    """Each once, in the order of the files. `others` are rules that were silent about files of other tools."""

    skipped: tuple[Skipped, ...]
    verify: tuple[Verification, ...]
    others: tuple[Skipped, ...] = ()


#: Options that say what files of other tools do not, by the beginnings of what they say.
_OPTIONS = (
    ("model", "--model"), ("cluster.gpus_per_node", "--world or --cluster"), ("cluster.nodes", "--world or --cluster"),
    ("cluster", "--cluster"),
)  # fmt: skip


def unseen(analyses: tuple[Analysis, ...], others: tuple[Skipped, ...] = ()) -> Unseen:
    """What was not seen of the plans of some files, and of files of other tools."""
    plans = [plan for analysis in analyses for plan in analysis.plans]
    skipped = dict.fromkeys(each for analysis in analyses for each in analysis.skipped)
    skipped.update(dict.fromkeys(each for plan in plans for each in silent_policies(plan)))
    verify = dict.fromkeys(each for plan in plans for each in verifications(plan, plan_facts(plan)))
    return Unseen(tuple(skipped), tuple(verify), tuple(map(_with_options, others)))


def _with_options(skipped: Skipped) -> Skipped:
    """A silent rule with the options that would let it speak behind the fields."""
    return skipped._replace(missing=tuple(f"`{path}` ({_option(path)})" for path in skipped.missing))


def _option(path: str) -> str:
    for start, option in _OPTIONS:
        if path == start or path.startswith(f"{start}."):
            return option
    return f"--set {path}=..."


def lines_of(of: Unseen) -> Iterator[str]:
    """The lines that say so."""
    if of.skipped or of.others:
        yield ""
        yield "Rules that stayed silent, and what would let them speak:"
    else:
        yield "No rule stayed silent."
    for each in of.skipped:
        fields = ", ".join(output.quoted(field) for field in each.missing)
        yield f"  {each.code} {each.name} in plan {output.quoted(each.plan)}: {fields}"
    for each in of.others:
        yield f"  {each.code} {each.name} in {output.quoted(each.plan)}: {', '.join(each.missing)}"
    if of.verify:
        yield ""
        yield "Verify on the machines what no file tells:"
    for plan in dict.fromkeys(look.plan for look in of.verify):
        yield f"  plan {output.quoted(plan)}"
        for look in of.verify:
            if look.plan == plan:
                yield f"    {look.name}: {look.claim}"
                yield f"      $ {look.command}"
