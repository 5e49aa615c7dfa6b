"""torchrun.sh."""

from __future__ import annotations

from tests.targets.truth.words import ranks


def values(files: dict[str, str]) -> dict[str, object]:
    """What the script says."""
    return ranks(files["torchrun.sh"])
