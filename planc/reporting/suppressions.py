"""Suppressions: `# planc: allow NAME -- reason`, at the end of a line for what is found there, or above an entry.

A comment that stands alone speaks for the entry or block that comes next, whole: for a `plan` block, say, everything
that is found in it. Several comments above one entry all speak for it. Names are separated by commas.

What a comment and an entry are in a file of another tool, its `Layout` says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, Protocol

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Severity
from planc.diagnostics.names import nearest
from planc.reporting import faults
from planc.reporting.checkpoint_faults import FAULTS as CHECKPOINT_FAULTS
from planc.reporting.selection import is_code, is_fixed, is_policy, names_of
from planc.source import Source, Span

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|(#[^\n]*)')
_SPEAKS = re.compile(r"#+[ \t]*planc[ \t]*:[ \t]*", re.I)
_NAMES = r"[^ \t,]+(?:[ \t]*,[ \t]*[^ \t,]+)*"
_ALLOW = re.compile(rf"allow[ \t]+(?P<names>{_NAMES})[ \t]*(?:--[ \t]*(?P<reason>.*?)[ \t]*)?$")
_INNER = re.compile(r"#+[ \t]*planc[ \t]*:[ \t]*allow\b", re.I)
_PIECE = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|[\[\](){}]|\n|[^\s"#\[\](){}]+|"')
_NAME = re.compile(r"[^ \t,]+")

Known = Callable[[], Mapping[str, tuple[str, Severity]]]


class Layout(Protocol):
    """How a text is laid out that is no plan's."""

    @property
    def silent(self) -> frozenset[str]:
        """Codes of the rules that could not judge the text for want of what stands in no file."""

    def comments(self) -> Iterable[Span]:
        """Every comment, from its `#` to the end of its line."""

    def last_line(self, comment: Span) -> int:
        """The line on which the entry after a comment ends; the comment's own if none follows."""


#: Texts that are no plans', with their layouts.
Layouts = Mapping[Source, Layout]


class Suppression(NamedTuple):
    """One name of a comment. `names` is how many the comment has; `first` and `last` are the lines it speaks for."""

    comment: Span
    name: Span
    names: int
    reason: str
    first: int
    last: int


class Outcome(NamedTuple):
    """What is left to report, what was suppressed, and what is wrong with the suppressions themselves."""

    diagnostics: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...]
    faults: tuple[Diagnostic, ...]


def suppress(
    found: Iterable[Diagnostic], sources: Sequence[Source], known: Known, layouts: Layouts | None = None
) -> Outcome:
    """The diagnostics without those that a comment allows, and the faults of the comments of `sources`.

    A comment in a file that another file uses holds as well. It is reported as unused only where this run had every
    chance to use it: in a file of `sources` that has a plan, for a rule judges plans, and if no error in the language
    kept a rule from judging; in a file of another tool, if its rule did not stay silent.
    """
    laid, known = layouts or {}, cache(known)
    diagnostics = tuple(found)
    files = dict.fromkeys((*sources, *(diagnostic.primary.span.source for diagnostic in diagnostics)))
    said = {source: suppressions(source, laid.get(source)) for source in files}
    all_judged = not any(is_fixed(found.code, found.severity) for found in diagnostics)
    useful: set[tuple[Source, int]] = set()
    kept: list[Diagnostic] = []
    suppressed: list[Diagnostic] = []
    for diagnostic in diagnostics:
        span = diagnostic.primary.span
        allowing = [one for one in said[span.source] if _allows(one, diagnostic)]
        useful.update((span.source, one.name.start) for one in allowing)
        (suppressed if allowing else kept).append(diagnostic)
    complaints: list[Diagnostic] = []
    for source in sources:
        complaints.extend(_malformed(source, laid.get(source)))
        without_reason = {one.comment: one for one in said[source] if not one.reason}
        complaints.extend(_without_reason(one) for one in without_reason.values())
        for one in said[source]:
            if (source, one.name.start) not in useful:
                complaint = _useless(one, known)
                unused = complaint is not None and complaint.code == faults.UNUSED_SUPPRESSION.code
                if complaint is not None and (not unused or (all_judged and _was_judged(one, laid.get(source), known))):
                    complaints.append(complaint)
    return Outcome(tuple(kept), tuple(suppressed), tuple(complaints))


