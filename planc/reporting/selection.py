"""Which diagnostics are reported, and how heavily: what a configuration and the command line choose by code or name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Severity

#: The word that chooses everything.
ALL = "all"

#: From here on codes belong to keys of other tools, rules and targets; what comes before is whether and how a text can
#: be understood.
FIRST_CHOICE = "PLN062"

_CODE = re.compile(r"PLN\d{0,3}")
_POLICY = re.compile(r"policy `([^`]+)`")
_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}
_WHOLE = 99  # a name or a whole code is more particular than any beginning of one


class Selection(NamedTuple):
    """What is reported. Each entry is a code, the beginning of one (`PLN1`), a name, a policy's rule, or `all`.

    select: what is reported at all, everything if it is None. ignore: what of that is not. Where both name a
        diagnostic, the more particular one holds, and `ignore` among equals.
    warn_as_error: warnings that are reported as errors. min_severity: the least that is shown.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    warn_as_error: tuple[str, ...] = ()
    min_severity: Severity = Severity.WARNING


def chosen(found: Diagnostic, selection: Selection) -> Diagnostic | None:
    """The diagnostic as it is reported; None if it is not.

    An error in the language cannot be left out: what could not be understood was not checked either.
    """
    if not is_fixed(found.code, found.severity):
        wanted = 0 if selection.select is None else _specificity(found, selection.select)
        unwanted = _specificity(found, selection.ignore)
        if wanted is None or (unwanted is not None and wanted <= unwanted):
            return None
    if found.severity is Severity.WARNING and _specificity(found, selection.warn_as_error) is not None:
        found = found._replace(severity=Severity.ERROR)
    return None if _RANK[found.severity] < _RANK[selection.min_severity] else found


def is_fixed(code: str, severity: Severity) -> bool:
    """Whether diagnostics of a kind are reported whatever is chosen."""
    return code < FIRST_CHOICE and severity is Severity.ERROR


def names_of(found: Diagnostic) -> tuple[str, ...]:
    """The names by which a diagnostic may be chosen: code, name, and for a policy's rule `house.fabric`, `house.*`."""
    policy = _POLICY.match(found.message) if found.name in ("broken-policy", "policy-warning") else None
    own = (policy[1], f"{policy[1].partition('.')[0]}.*") if policy else ()
    return (found.code, found.name, *own)


def is_policy(entry: str) -> bool:
    """Whether an entry names rules of a policy, which only the plans that it judges can tell from a slip."""
    return "." in entry


def is_code(entry: str) -> bool:
    """Whether an entry has the form of a code or of the beginning of one."""
    return _CODE.fullmatch(entry.upper()) is not None


def _specificity(found: Diagnostic, entries: Iterable[str]) -> int | None:
    """How particularly the entries name a diagnostic; None if they do not."""
    best: int | None = None
    names: tuple[str, ...] = ()
    for entry in entries:
        if entry == ALL:
            weight: int | None = 0
        elif is_code(entry):
            prefix = entry.upper()
            weight = (_WHOLE if prefix == found.code else len(prefix)) if found.code.startswith(prefix) else None
        else:
            names = names or names_of(found)
            weight = _WHOLE if entry in names else None
        if weight is not None and (best is None or best < weight):
            best = weight
    return best
