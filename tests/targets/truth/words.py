"""What launch scripts say, found in their text."""

from __future__ import annotations

import re


def assigned(script: str, name: str) -> int:
    """The number that a script gives a variable of its own, the only time that it does."""
    (value,) = re.findall(rf"^{name}=(\d+)(?: #.*)?$", script, re.MULTILINE)
    return int(value)


def ranks(script: str) -> dict[str, object]:
    """Nodes and cards of a script whose launcher is called with `planc_nodes` and `planc_ranks`."""
    nodes, gpus = assigned(script, "planc_nodes"), assigned(script, "planc_ranks")
    return {"nodes": nodes, "gpus_per_node": gpus, "world": nodes * gpus}
