"""env.sh."""

from __future__ import annotations

from tests.targets.truth.words import assigned


def values(files: dict[str, str]) -> dict[str, object]:
    """What the file says: by how many ranks the cores of a node are divided."""
    return {"gpus_per_node": assigned(files["env.sh"], "planc_ranks")}
