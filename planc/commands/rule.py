"""`planc rule`: the page of a rule, or the list of all of them."""

from __future__ import annotations

import argparse
from inspect import cleandoc
from typing import NamedTuple

from planc.commands import output
from planc.commands.output import CannotWork
from planc.diagnostics.diagnostic import Fault, Severity
from planc.plan import faults as plan_faults
from planc.readers import faults as reader_faults
from planc.rules import all_rules, page_of
from planc.syntax import faults as syntax_faults
from planc.targets import load_target, target_names


class Entry(NamedTuple):
    """A kind of diagnostic, whoever finds it."""

    code: str
    name: str
    severity: Severity
    page: str


def run(arguments: list[str]) -> int:
    """Exit status: 0, or 2 if no rule has this code or name."""
    parser = argparse.ArgumentParser(prog="planc rule", description="Show a rule's page, or list the rules.")
    parser.add_argument("rule", nargs="?", metavar="CODE|NAME", help="such as PLN101 or indivisible-world-size")
    wanted = parser.parse_args(arguments).rule
    entries = all_entries()
    if wanted is None:
        width = max(len(entry.name) for entry in entries)
        for entry in entries:
            summary = entry.page.partition("\n")[0]
            output.write(f"{entry.code}  {entry.name:<{width}}  {entry.severity.value:<7}  {summary}\n")
        return 0
    for entry in entries:
        if wanted.upper() == entry.code or wanted.lower() == entry.name:
            output.write(f"{entry.code} {entry.name} ({entry.severity.value})\n\n{entry.page}\n")
            return 0
    known = [*(entry.code for entry in entries), *(entry.name for entry in entries)]
    guess = output.did_you_mean(wanted, known)
    raise CannotWork(f"no rule {output.quoted(wanted)}{guess}; `planc rule` lists them")


def all_entries() -> list[Entry]:
    """Every rule and every fault of the language and the targets, by code, each once."""
    faults: list[Fault] = [*syntax_faults.FAULTS, *reader_faults.FAULTS, *plan_faults.FAULTS]
    for name in target_names():
        faults.extend(load_target(name).faults)
    found = {fault.code: Entry(fault.code, fault.name, fault.severity, cleandoc(fault.page)) for fault in faults}
    for rule in all_rules():
        found[rule.code] = Entry(rule.code, rule.name, rule.severity, cleandoc(page_of(rule)))
    return [found[code] for code in sorted(found)]
