"""Checkpoints: their size and time, and how often one is worth it; formulas against numeric minima and a simulation."""

import random

import pytest

from planc.plan.model import Unknown
from planc.plan.units import STEPS, TIME, Amount
from tests.facts.given import facts_of

HOUR, DAY = 3600, 86400


def times(saving, mtbf, interval=None, **more):
    given = {} if interval is None else {"checkpoint__planned_interval": interval}
    return facts_of(checkpoint__save_time=saving, world__mtbf=mtbf, **given, **more)


@pytest.mark.parametrize(
    ("engine", "stage", "more", "width"),
    [
        ("deepspeed", 0, {}, 14),
        ("deepspeed", 2, {}, 14),
        ("deepspeed", 3, {}, 12),
        ("deepspeed", 3, {"precision": "fp32"}, 12),
        ("deepspeed", 1, {"precision": "fp32"}, 12),
        ("megatron", 1, {"precision__gradients": "fp32"}, 14),
        ("megatron", 3, {}, 14),
        ("fsdp2", 3, {}, 12),
        ("generic", 3, {}, 14),
        ("megatron", 1, {"optimizer__states": "bf16"}, 10),
        ("fsdp2", 3, {"optimizer": "adamw-8bit"}, 6),
        ("deepspeed", 1, {"optimizer": "sgd"}, 6),
    ],
)
def test_bytes_of_a_parameter_by_engine(engine, stage, more, width):
    facts = facts_of(engine, model__total_parameters=10**9, shard__stage=stage, **more)
    assert facts["checkpoint.size"] == width * 10**9


def test_size_of_a_published_checkpoint():
    """BLOOM's model card: 176,247,271,424 parameters, 329 GB of weights, 2.3 TB in full, counted in powers of 1024."""
    facts = facts_of(model__total_parameters=176_247_271_424, shard__stage=1)
    assert facts["checkpoint.size"] / 2**40 == pytest.approx(2.3, abs=0.06)
    assert 176_247_271_424 * facts["memory.weight_width"] / 2**30 == pytest.approx(329, abs=1)


def test_a_measured_time_counts_before_a_derived_one():
    given = {"model__total_parameters": 10**9, "cluster__storage": 10**9}
    assert facts_of(**given)["checkpoint.save_time"] == 14
    assert facts_of(**given, checkpoint__write_time=90)["checkpoint.save_time"] == 90
    for underived in ({"adapter": "lora"}, {"optimizer": "adafactor"}):
        assert facts_of(**given, **underived, checkpoint__write_time=90)["checkpoint.save_time"] == 90


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ({}, ("cluster.storage", "checkpoint.write_time")),
        ({"cluster__storage": 0}, ("cluster.storage",)),
        ({"adapter": "lora", "cluster__storage": 1}, ("checkpoint.write_time",)),
        ({"optimizer": "adagrad", "cluster__storage": 1}, ("checkpoint.write_time",)),
    ],
)
def test_what_the_time_of_a_save_needs(more, missing):
    assert facts_of(model__total_parameters=1, **more)["checkpoint.save_time"].missing == missing


def test_failures_of_a_published_run():
    """Llama 3 (2024), section 3.3.4: 419 unexpected interruptions of 16,384 cards in 54 days, one in three hours."""
    run = {"world__size": 16_384, "train__time": 54 * DAY, "checkpoint__lost": 0}
    facts = facts_of(**run, cluster__mtbf_per_gpu=54 * DAY * 16_384 / 419)
    assert facts["world.mtbf"] / HOUR == pytest.approx(3.09, abs=0.01)
    assert facts["checkpoint.failures"] == pytest.approx(419)


def test_intervals_by_hand():
    """d = 2 min, M = 100 min: Young sqrt(400) = 20 min; Daly 20 (1 + 0.1 / 3 + 0.01 / 9) - 2."""
    facts = times(120, 6000)
    assert facts["checkpoint.young_interval"] == pytest.approx(1200)
    assert facts["checkpoint.best_interval"] == pytest.approx(60 * (20 * (1 + 0.1 / 3 + 0.01 / 9) - 2))
    for longer in (12_000, 50_000):
        assert times(longer, 6000)["checkpoint.best_interval"] == 6000
    assert times(0, 6000)["checkpoint.best_interval"] == 0


@pytest.mark.parametrize("ratio", [1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 1.9])
def test_the_best_interval_is_where_the_overhead_is_least(ratio):
    facts = times(ratio, 1.0)
    best = facts["checkpoint.best_interval"]
    steps = [best * 1.002**at for at in range(-1200, 1201)]
    scanned = [(times(ratio, 1.0, step)["checkpoint.overhead"], step) for step in steps]
    least, where = min(scanned)
    assert steps[0] < where < steps[-1]
    assert best == pytest.approx(where, rel=0.003 if ratio <= 0.1 else 0.02 if ratio <= 0.5 else 0.08)
    assert facts["checkpoint.best_overhead"] <= least + 2e-3 * (1 - least)  # of what is left
    young = times(ratio, 1.0, facts["checkpoint.young_interval"])["checkpoint.overhead"]
    assert facts["checkpoint.best_overhead"] <= young + 1e-12


