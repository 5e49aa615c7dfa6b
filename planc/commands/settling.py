"""From what was found to what is reported: suppressions, configurations and the command line have their say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planc.commands.configuring import Configurations, known_rules
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.source import Source

if TYPE_CHECKING:
    from planc.reporting.configuration import Chosen
    from planc.reporting.selection import Selection
    from planc.reporting.suppressions import Layouts

_UNUSED = "unused-suppression"
_SPEAKS = re.compile(r"#[ \t]*planc[ \t]*:", re.I)  # how a suppression begins; most texts have none


class Settled(NamedTuple):
    """What is reported, and what comments suppress."""

    diagnostics: tuple[Diagnostic, ...]
    suppressed: tuple[Diagnostic, ...]


def settle(
    found: Iterable[Diagnostic],
    sources: Sequence[Source],
    configurations: Configurations,
    command_line: Chosen,
    settings: Sequence[str],
    layouts: Layouts | None = None,
) -> Settled:
    """What is reported of what was found in the sources and the files that they use.

    `settings` are the fields that the command line sets: what they leave a suppression without is no fault of it.
    `layouts` are those of files of other tools.
    """
    from planc.reporting.selection import chosen

    diagnostics = tuple(found)
    suppressed: tuple[Diagnostic, ...] = ()
    texts = (*sources, *(diagnostic.primary.span.source for diagnostic in diagnostics))
    if any(_SPEAKS.search(source.text) for source in dict.fromkeys(texts)):
        from planc.reporting.suppressions import suppress

        outcome = suppress(diagnostics, sources, known_rules, layouts)
        complaints = [each for each in outcome.faults if not settings or each.name != _UNUSED]
        diagnostics, suppressed = (*outcome.diagnostics, *complaints), outcome.suppressed
    selections: dict[Source, Selection] = {}
    reported = []
    for diagnostic in diagnostics:
        source = diagnostic.primary.span.source
        if source not in selections:
            selections[source] = configurations.selection(source, command_line)
        kept = chosen(diagnostic, selections[source])
        if kept is not None:
            reported.append(kept)
    return Settled(in_order((*reported, *configurations.diagnostics)), suppressed)
