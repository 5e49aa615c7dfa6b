"""Whatever a file holds, it is measurements or one line that says why it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planc.commands.measurements import read_measurements
from planc.commands.output import CannotWork
from tests.measuring.logs import deepspeed, megatron, megatron_memory, torchtitan

#: Pieces of which files that are nearly right are made.
PIECES = [
    piece.encode()
    for piece in (
        megatron(1, 900.0), megatron(2, "nan"), megatron_memory(0, 1.0, 2.0), torchtitan(10, "6,123"),
        deepspeed(5, 31.0), "step_time,memory_used,parallel.tensor\n", "1.5,60 GiB,2\n", ",,\n", '"', "\n",
        '{"step_time": 1}\n', '{"step": "1', "plan,step\n", "\x1b[31m", "1e400", "\u0661", " |", "\r",
        "iteration 3/ 5 | elapsed time per iteration (ms): ",
    )
]  # fmt: skip


def outcome(path: Path, content: bytes) -> None:
    """Reads a file; anything but measurements or a reason in one line fails."""
    path.write_bytes(content)
    try:
        found = read_measurements(str(path))
    except CannotWork as reason:
        assert "\n" not in str(reason) and "\x1b" not in str(reason)
    else:
        assert found
        for series in found:
            assert series.points or series.peaks
            assert all(0 < point.value < float("inf") and 0 <= point.before for point in series.points)
            assert all(0 < peak.num_bytes < float("inf") for peak in series.peaks)


@pytest.mark.parametrize("ending", ["log", "csv", "jsonl"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes(ending: str, tmp_path: Path, content: bytes) -> None:
    outcome(tmp_path / f"a.{ending}", content)


@pytest.mark.parametrize("ending", ["log", "csv", "jsonl"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 400), flip=st.integers(1, 255))
def test_a_byte_that_was_changed(ending: str, tmp_path: Path, at: int, flip: int) -> None:
    whole = {
        "log": b"".join(PIECES[:1] + PIECES[2:5]),
        "csv": PIECES[5] + PIECES[6] * 5,
        "jsonl": b'{"step_time": 1.5, "plan": "a", "memory_used": "60 GiB", "parallel.sequence": true}\n' * 3,
    }[ending]
    at %= len(whole)
    outcome(tmp_path / f"a.{ending}", whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
