"""deepspeed.sh and hostfile."""

from __future__ import annotations

from tests.targets.truth.words import ranks

EMIT = "deepspeed-launcher"


def values(files: dict[str, str]) -> dict[str, object]:
    """What the script says, and the host file with it."""
    found = ranks(files["deepspeed.sh"])
    if "hostfile" in files:
        slots = [int(line.partition(" slots=")[2]) for line in files["hostfile"].splitlines()]
        assert slots == [found["gpus_per_node"]] * len(slots)
        assert len(slots) == found["nodes"]
    return found
