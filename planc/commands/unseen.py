"""What a run of `lint` could not see: rules that lacked a number, and what no file tells of the machines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from planc.commands import output
from planc.compiler import Analysis, Skipped, plan_facts, silent_policies
from planc.verifying import Verification, verifications

#: Columns of a line that lists rules.
_WIDTH = 120

#: A blank at which no line ends.
_KEPT = "\u00a0"

#: What is said of `--set`, where a rule waits for single fields.
_OF_SET = " of the fields in brackets"


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
    if section == "model" or _is_of_model(section):
        return "--model"
    if section == "cluster" or path == "parallel.data":
        return "--cluster" if has_world else "--world or --cluster"
    return None if path == section and _is_section(section) else f"--set {path}=..."


def _is_of_model(name: str) -> bool:
    """Whether a name is that of a part of a model, and of no section of a plan."""
    from planc.plan.schema import SECTIONS

    return all(field.name != name for field in SECTIONS["plan"]) and any(f.name == name for f in SECTIONS["model"])


def _is_section(name: str) -> bool:
    from planc.plan.schema import SECTIONS

    return any(field.name == name and field.type.form in ("record", "map") for field in SECTIONS["plan"])


def _of_files(shown: str, silent: list[Skipped]) -> Iterator[str]:
    """The rules that were silent about the files of one job, by the options that they wait for."""
    by_options: dict[tuple[str, ...], list[str]] = {}
    for each in silent:
        options, fields = list[str](), list[str]()
        for missing in each.missing:
            path, _, option = missing.partition(" ")
            option = option.strip("()")
            if option and not option.startswith("--set"):
                options.append(option)
            else:
                fields.append(path.strip("`"))
        key = (*sorted(set(options), reverse=True), *(["--set"] if fields else []))
        more = f" ({', '.join(dict.fromkeys(fields))})" if fields else ""
        by_options.setdefault(key, []).append(f"{each.code}{more}".replace(" ", _KEPT))
    for key, rules in sorted(by_options.items(), key=lambda pair: (len(pair[0]), "--set" in pair[0])):
        yield f"  {output.quoted(shown)}, with {' and '.join(key)}{_OF_SET * ('--set' in key)}:"
        for line in textwrap.wrap(", ".join(rules), _WIDTH, initial_indent="    ", subsequent_indent="    "):
            yield line.replace(_KEPT, " ")


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
    for plan in dict.fromkeys(each.plan for each in of.others):
        yield from _of_files(plan, [each for each in of.others if each.plan == plan])
    if of.verify:
        yield ""
        yield "Verify on the machines what no file tells:"
    for plan in dict.fromkeys(look.plan for look in of.verify):
        yield f"  plan {output.quoted(plan)}"
        for look in of.verify:
            if look.plan == plan:
                yield f"    {look.name}: {look.claim}"
                yield f"      $ {look.command}"