def suppressions(source: Source, layout: Layout | None = None) -> tuple[Suppression, ...]:
    """Every name that a comment of a text allows, in order; `layout` is that of a text that is no plan's."""
    found: list[Suppression] = []
    for comment, said in _speaking(source, layout):
        match = _ALLOW.match(source.text, said, comment.end)
        if match is None:
            continue
        first, last = _lines(source, comment, layout)
        names = list(_NAME.finditer(source.text, match.start("names"), match.end("names")))
        reason = match["reason"] or ""
        found.extend(
            Suppression(comment, Span(source, name.start(), name.end()), len(names), reason, first, last)
            for name in names
        )
    return tuple(found)


def allowance(found: Diagnostic) -> Fix | None:
    """The comment that allows what was found, but for the reason, which only the user knows.

    None where it cannot be suppressed, or its line has no room: a comment in a comment allows nothing. Advice need not
    be suppressed.
    """
    source, number = found.primary.span.source, found.primary.span.line
    line = source.line(number)
    rest = _COMMENT.sub(lambda match: match[1] or "", line)
    if found.severity is Severity.INFO or is_fixed(found.code, found.severity) or not line.strip():
        return None
    if "#" in rest or '"' in rest:
        return None
    start = found.primary.span.start - found.primary.span.column + 1
    end = Span(source, start + len(line.rstrip()), start + len(line))
    name = next((name for name in names_of(found)[2:3] if not re.search(r"[\s,]", name)), found.name)
    return Fix(f"allow `{name}` here, with a reason", (Edit(end, f"  # planc: allow {name} -- "),), safe=False)


def _comments(source: Source, layout: Layout | None) -> Iterable[Span]:
    """Every comment, without the blanks behind it."""
    if layout is not None:
        yield from layout.comments()
        return
    for match in _COMMENT.finditer(source.text):
        if match[1] is not None:
            yield Span(source, match.start(1), match.start(1) + len(match[1].rstrip()))


def _speaking(source: Source, layout: Layout | None) -> Iterable[tuple[Span, int]]:
    """The comments that speak to planc, and where in the text what they say begins."""
    for comment in _comments(source, layout):
        speaks = _SPEAKS.match(source.text, comment.start, comment.end)
        if speaks is not None:
            yield comment, speaks.end()


def _lines(source: Source, comment: Span, layout: Layout | None) -> tuple[int, int]:
    """First and last line for which a comment speaks."""
    line = comment.line
    if source.line(line)[: comment.column - 1].strip():
        return line, line
    return line, _end_of_entry(source, comment.end) if layout is None else layout.last_line(comment)


def _end_of_entry(source: Source, at: int) -> int:
    """The line on which the entry after an offset ends, with all of its brackets closed; that of the offset if none."""
    depth, last = 0, at
    for match in _PIECE.finditer(source.text, at):
        piece = match[0]
        if piece == "\n":
            if at < last and depth <= 0:
                break
            continue
        if piece[0] == "#":
            continue
        if piece in "])}":
            if depth == 0:
                break  # the end of the block in which the comment stands
            depth -= 1
        elif piece in "[({":
            depth += 1
        last = match.end()
    return source.position(last)[0]


def _allows(one: Suppression, found: Diagnostic) -> bool:
    if is_fixed(found.code, found.severity):
        return False
    line = found.primary.span.line
    name = one.name.text
    return one.first <= line <= one.last and (name in names_of(found) or name.upper() == found.code)


def _malformed(source: Source, layout: Layout | None) -> Iterable[Diagnostic]:
    for place in _swallowed(source, layout):
        help = ("write it on a line of its own, above the entry",)
        message = "a comment in a comment allows nothing"
        yield faults.MALFORMED_SUPPRESSION.at(place, message, "part of the comment before it", help=help)
    for comment, said in _speaking(source, layout):
        if _ALLOW.match(source.text, said, comment.end) is None:
            help = ("write `# planc: allow NAME -- reason`",)
            yield faults.MALFORMED_SUPPRESSION.at(comment, "the comment allows nothing", "not understood", help=help)


