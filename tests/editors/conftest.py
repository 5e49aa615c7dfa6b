"""What the tests of the editors need: the extension's folder, with the npm packages that it asks for."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import ROOT

EXTENSION = ROOT / "editors" / "vscode"


@pytest.fixture(scope="session")
def node() -> Iterator[Path]:
    """The extension's folder, its packages installed; skips where there is no node, or no registry to install from."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < 20:
        pytest.skip(f"node {version.strip()} is older than 20")
    installed = EXTENSION / "node_modules" / ".package-lock.json"
    locked = EXTENSION / "package-lock.json"
    with open(locked) as turn:  # several test runs may share a checkout
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
            outcome = subprocess.run(
                ["npm", "ci", "--no-progress"], cwd=EXTENSION, capture_output=True, text=True, timeout=600, check=False
            )
            if outcome.returncode != 0:
                pytest.skip(f"npm cannot install what the tests need: {outcome.stderr.strip().splitlines()[0]}")
    yield EXTENSION
