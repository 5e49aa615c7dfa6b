"""Steps and tokens of a run, and what they cost in days, GPU-hours, money and energy."""

import csv
from fractions import Fraction

import pytest

from planc.plan.model import Unknown
from planc.plan.units import CURRENCIES, EPOCHS, SAMPLES, STEPS, TOKENS, UNITS, Amount
from tests.facts.given import facts_of, table

BATCH = {"batch__global": 8, "batch__sequence_length": 100}

#: Touvron et al., LLaMA (2023), sections 2.4 and 6: the 65B model, 1.4T tokens in batches of 4M, 380 tokens/s and card
#: on 2048 cards of 400 W.
LLAMA = {
    "train__duration": Amount(14 * 10**11, TOKENS), "batch__global": 2048, "batch__sequence_length": 2048,
    "world__size": 2048, "step__measured": 2048 / 380, "cluster__gpu__power": 400,
}  # fmt: skip


def price(text, number=1):
    dimension, numerator, denominator = UNITS[text]
    return Amount(Fraction(number) * Fraction(numerator, denominator), dimension)


PRICES = {"cluster__price_per_gpu": price("USD/h"), "cluster__energy_price": price("USD/kWh")}


@pytest.mark.parametrize(
    ("duration", "tokens", "steps"),
    [
        (Amount(10, STEPS), 8_000, 10),
        (Amount(0, STEPS), 0, 0),
        (Amount(1601, TOKENS), 1601, 3),
        (Amount(1600, TOKENS), 1600, 2),
        (Amount(17, SAMPLES), 1_700, 3),
        (Amount(10**60, TOKENS), 10**60, 125 * 10**55),
    ],
)
def test_length_of_a_run(duration, tokens, steps):
    facts = facts_of(**BATCH, train__duration=duration)
    assert (facts["train.tokens"], facts["train.steps"]) == (tokens, steps)


@pytest.mark.parametrize(("size", "tokens", "steps"), [(Amount(1000, TOKENS), 2500, 4), (Amount(20, SAMPLES), 5000, 7)])
def test_epochs_are_those_of_the_data(size, tokens, steps):
    facts = facts_of(**BATCH, train__duration=Amount(Fraction(5, 2), EPOCHS), dataset__size=size)
    assert (facts["train.tokens"], facts["train.steps"]) == (tokens, steps)


@pytest.mark.parametrize(
    ("duration", "steps", "tokens"),
    [
        (Amount(10, STEPS), 10, "batch.sequence_length"),
        (Amount(16, SAMPLES), 2, "batch.sequence_length"),
        (Amount(1600, TOKENS), "batch.sequence_length", 1600),
        (Amount(2, EPOCHS), "dataset.size", "dataset.size"),
    ],
)
def test_what_a_length_needs(duration, steps, tokens):
    facts = facts_of(batch__global=8, train__duration=duration)
    for path, expected in (("train.steps", steps), ("train.tokens", tokens)):
        found = facts[path]
        assert (found.missing[0] if isinstance(found, Unknown) else found) == expected


def test_a_batch_that_grows_has_no_constant_tokens():
    ramp = {**BATCH, "batch__ramp": "linear"}
    steps, tokens = (facts_of(**ramp, train__duration=Amount(1600, dimension)) for dimension in (STEPS, TOKENS))
    assert (steps["train.steps"], tokens["train.tokens"]) == (1600, 1600)
    assert steps["train.tokens"].missing == tokens["train.steps"].missing == ("batch.ramp",)


def test_days_hours_and_energy_of_a_published_run():
    facts = facts_of(**LLAMA)
    assert facts["train.time"] / 86400 == pytest.approx(21, abs=0.5)
    assert facts["train.gpu_time"] / 3600 == pytest.approx(1_022_362, rel=0.005)
    assert facts["train.energy"] / 3.6e9 == pytest.approx(449 / 1.1, rel=0.005)  # the paper's MWh hold a PUE of 1.1


def test_days_of_the_published_runs():
    checked = 0
    for row in csv.DictReader(table("09b_large_runs.csv").read_text().splitlines()):
        if row["days_300B"] and row["iter_s"] and row["chk_days"] == "1":
            facts = facts_of(
                train__duration=Amount(300 * 10**9, TOKENS), batch__global=int(row["gbs"]),
                batch__sequence_length=int(row["seq"]), step__measured=float(row["iter_s"]),
            )  # fmt: skip
            days = float(row["days_300B"])  # of the printed tokens per second, rounded as the step times are
            assert facts["train.time"] / 86400 == pytest.approx(days, rel=0.004), row["row_id"]
            checked += 1
    assert checked == 12


@pytest.mark.parametrize("currency", CURRENCIES)
def test_money_keeps_its_currency(currency):
    prices = {"cluster__price_per_gpu": price(f"{currency}/h", 2), "cluster__energy_price": price(f"{currency}/kWh", 3)}
    run = {"train__steps": 1800, "step__measured": 2, "world__size": 5, "cluster__gpu__power": 500}
    facts = facts_of(**run, **prices)
    assert facts["train.gpu_time"] == 5 * 3600
    assert facts["train.cost"] == Amount(pytest.approx(10), ((currency, 1),))
    assert facts["train.energy"] == 2.5 * 3_600_000
    assert facts["train.energy_cost"] == Amount(pytest.approx(7.5), ((currency, 1),))


def test_what_a_price_needs():
    facts = facts_of(**LLAMA)
    assert facts["train.cost"].missing == ("cluster.price_per_gpu",)
    assert facts["train.energy_cost"].missing == ("cluster.energy_price",)
    known = {
        name: LLAMA[name] for name in ("train__duration", "batch__global", "batch__sequence_length", "world__size")
    }
    assert facts_of(**known)["train.time"].missing == ("step.measured",)
    assert set(facts_of(**known)["train.energy"].missing) == {"step.measured", "cluster.gpu.power"}
    assert facts_of(**BATCH)["train.steps"].missing == ("train.duration",)


@pytest.mark.parametrize("number", [0, 10**99, 10**400])
@pytest.mark.parametrize("name", ["world__size", "cluster__gpu__power", "train__duration", "cluster__price_per_gpu"])
def test_zero_and_huge_numbers_are_finite_or_unknown(name, number):
    value = Amount(number, STEPS) if name == "train__duration" else number
    value = price("USD/h", number) if name == "cluster__price_per_gpu" else value
    facts = facts_of(**{**LLAMA, **PRICES, name: value})
    for path in ("time", "gpu_time", "cost", "energy", "energy_cost"):
        found = facts[f"budget.{path}"]
        found = found.value if isinstance(found, Amount) else found
        assert isinstance(found, Unknown) or abs(found) < float("inf")


def test_arrays_of_layouts():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    sizes = numpy.array([512, 2048])
    grid = facts_of(**{**LLAMA, **PRICES, "world__size": sizes, "batch__global": sizes})
    for at, size in enumerate((512, 2048)):
        one = facts_of(**{**LLAMA, **PRICES, "world__size": size, "batch__global": size})
        for path in ("train.steps", "train.time", "train.gpu_time", "train.energy"):
            assert grid[path][at] == pytest.approx(one[path])
        for path in ("train.cost", "train.energy_cost"):
            assert grid[path].value[at] == pytest.approx(one[path].value)
            assert grid[path].dimension == one[path].dimension
