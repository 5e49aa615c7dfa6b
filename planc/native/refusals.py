"""What the targets of an imported plan refuse of it: fields that they need, and what they cannot write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.compiler import plan_facts
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.composing import Parts, compose
from planc.native.kind import Said
from planc.plan.model import Plan, Unknown
from planc.plan.resolve import resolve
from planc.plan.schema import SECTIONS
from planc.plan.scope import Load
from planc.targets import emitted_targets, known_targets

#: Settings of which each stands for itself: a target that refuses one writes the plan without it.
_SETTINGS = ("launch.env.", "launch.slurm.", "launch.modules", "launch.venv")

#: How a help names what to write: `launch { script = "train.py" }`.
_WRITE = re.compile(r"write `([^`]+)`")
_FIRST = re.compile(r"((?:[\w-]+ \{ )*)([\w-]+) = ")


class Refusals(NamedTuple):
    """What stands between a plan and its files.

    targets: those that write the plan once it has what is needed; needed: fields that nothing says, by the first target
    that needs each; refused: the other targets, each with what it cannot write; dropped: settings that the targets
    make themselves.
    """

    targets: tuple[str, ...]
    needed: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]
    dropped: frozenset[str] = frozenset()


def refusals(said: Sequence[Said], targets: Sequence[str], parts: Parts, load: Load) -> Refusals:
    """What the targets say of the plan that these values make; what is left out changes what the others say."""
    refused: dict[str, str] = {}
    dropped: set[str] = set()
    while True:
        left = tuple(target for target in targets if target not in refused)
        composed = compose([each for each in said if each.path not in dropped], left, "imported", parts)
        needed: dict[str, str] = {}
        more: dict[str, str] = {}
        settings: set[str] = set()
        for plan in resolve((composed.source,), load, known_targets()).plans if left else ():
            for target, found in _errors(plan):
                at = composed.said_at(found.primary.span)
                fields = tuple(_lacking(plan, target, found))
                needed.update((field, target) for field in fields if field not in needed)
                if at is not None and at.said.path.startswith(_SETTINGS):
                    settings.add(at.said.path)
                elif not fields:
                    more.setdefault(target, found.message)
        if not more and not settings:
            return Refusals(left, tuple(needed.items()), tuple(refused.items()), frozenset(dropped))
        refused.update(more)
        dropped.update(settings)


def _errors(plan: Plan) -> Iterator[tuple[str, Diagnostic]]:
    for choice, target in emitted_targets(plan):
        for found in target.check(plan, plan_facts(plan)):
            if found.severity is Severity.ERROR:
                yield choice.name, found


def _lacking(plan: Plan, target: str, found: Diagnostic) -> Iterator[str]:
    """The fields that a help says to write and that have no value; nothing if it is about one that has."""
    for text in found.help:
        match = _WRITE.search(text)
        first = _FIRST.match(match[1]) if match is not None else None
        if first is None:
            return
        sections = first[1].split(" { ")[:-1]
        path = _placed((*sections, first[2]))
        if sections[:1] == [target]:
            yield f"emit.{path}"
        elif path is not None and _is_unset(plan, path):
            yield path
        else:
            return


def _placed(path: tuple[str, ...]) -> str | None:
    """A path from the plan; of a field alone, that of the only section of a plan which has one of its name."""
    if 1 < len(path) or any(field.name == path[0] for field in SECTIONS["plan"]):
        return ".".join(path)
    names = {section.name: [field.name for field in SECTIONS.get(section.type.of, ())] for section in SECTIONS["plan"]}
    of = [section for section, fields in names.items() if path[0] in fields]
    return f"{of[0]}.{path[0]}" if len(of) == 1 else None


def _is_unset(plan: Plan, path: str) -> bool:
    """Whether a field has no value, or the section has none in which it would stand."""
    located = plan.find(path)
    return located is None or located.value is None or (isinstance(located.value, Unknown) and located.value.unset)
