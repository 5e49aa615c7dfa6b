"""The policies that files define, with their rules, whether or not a plan asks to be judged by them."""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.plan.merge import Merger
from planc.plan.model import PolicyRule
from planc.plan.policies import policy_rules
from planc.plan.scope import Load, scopes
from planc.source import Source, Span


class Policy(NamedTuple):
    """A policy: its name, its block, and its rules, those included that it inherits."""

    name: str
    span: Span
    rules: tuple[PolicyRule, ...]


def policies_in(sources: tuple[Source, ...], load: Load) -> tuple[Policy, ...]:
    """The policies of the sources, in the order of their texts, without the rules that have a fault."""
    merger = Merger(_ignore, load)
    found = []
    for scope in scopes(sources, load, {}):
        for block in scope.file.blocks:
            if block.kind == "policy" and (block.kind, block.name.text) not in scope.twice:
                shape = merger.block(scope, block)
                if shape is not None:
                    found.append(Policy(block.name.text, block.span, policy_rules(shape, _ignore)))
    return tuple(found)


def _ignore(diagnostic: Any) -> None:
    """Reported when the file is linted."""
