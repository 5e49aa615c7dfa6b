"""Where the material lies that only some machines have; tests that need it skip with a reason elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


def shared(relative: str) -> Path:
    """A file or folder of the shared material; skips the test where it is not there."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"the shared material ({relative}) is not on this machine")
    return path
