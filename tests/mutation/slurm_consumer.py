"""`sbatch --test-only` asked about the options of a job, on a running Slurm of emulated nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.consumers.slurm_cluster import Cluster

#: Nodes of the cluster, its partition, and what a node of it has (`slurm_cluster.py`).
NODES = 9
PARTITIONS = {"gpu"}
_CARDS = 8
_CORES = 112


def consumer(cluster: Cluster, folder: Path) -> Callable[[Mapping[str, Any]], str | None]:
    """The function that asks this cluster; a job larger than the cluster is not asked about."""

    def asked(about: Mapping[str, Any]) -> str | None:
        options = about["options"]
        if _largest(options, "nodes", NODES) or _largest(options, "gpus-per-node", _CARDS):
            return None
        if _largest(options, "cpus-per-task", _CORES):
            return None
        script = folder / "job.sbatch"
        script.write_text("\n".join(["#!/bin/bash", *options, "true", ""]), encoding="utf-8")
        answer = cluster.test_only(script)
        return None if answer.returncode == 0 else answer.stderr.strip().split("\n")[0]

    return asked


def _largest(options: list[str], name: str, most: int) -> bool:
    """Whether an option asks for more than the cluster has."""
    found = [re.fullmatch(rf"#SBATCH --{name}=(\d+)", option) for option in options]
    return any(most < int(match[1]) for match in found if match is not None)
