"""The consumers that a whole test run shares."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.consumers.emitted import all_files
from tests.consumers.slurm_cluster import Cluster, why_not


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running Slurm, large enough for every job that is emitted for the plans of the tests and the examples."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    text = "\n".join(file.text for _, file in all_files("job.sbatch"))
    nodes = max(int(number) for number in re.findall(r"#SBATCH --nodes=(\d+)", text))
    try:
        cluster = Cluster(tmp_path_factory.mktemp("slurm"), nodes, set(re.findall(r"#SBATCH --partition=(\S+)", text)))
    except PermissionError:
        pytest.skip("stand-ins for graphics cards cannot be made: mknod is not permitted")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
