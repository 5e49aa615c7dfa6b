"""`planc rule`: the page of a rule, or the list of all of them."""

from __future__ import annotations

import argparse

from planc.commands import output
from planc.commands.output import CannotWork
from planc.kinds import all_kinds


def run(arguments: list[str]) -> int:
    """Exit status: 0, or 2 if no rule has this code or name."""
    parser = argparse.ArgumentParser(prog="planc rule", description="Show a rule's page, or list the rules.")
    parser.add_argument("rule", nargs="?", metavar="CODE|NAME", help="such as PLN101 or indivisible-world-size")
    wanted = parser.parse_args(arguments).rule
    kinds = all_kinds()
    if wanted is None:
        width = max(len(kind.name) for kind in kinds)
        for kind in kinds:
            summary = kind.page.partition("\n")[0]
            output.write(f"{kind.code}  {kind.name:<{width}}  {kind.severity.value:<7}  {summary}\n")
        return 0
    for kind in kinds:
        if wanted.upper() == kind.code or wanted.lower() == kind.name:
            output.write(f"{kind.code} {kind.name} ({kind.severity.value})\n\n{kind.page}\n")
            return 0
    known = [*(kind.code for kind in kinds), *(kind.name for kind in kinds)]
    guess = output.did_you_mean(wanted, known)
    raise CannotWork(f"no rule {output.quoted(wanted)}{guess}; `planc rule` lists them")
