"""What a rule is. A rule is one file, `planc/rules/pln101_indivisible_world_size.py`; its docstring is its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan

Check = Callable[[Plan, Facts], Iterator[Diagnostic]]


class Rule(NamedTuple):
    """A check and when it runs.

    subject: the block that it judges, `plan`, `model`, `cluster` or `gpu`; a rule about a model runs for every model
        block, whether or not a plan uses it, and for every plan (which may narrow its model).
    needs: fields and facts without which it is silent; the check is only called when each is known, and
        `lint --show-skipped` can list the rule with what it lacked.
    code, name: from the file's name, filled in when the rule is found.
    """

    severity: Severity
    subject: str
    check: Check
    needs: tuple[str, ...] = ()
    code: str = ""
    name: str = ""