def _swallowed(source: Source, layout: Layout | None) -> Iterable[Span]:
    """Where a comment would speak to planc if it were not within another one."""
    for comment in _comments(source, layout):
        marks = len(comment.text) - len(comment.text.lstrip("#"))
        inner = _INNER.search(source.text, comment.start + marks, comment.end)
        if inner is not None:
            yield Span(source, inner.start(), comment.end)


def _without_reason(one: Suppression) -> Diagnostic:
    help = (f"write `{one.comment.text.rstrip('- ')} -- reason`",)
    return faults.SUPPRESSION_WITHOUT_REASON.at(one.comment, "the suppression gives no reason", "why?", help=help)


def _useless(one: Suppression, known: Known) -> Diagnostic | None:
    """What is wrong with a name that suppressed nothing; the reason is asked for where it has none."""
    name, rules = one.name.text, known()
    removal = _removal(one)
    codes = [code for code, (rule, _) in rules.items() if name in (rule, code) or name.upper() == code]
    if is_policy(name) and not codes:
        codes = [""]
    if not codes:
        guess = nearest(name, [*(rule for rule, _ in rules.values()), *rules])
        help = (f"did you mean `{guess}`?",) if guess else ("`planc rule` lists them",)
        if is_code(name) and not guess:
            help = ("a suppression names one rule, whole; `planc rule` lists them",)
        fix = (Fix(f"write `{guess}`", (Edit(one.name, guess),), safe=False),) if guess else ()
        return faults.UNKNOWN_SUPPRESSION.at(one.name, f"no rule `{name}`", "no such rule", help=help, fixes=fix)
    if codes[0] and is_fixed(codes[0], rules[codes[0]][1]):
        help = ("mend the fault; what is not understood is not checked",)
        message = f"`{name}` cannot be suppressed"
        return faults.UNKNOWN_SUPPRESSION.at(one.name, message, "an error in the language", help=help, fixes=(removal,))
    if not one.reason:
        return None
    message = f"nothing to suppress: no `{name}` here"
    return faults.UNUSED_SUPPRESSION.at(one.name, message, "suppresses nothing", fixes=(removal,))


def _removal(one: Suppression) -> Fix:
    """The repair that takes the name out, and the whole comment with it if it is the only one."""
    source, text = one.comment.source, one.comment.source.text
    if 1 < one.names:
        start, end = one.name.start, one.name.end
        after = re.compile(r"[ \t]*,[ \t]*").match(text, end)
        if after is not None:
            return Fix("remove the name", (Edit(Span(source, start, after.end()), ""),), safe=True)
        return Fix("remove the name", (Edit(Span(source, start - len(_before(text, start)), end), ""),), safe=True)
    start, end = one.comment.start, one.comment.end
    line_start = text.rfind("\n", 0, start) + 1
    if not text[line_start:start].strip():  # it stands alone: its line goes with it
        start, end = line_start, min(len(text), text.find("\n", end) + 1 or len(text))
    else:
        start -= len(text[line_start:start]) - len(text[line_start:start].rstrip())
    return Fix("remove the comment", (Edit(Span(source, start, end), ""),), safe=True)


def _before(text: str, at: int) -> str:
    match = re.search(r"[ \t]*,[ \t]*$", text[:at])
    return match[0] if match else ""


def _was_judged(one: Suppression, layout: Layout | None, known: Known) -> bool:
    """Whether the rule of a suppression had all that it needs; those of checkpoints are judged where one is named."""
    name = one.name.text
    if layout is None:
        of_checkpoint = any(name == fault.name or name.upper() == fault.code for fault in CHECKPOINT_FAULTS)
        return not of_checkpoint and _has_plan(one.comment.source)
    return not any(name == known()[code][0] or name.upper() == code for code in layout.silent)


def _has_plan(source: Source) -> bool:
    return re.search(r"^[ \t]*plan[ \t]", source.text, re.M) is not None
