"""The targets: one file each, found by file name; a file is imported only when a plan emits its target."""

from __future__ import annotations

import os
from importlib import import_module

from planc.targets.target import Target

_NOT_TARGETS = ("__init__", "target")


def target_names() -> tuple[str, ...]:
    """Names of the targets that this version writes, sorted. A helper's file name starts with an underscore."""
    stems = {
        os.path.splitext(file)[0] for file in os.listdir(os.path.dirname(__file__)) if file.endswith((".py", ".pyc"))
    }
    return tuple(
        sorted(stem.replace("_", "-") for stem in stems if stem not in _NOT_TARGETS and not stem.startswith("_"))
    )


def load_target(name: str) -> Target:
    """The target of a name that `target_names` lists."""
    target: Target = import_module(f"planc.targets.{name.replace('-', '_')}").TARGET
    return target
