"""What one run has to report, as the renderers take it: plain values."""

from __future__ import annotations

from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Severity


class Kind(NamedTuple):
    """A kind of diagnostic, whoever finds it, with the page that explains it."""

    code: str
    name: str
    severity: Severity
    page: str


class Report(NamedTuple):
    """What one run found.

    diagnostics: in the order in which they are shown.
    files: the names of the files that were read, those without a fault too.
    unread: the names of those that could not be read, each with the reason.
    kinds: the kinds of the codes that occur; only SARIF shows their pages, other forms do without.
    skipped: rules that stayed silent (code, name, plan, the fields that would let it speak), if that was asked for.
    verify: what no file tells of the machines (name, plan, claim, command), if that was asked for.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    unread: tuple[tuple[str, str], ...] = ()
    kinds: tuple[Kind, ...] = ()
    skipped: tuple[tuple[str, str, str, tuple[str, ...]], ...] | None = None
    verify: tuple[tuple[str, str, str, str], ...] | None = None


def page_path(code: str, name: str) -> str:
    """Where the page of a code lies in planc's repository: `docs/rules/pln101-indivisible-world-size.md`."""
    return f"docs/rules/{code.lower()}-{name}.md"
