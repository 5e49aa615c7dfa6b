"""The kinds of files that planc reads beside its own: one file each, found by its name, as rules and targets are."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module

from planc.native.kind import Kind


def kind_names() -> tuple[str, ...]:
    """Names of all kinds, sorted. A helper's file name starts with an underscore."""
    stems = {
        os.path.splitext(file)[0] for file in os.listdir(os.path.dirname(__file__)) if file.endswith((".py", ".pyc"))
    }
    return tuple(sorted(stem.replace("_", "-") for stem in stems if not stem.startswith("_")))


@cache
def load_kind(name: str) -> Kind:
    """The kind of a name that `kind_names` lists."""
    kind: Kind = import_module(f"planc.native.kinds.{name.replace('-', '_')}").KIND
    return kind


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Every kind, by name."""
    return tuple(map(load_kind, kind_names()))
