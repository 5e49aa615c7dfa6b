"""How near the facts come to programs that count without a card, by their recorded answers."""

from __future__ import annotations

from collections.abc import Iterator

from tests.consumers.tracker import facts, recorded

_TARGETS = {"states": 0.001, "peak": 0.05}


def tracker_lines() -> Iterator[str]:
    """PyTorch's FSDP2 memory tracker: errors of the model states and of the peak of a forward and backward pass."""
    jobs = recorded()
    found = [(facts(job["case"]), job) for job in jobs]
    yield f"PyTorch's FSDP2 memory tracker, {len(jobs)} jobs: median / largest |error|"
    for part, target in _TARGETS.items():
        errors = sorted(abs(float(numbers[f"memory.{part}"]) / job[part] - 1) for numbers, job in found)
        missed = "" if errors[-1] <= target else "  NOT REACHED"
        figures = f"{errors[len(errors) // 2]:.4%} / {errors[-1]:.4%}"
        yield f"  {part:28}{figures:24}at most {target:.1%}{missed}"
