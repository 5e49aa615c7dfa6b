"""Every kind of diagnostic that planc can report, wherever it is found: in the language, by a rule or by a target."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import cleandoc

from planc.diagnostics.diagnostic import Diagnostic, Fault, Severity
from planc.diagnostics.report import Kind
from planc.native import faults as native_faults
from planc.plan import faults as plan_faults
from planc.readers import faults as reader_faults
from planc.reporting import checkpoint_faults
from planc.reporting import faults as reporting_faults
from planc.rules import all_rules, page_of
from planc.syntax import faults as syntax_faults
from planc.targets import load_target, target_names


def all_kinds() -> tuple[Kind, ...]:
    """Every rule and every fault of the language and the targets, by code, each once."""
    modules = (syntax_faults, reader_faults, native_faults, plan_faults, reporting_faults, checkpoint_faults)
    faults: list[Fault] = [fault for module in modules for fault in module.FAULTS]
    for name in target_names():
        faults.extend(load_target(name).faults)
    found = {fault.code: Kind(fault.code, fault.name, fault.severity, cleandoc(fault.page)) for fault in faults}
    for rule in all_rules():
        found[rule.code] = Kind(rule.code, rule.name, rule.severity, cleandoc(page_of(rule)))
    return tuple(found[code] for code in sorted(found))


def known_rules() -> dict[str, tuple[str, Severity]]:
    """Name and severity of every kind, by code."""
    return {kind.code: (kind.name, kind.severity) for kind in all_kinds()}


def kinds_of(diagnostics: Iterable[Diagnostic]) -> tuple[Kind, ...]:
    """The kinds that occur in diagnostics, by code."""
    codes = {diagnostic.code for diagnostic in diagnostics}
    return tuple(kind for kind in all_kinds() if kind.code in codes) if codes else ()
