"""What planc has to say about a text: plain values. Rules fill them, renderers show them, tests compare them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from planc.source import Span

#: What stands at the rule of a policy that gives no reason.
UNREASONED = "the rule of the policy"


class Severity(Enum):
    """How much a diagnostic weighs; `error` alone makes `lint` fail and keeps `compile` from writing."""

    ERROR = "error"  # the run would fail, compute something else, or throw most of the cluster away
    WARNING = "warning"  # it works but costs
    INFO = "info"  # advice


class Label(NamedTuple):
    """A place and what is to be said about it; the text may be empty."""

    span: Span
    text: str = ""


class Edit(NamedTuple):
    """The text that should stand in place of a span."""

    span: Span
    text: str


class Fix(NamedTuple):
    """Edits that repair a fault; `safe` if they cannot change what a correct plan means."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class Diagnostic(NamedTuple):
    """One fault: what is wrong (with the numbers), where, and what would work.

    `message` is at most 12 words, starts in lower case, has no full stop and no advice. `primary` is the smallest span
    that the user can change, its text the arithmetic; `related` marks every other line that took part. `help` holds
    computed values that work; `notes` a source or a list. `code`, `name` and `severity` are stamped on by whoever ran
    the check, so that a rule never repeats what its file name says.
    """

    message: str
    primary: Label
    related: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    code: str = ""
    name: str = ""
    severity: Severity = Severity.ERROR


class Fault(NamedTuple):
    """A kind of fault that is found outside `rules/` (in the language, or by a target), with its page."""

    code: str
    name: str
    severity: Severity
    page: str

    def at(
        self,
        span: Span,
        message: str,
        label: str = "",
        *,
        related: tuple[Label, ...] = (),
        help: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        fixes: tuple[Fix, ...] = (),
    ) -> Diagnostic:
        """A diagnostic of this kind at a span."""
        return Diagnostic(message, Label(span, label), related, help, notes, fixes, self.code, self.name, self.severity)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics by file, place and code, each place and code once: what two plans report alike is one fault."""
    first: dict[tuple[str, int, int, str, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        first.setdefault((span.source.name, span.start, span.end, diagnostic.code, diagnostic.message), diagnostic)
    return tuple(first[key] for key in sorted(first))