@pytest.mark.parametrize("ratio", [1e-7, 1e-5, 1e-3])
def test_young_is_daly_where_saves_are_short(ratio):
    facts = times(ratio, 1.0)
    young, daly = facts["checkpoint.young_interval"], facts["checkpoint.best_interval"]
    assert young == pytest.approx(daly, rel=ratio**0.5)
    assert facts["checkpoint.best_overhead"] == pytest.approx((2 * ratio) ** 0.5, rel=2 * ratio**0.5)


@pytest.mark.parametrize(("interval", "saving"), [(0.5, 0.1), (0.05, 0.01), (1.5, 0.5)])
def test_overhead_against_a_simulation(interval, saving):
    """Work and save are done again until both end before the next failure, which is memoryless with a mean of 1."""
    draw, spent, count = random.Random(7), 0.0, 40_000
    for _ in range(count):
        while (failure := draw.expovariate(1.0)) < interval + saving:
            spent += failure
        spent += interval + saving
    expected = 1 - count * interval / spent
    assert times(saving, 1.0, interval)["checkpoint.overhead"] == pytest.approx(expected, rel=0.02)


def test_the_interval_of_the_plan():
    assert facts_of(checkpoint__every=Amount(HOUR, TIME))["checkpoint.planned_interval"] == HOUR
    steps = {"checkpoint__every": Amount(500, STEPS)}
    assert facts_of(**steps, step__measured=2.0)["checkpoint.planned_interval"] == 1000
    assert facts_of(**steps)["checkpoint.planned_interval"].missing == ("step.measured",)
    assert facts_of()["checkpoint.planned_interval"].missing == ("checkpoint.every",)


def test_lost_time_and_failures():
    """A fifth of the time is overhead: 80 hours of work take 100, in which ten failures of one in ten hours come."""
    facts = facts_of(train__time=80 * HOUR, checkpoint__overhead=0.2, world__mtbf=10 * HOUR)
    assert facts["checkpoint.lost"] == pytest.approx(20 * HOUR)
    assert facts["checkpoint.failures"] == pytest.approx(10)


def test_saves_in_the_background_are_not_judged():
    facts = times(10, 6000, 600, checkpoint__async=True)
    for path in ("young_interval", "best_interval", "overhead", "best_overhead"):
        assert facts[f"checkpoint.{path}"].missing == ("checkpoint.async",)


@pytest.mark.parametrize("saving", [0.0, 1e-99, 1.0, 1e99])
@pytest.mark.parametrize("mtbf", [0.0, 1e-99, 1.0, 1e200])
@pytest.mark.parametrize("interval", [0.0, 1.0, 1e150])
def test_zero_and_huge_numbers_are_finite_or_unknown(saving, mtbf, interval):
    facts = times(saving, mtbf, interval, train__time=1e9)
    for path in ("young_interval", "best_interval", "overhead", "best_overhead", "lost", "failures"):
        found = facts[f"checkpoint.{path}"]
        assert isinstance(found, Unknown) or 0 <= found < float("inf"), path


@pytest.mark.parametrize("number", [0, 10**400])
@pytest.mark.parametrize(
    "name", ["model__total_parameters", "cluster__storage", "cluster__mtbf_per_gpu", "world__size"]
)
def test_absurd_plans_give_finite_numbers_or_none(name, number):
    given = {
        "model__total_parameters": 10**9, "cluster__storage": 10**9, "cluster__mtbf_per_gpu": 10**8, "world__size": 8,
        "checkpoint__every": Amount(HOUR, TIME), "train__time": 1e6, name: number,
    }  # fmt: skip
    facts = facts_of(**given)
    for path in ("save_time", "young_interval", "best_interval", "overhead", "best_overhead", "lost", "failures"):
        found = facts[f"checkpoint.{path}"]
        assert isinstance(found, Unknown) or 0 <= found < float("inf"), path


def test_a_job_that_never_gets_anywhere():
    facts = times(10.0, 1.0, 1e6, train__time=100.0)
    assert facts["checkpoint.overhead"] == 1
    assert facts["checkpoint.lost"].missing == ("checkpoint.every", "cluster.mtbf_per_gpu")


def test_arrays_of_layouts():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    savings, means = (1.0, 100.0, 3000.0), (1e5, 1e4, 1e3)
    paths = ("young_interval", "best_interval", "overhead", "best_overhead", "lost", "failures")
    grid = times(numpy.array(savings), numpy.array(means), 600.0, train__time=1e6)
    for at, (saving, mean) in enumerate(zip(savings, means, strict=True)):
        one = times(saving, mean, 600.0, train__time=1e6)
        for path in paths:
            assert grid[f"checkpoint.{path}"][at] == pytest.approx(one[f"checkpoint.{path}"])
    stages = facts_of(model__total_parameters=10**9, shard__stage=numpy.array([0, 1, 2, 3]))["checkpoint.size"]
    assert list(stages) == [14e9, 14e9, 14e9, 12e9]
