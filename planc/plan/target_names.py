"""The names of the targets: what a plan may emit, and a policy may ask for.

What a target is stands above plans; its name is the name of its file. The folder is listed, and nothing of it imported.
"""

from __future__ import annotations

import os
from functools import cache

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "targets")
_NOT_TARGETS = ("__init__", "target")

#: A target for which nobody takes a block of its name: `env { ... }` is `launch.env`.
_NO_BLOCK = "env"


@cache
def target_names() -> tuple[str, ...]:
    """Names of the targets that this version writes, sorted. A helper's file name starts with an underscore."""
    stems = {os.path.splitext(file)[0] for file in os.listdir(_FOLDER) if file.endswith((".py", ".pyc"))}
    return tuple(
        sorted(stem.replace("_", "-") for stem in stems if stem not in _NOT_TARGETS and not stem.startswith("_"))
    )


def is_target_block(word: str) -> bool:
    """Whether a block of this name is taken for a target, which stands in `emit`."""
    return word != _NO_BLOCK and word in target_names()
