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


def unseen(analyses: tuple[Analysis, ...], others: tuple[Skipped, ...] = (), has_world: bool = False) -> Unseen:
    """What was not seen of the plans of some files, and of files of other tools; `has_world`: with `--world`."""
    plans = [plan for analysis in analyses for plan in analysis.plans]
    skipped = dict.fromkeys(each for analysis in analyses for each in analysis.skipped)
    skipped.update(dict.fromkeys(each for plan in plans for each in silent_policies(plan)))
    verify = dict.fromkeys(each for plan in plans for each in verifications(plan, plan_facts(plan)))
    return Unseen(tuple(skipped), tuple(verify), tuple(_with_options(each, has_world) for each in others))


def _with_options(skipped: Skipped, has_world: bool) -> Skipped:
    """A silent rule with the options that would let it speak behind the fields."""
    missing = []
    for path in skipped.missing:
        option = _option(path, has_world)
        missing.append(f"`{path}` ({option})" if option else f"`{path}`")
    return skipped._replace(missing=tuple(missing))


def _option(path: str, has_world: bool) -> str | None:
    """The option that says what no file says of a field; None for a section, which is too much for one."""
    section = path.partition(".")[0]
    if section == "model":
        return "--model"
    if section == "cluster" or path == "parallel.data":
        return "--cluster" if has_world else "--world or --cluster"
    return None if path == section and _is_section(section) else f"--set {path}=..."


def _is_section(name: str) -> bool:
    from planc.plan.schema import SECTIONS

    return any(field.name == name and field.type.form in ("record", "map") for field in SECTIONS["plan"])


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
