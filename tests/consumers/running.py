"""Emitted scripts run for real, in an environment where everything talks over loopback."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sysconfig
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PLANS = Path(__file__).parent / "plans"
PROGRAMS = Path(__file__).parent / "programs"


def needs(*modules: str) -> pytest.MarkDecorator:
    """A mark that skips a test where one of the consumers is not installed, and names it."""
    missing = [module for module in modules if not _is_installed(module)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def _is_installed(module: str) -> bool:
    """Whether a module can be found; one inside a package is not where the package is not."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def environment(**variables: str) -> dict[str, str]:
    """The environment of a run on this machine alone, with the consumers' programs in its path."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {
        "PATH": f"{sysconfig.get_path('scripts')}:{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin",
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONWARNINGS": "ignore",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "DS_ACCELERATOR": "cpu",
        "OMP_NUM_THREADS": "1",
        **kept,
        **variables,
    }


def free_ports(count: int) -> list[int]:
    """Ports of loopback, no two alike, that were free a moment ago."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def ran(script: Path, *arguments: str, cwd: Path = PROGRAMS, **variables: str) -> list[dict[str, Any]]:
    """What the ranks of a script reported, in their order."""
    return _finished([_started(script, arguments, variables, cwd)])


def ran_on_two_nodes(script: Path) -> list[dict[str, Any]]:
    """What the ranks of a script reported that was called as on two nodes, in their order.

    Here both nodes are one machine, and either would take itself for the master: so the master listens first.
    """
    (port,) = free_ports(1)
    master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    runs = [_started(script, (), master | {"NODE_RANK": "0"})]
    deadline = time.monotonic() + 60
    while not _listens(port) and runs[0].poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    runs.append(_started(script, (), master | {"NODE_RANK": "1"}))
    return _finished(runs)


def _started(
    script: Path, arguments: tuple[str, ...], variables: dict[str, str], cwd: Path = PROGRAMS
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(script), *arguments],
        cwd=cwd,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _finished(runs: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """What the ranks reported; a run that fails or hangs fails the test, and none is left behind."""
    try:
        outputs = [run.communicate(timeout=180)[0] for run in runs]
    finally:
        for run in runs:
            if run.poll() is None:
                run.terminate()  # the launcher ends its workers when it is told to end
                run.communicate(timeout=60)
    assert [run.returncode for run in runs] == [0] * len(runs), "\n".join(outputs)
    return reports("\n".join(outputs))


def reports(output: str) -> list[dict[str, Any]]:
    """The JSON that the ranks printed, in the order of the ranks; two may share a line."""
    decoder = json.JSONDecoder()
    found = [decoder.raw_decode(output, match.start())[0] for match in re.finditer(r"\{\"rank\"", output)]
    return sorted(found, key=lambda report: int(report["rank"]))
