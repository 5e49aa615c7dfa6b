"""The targets: one file each, found by file name; a file is imported only when a plan emits its target."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from planc.plan.emission import Targets
from planc.plan.model import Choice, Plan
from planc.plan.target_names import target_names
from planc.targets.target import Target

__all__ = ["emitted_targets", "known_targets", "load_target", "target_names"]


def load_target(name: str) -> Target:
    """The target of a name that `target_names` lists."""
    target: Target = import_module(f"planc.targets.{name.replace('-', '_')}").TARGET
    return target


def known_targets() -> Targets:
    """The targets, as a plan is resolved with them."""
    return Targets(
        target_names(), lambda name: load_target(name).options, lambda name: load_target(name).gradients, _aliases
    )


def emitted_targets(plan: Plan) -> Iterator[tuple[Choice, Target]]:
    """The targets that a plan emits, each as it stands there and as it is."""
    return ((choice, load_target(choice.name)) for choice in plan.targets)


def _aliases() -> dict[str, tuple[str, ...]]:
    """What people call targets: the targets that each may mean."""
    found: dict[str, tuple[str, ...]] = {}
    for name in target_names():
        for alias in load_target(name).aliases:
            found[alias] = (*found.get(alias, ()), name)
    return found
