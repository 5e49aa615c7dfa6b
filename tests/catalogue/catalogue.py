"""What the catalogue holds, block by block, for its tests and its page."""

from __future__ import annotations

from typing import NamedTuple

from planc.commands.files import Files
from planc.facts.engine import ENGINES
from planc.facts.facts import Facts
from planc.plan.emission import Targets
from planc.plan.model import Plan
from planc.plan.resolve import resolve
from planc.source import Source
from tests.shared import ROOT

CATALOGUE = ROOT / "planc" / "catalogue"


class Entry(NamedTuple):
    """A block of the catalogue; `published` are the names by which others know it, from the comment above it."""

    name: str
    published: str
    plan: Plan

    @property
    def facts(self) -> Facts:
        """The facts that need no plan around the block."""
        return Facts(self.plan, ENGINES["generic"])


def entries(file: str) -> dict[str, Entry]:
    """The blocks of `gpus` or `models`, by name, in the order in which they stand."""
    source = Files().read(str(CATALOGUE / f"{file}.plan"))
    assert isinstance(source, Source), source
    resolved = resolve((source,), Files().load, Targets())
    assert resolved.diagnostics == ()
    return {part.name: Entry(part.name, _published(part), part) for part in resolved.parts}


def _published(part: Plan) -> str:
    """The comment in the line above the line in which the block begins."""
    above = part.span.source.line(part.span.line - 1)
    assert above.startswith("# "), f"{part.name} says not under which name it is published"
    return above.removeprefix("# ")
