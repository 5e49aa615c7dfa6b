"""Memory of whole models under FSDP2 against what PyTorch's tracker (2.13.0) counted, 64 cards, as it was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.consumers.tracker import facts, recorded

JOBS = recorded()


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job["name"])
def test_states_and_peak(job: dict[str, Any]) -> None:
    found = facts(job["case"])
    assert found["memory.states"] == pytest.approx(job["states"], rel=1e-5)
    assert found["memory.peak"] == pytest.approx(job["peak"], rel=0.025)


def test_most_peaks_are_met_to_a_thousandth() -> None:
    errors = sorted(abs(float(facts(job["case"])["memory.peak"]) / job["peak"] - 1) for job in JOBS)
    assert len(errors) == 24
    assert errors[len(errors) * 3 // 4] < 1e-3
