"""job.sbatch."""

from __future__ import annotations

import re

from tests.targets.truth.words import ranks


def values(files: dict[str, str]) -> dict[str, object]:
    """What the job says: of its own variables, and of what it asks Slurm for."""
    job = files["job.sbatch"]
    asked = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", job, re.MULTILINE))
    found = ranks(job)
    assert found["nodes"] == int(asked["nodes"])
    assert found["gpus_per_node"] == int(asked["gpus-per-node"])
    return found
