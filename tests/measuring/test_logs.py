"""What the logs of trainers say of steps and memory, whatever stands around it."""

from __future__ import annotations

import pytest

from planc.measuring.logs import MARKS, read_log
from planc.measuring.series import SAMPLES, SECONDS, TOKENS, Faulty, Peak, Series, after_warmup
from tests.measuring.logs import deepspeed, megatron, megatron_memory, torchtitan

GIB = 2**30


def read(*lines: str) -> Series:
    """What a log of these lines says."""
    found = read_log("a.log", enumerate(lines, 1))
    assert found is not None
    return found


def test_every_line_has_a_mark() -> None:
    for line in (megatron(1, 1.0), megatron_memory(0, 1.0, 1.0), torchtitan(1, "1"), deepspeed(1, 1.0)):
        assert any(mark in line.encode() for mark in MARKS)


def test_megatron_gives_milliseconds_and_mebibytes() -> None:
    found = read("noise\n", megatron_memory(0, 1024.5, 2048.0), *(megatron(step, 900.0 + step) for step in range(1, 8)))
    assert (found.form, found.unit) == ("Megatron-LM", SECONDS)
    assert after_warmup(found, 5) == (pytest.approx(0.906), pytest.approx(0.907))
    assert found.peaks == (Peak("allocated", 1024.5 * 2**20, 0), Peak("reserved", 2 * GIB, 0))


def test_two_cards_on_one_line() -> None:
    found = read(megatron_memory(2, 100.0, 200.0, end="") + megatron_memory(6, 300.0, 400.0))
    assert {(peak.rank, peak.kind, peak.num_bytes / 2**20) for peak in found.peaks} == {
        (2, "allocated", 100), (2, "reserved", 200), (6, "allocated", 300), (6, "reserved", 400),
    }  # fmt: skip


def test_a_fork_of_megatron_that_joins_words() -> None:
    found = read("x iteration=       9/  100 | consumed_samples= 768 | elapsed_time_per_iteration_ms=1500.5 | a=1 |\n")
    assert after_warmup(found, 0) == (1.5005,)


def test_torchtitan_gives_tokens_per_second_and_card() -> None:
    lines = [torchtitan(step, "6,123", colors=step != 1) for step in (1, 10, 20, 30)]
    found = read(*lines, torchtitan(40, "5,000").replace("step:", "validate step:"))
    assert (found.form, found.unit, len(found.points)) == ("torchtitan", TOKENS, 4)
    assert after_warmup(found, 5) == (6123, 6123)  # the line of step 10 is the mean since step 1
    assert found.peaks == (Peak("reserved", 47.66 * GIB, 0),)


def test_ranks_that_print_the_same_steps_count_once() -> None:
    found = read(*(torchtitan(step, "100", 10 + rank, rank) for step in (1, 2, 3) for rank in (3, 1)))
    assert len(found.points) == 3
    assert {(peak.rank, peak.num_bytes / GIB) for peak in found.peaks} == {(3, 13), (1, 11)}


def test_deepspeed_gives_samples_per_second_of_each_step() -> None:
    found = read(*(deepspeed(step, 30.0 + step) for step in (10, 20)))
    assert (found.form, found.unit) == ("DeepSpeed", SAMPLES)
    assert after_warmup(found, 5) == (40, 50)  # each is that of its step alone, so the first counts too
    assert found.peaks == (Peak("allocated", 31.5 * GIB, 0),)
    assert read(deepspeed(10, 1.0, memory="0.0")).peaks == ()


def test_of_two_trainers_in_a_log_the_first_counts() -> None:
    found = read(deepspeed(1, 3.0), megatron(1, 20.0), deepspeed(2, 3.0), megatron(2, 20.0))
    assert (found.form, len(found.points)) == ("Megatron-LM", 2)
    assert [peak.kind for peak in found.peaks] == ["allocated"]


def test_the_line_after_every_tenth_step_holds_the_warmup_once() -> None:
    found = read(*(megatron(step, float(step)) for step in (10, 20, 30)))
    assert [point.before for point in found.points] == [0, 10, 20]
    assert after_warmup(found, 5) == (0.02, 0.03)


def test_a_run_that_goes_on_from_a_checkpoint_warms_up_again() -> None:
    found = read(*(megatron(step, 1.0) for step in (5001, 5002, 5003)))
    assert [point.before for point in found.points] == [0, 1, 2]


def test_a_restart_warms_up_again() -> None:
    found = read(*(megatron(step, 1.0) for step in (1, 2, 3, 2, 3, 4)))
    assert [point.before for point in found.points] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("line", [megatron(11, 1234.5), torchtitan(11, "6,123"), deepspeed(11, 31.25)])
def test_no_number_is_taken_of_a_log_that_ends_within_it(line: str) -> None:
    whole = read(line)
    for end in range(len(line)):
        found = read_log("a.log", [(1, line[:end])])
        assert found is None or found.points == whole.points
        assert found is None or set(found.peaks) <= set(whole.peaks)


@pytest.mark.parametrize("end", range(60, len(megatron_memory(3, 1234.5, 5678.0))))
def test_no_memory_is_taken_of_a_log_that_ends_within_it(end: int) -> None:
    line = megatron_memory(3, 1234.5, 5678.0)
    found = read_log("a.log", [(1, line[:end])])
    assert found is None or set(found.peaks) == set(read(line).peaks)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (megatron(7, "nan"), "the time of an iteration is `nan`"),
        (megatron(7, "0.0"), "the time of an iteration is `0.0`"),
        (megatron(7, "-3"), "the time of an iteration is `-3`"),
        (megatron(7, "soon"), "the time of an iteration is no number: `soon`"),
        (torchtitan(7, "nan"), "`tps` is `nan`"),
        (torchtitan(7, "0"), "`tps` is `0`"),
        (deepspeed(7, "inf"), "`CurrSamplesPerSec` is `inf`"),
        (megatron_memory(0, "nan", 1.0), "the memory that was allocated is `nan`"),
    ],
)
def test_what_is_no_measurement_is_a_fault_with_its_line(line: str, reason: str) -> None:
    with pytest.raises(Faulty) as fault:
        read("x\n", "y\n", line)
    assert (fault.value.line, str(fault.value)) == (3, reason)


def test_a_loss_that_is_no_number_does_not_matter() -> None:
    assert len(read(megatron(1, 5.0, loss="NaN")).points) == 1


def test_a_log_without_such_lines_says_nothing() -> None:
    assert read_log("a.log", []) is None
    assert read_log("a.log", [(1, "elapsed: much\n"), (2, "memory: some\n")]) is None
