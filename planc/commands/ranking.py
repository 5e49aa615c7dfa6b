"""The ranks that `planc explain --rank` names, as ranges, once it is known that there are such."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planc.commands.output import CannotWork, quoted
from planc.plan.model import Unknown
from planc.showing.ranking import world_of

if TYPE_CHECKING:
    from planc.plan.model import Plan

_PART = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_MOST = 65_536  # ranks at once: a table of more is a slip


def chosen_ranks(plans: list[Plan], lists: list[str]) -> list[range]:
    """The ranks of lists such as `0-15,256`; raises for what is no such list, or beyond the ranks of a plan."""
    found = [_part(part.strip(), text) for text in lists for part in text.split(",")]
    count = sum(map(len, found))
    if _MOST < count:
        raise CannotWork(f"--rank names {count} ranks; at most {_MOST} are shown at once")
    for plan in plans if found else ():
        last, world = max(part[-1] for part in found), world_of(plan)
        if not isinstance(world, Unknown) and world <= last:
            raise CannotWork(f"--rank {last}: the plan {quoted(plan.name)} has the ranks 0 to {world - 1}")
    return found


def _part(part: str, text: str) -> range:
    match = _PART.fullmatch(part)
    if match is None:
        raise CannotWork(f"--rank {quoted(text)} is no list of ranks; write one such as `0-15,256`")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise CannotWork(f"--rank {quoted(text)}: {first} is beyond {last}")
    return range(first, last + 1)
