"""Whether a policy's rule can be broken at all: a field of several kinds of quantity is of one in each plan.

A comparison with another kind is unknown there, so `every <= 1 h or every <= 500 steps` is true or unknown for every
plan, and `require` of it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.evaluate import FAULTY, Env, Val, evaluate
from planc.plan.scope import Report
from planc.plan.units import Dimension
from planc.syntax import nodes

#: Combinations of kinds that are tried; a rule with more is taken for one that can be broken.
_MAX_COMBINATIONS = 512


def can_be_broken(rule: nodes.Rule, kinds: Mapping[str, tuple[Dimension, ...]], env: Env) -> bool:
    """Whether some plan may break a rule without a fault; `kinds` holds those of each path that has several."""
    if not kinds or _MAX_COMBINATIONS < prod(map(len, kinds.values())):
        return True
    breaking = rule.verb != "require"
    for chosen in product(*kinds.values()):
        settled = _settled(env, dict(zip(kinds, chosen, strict=True)))
        guarded = rule.guard is None or True in _outcomes(rule.guard, settled)
        if guarded and breaking in _outcomes(rule.condition, settled):
            return True
    return False


def _settled(env: Env, chosen: Mapping[str, Dimension]) -> Env:
    """Where the paths are of the chosen kinds."""

    def lookup(path: nodes.Path, report: Report) -> Val:
        dotted = ".".join(name.text for name in path.names)
        return Val(FAULTY, "number", chosen[dotted]) if dotted in chosen else env.lookup(path, report)

    return Env(lookup, env.report)


def _outcomes(node: Any, env: Env) -> set[bool | None]:
    """What a condition can come to, each comparison taken by itself; None where it compares unlike things."""
    if isinstance(node, nodes.Unary) and node.operator == "not":
        return {None if outcome is None else not outcome for outcome in _outcomes(node.operand, env)}
    if isinstance(node, nodes.Binary) and node.operator in ("and", "or"):
        return _joined((node.left, node.right), node.operator == "or", env)
    flags = isinstance(node, nodes.Call) and node.function.text in ("any", "all")
    if flags and not any(isinstance(argument, nodes.List) for argument in node.arguments):
        return _joined(node.arguments, node.function.text == "any", env)
    unlike: list[Diagnostic] = []
    value = evaluate(node, Env(env.lookup, unlike.append)).value
    if unlike:
        return {None}
    return {value} if value is True or value is False else {True, False}


def _joined(parts: tuple[Any, ...], settles: bool, env: Env) -> set[bool | None]:
    """What several conditions come to of which one settles it."""
    found: set[bool | None] = {not settles}
    for part in parts:
        found = {_both(left, right, settles) for left in found for right in _outcomes(part, env)}
    return found


def _both(left: bool | None, right: bool | None, settles: bool) -> bool | None:
    if settles in (left, right):
        return settles
    return None if None in (left, right) else not settles
