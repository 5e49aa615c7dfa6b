"""Pipeline schedules: each formula equals what the schedule does slot by slot, and both equal what papers print.

Qi et al., Zero Bubble Pipeline Parallelism (2023): figure 3 shows ZB-H1 and ZB-H2, table 2 has their bubbles, table 5
the rates that follow from the times of table 9. Narayanan et al. (2021), section 2.2: 1F1B and interleaved.
"""

from __future__ import annotations

import csv
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from planc.facts.pipeline import bubble, bubble_with_head, in_flight
from planc.plan.model import Unknown
from tests.facts import simulation
from tests.facts.given import facts_of, table
from tests.facts.simulation import Pass, Run, simulate

#: Passes of equal length, as the formulas assume for zero-bubble and dual.
EQUAL = {"F": 1, "B": 1, "W": 1, "BW": 2}

STAGES = (1, 2, 3, 4, 6, 8)
BATCHES = (1, 2, 3, 4, 7, 8, 16, 24)


def run(orders, times=EQUAL, latency=0, stages=0):
    return simulate(orders, lambda one: times[one.kind], latency, stages)


def idle_share(done: Run) -> Fraction:
    """Share of the step that devices stand idle; all devices of a balanced pipeline do as much."""
    (idle,) = {done.idle(device) for device in range(len(done.orders))}
    return Fraction(idle) / done.length()


def held(done: Run) -> list[int]:
    return [done.in_flight(device) for device in range(len(done.orders))]


@pytest.mark.parametrize(("stages", "batches"), tuple(itertools.product(STAGES, BATCHES)))
def test_1f1b(stages, batches):
    for times in (EQUAL, {"F": 3, "BW": 4}):
        done = run(simulation.one_forward_one_backward(stages, batches), times)
        assert idle_share(done) == bubble(stages, batches, "1f1b", None, None)
    assert held(done) == [in_flight(stage, stages, batches, "1f1b", None, None, None) for stage in range(stages)]


@pytest.mark.parametrize(("stages", "rounds", "chunks"), tuple(itertools.product(STAGES, (1, 2, 3), (1, 2, 3, 5))))
def test_interleaved(stages, rounds, chunks):
    batches = stages * rounds
    for times in (EQUAL, {"F": 3, "BW": 4}):
        done = run(simulation.interleaved(stages, batches, chunks, stages), times, stages=stages * chunks)
        assert idle_share(done) == bubble(stages, batches, "interleaved", chunks, None)
    assert [Fraction(chunk, chunks) for chunk in held(done)] == [
        in_flight(stage, stages, batches, "interleaved", chunks, None, None) for stage in range(stages)
    ]


@pytest.mark.parametrize(("stages", "group", "chunks"), [(2, 4, 2), (4, 8, 3), (4, 5, 2)])
def test_larger_groups_hold_more(stages, group, chunks):
    done = run(simulation.interleaved(stages, 2 * group, chunks, group), stages=stages * chunks)
    assert [Fraction(chunk, chunks) for chunk in held(done)] == [
        in_flight(stage, stages, 2 * group, "interleaved", chunks, group, None) for stage in range(stages)
    ]


@pytest.mark.parametrize(("stages", "batches"), tuple(itertools.product(STAGES, BATCHES)))
def test_zero_bubble_from_h1_to_h2(stages, batches):
    for most in range(stages, 2 * stages):
        limit = Fraction(most, stages)
        done = run(simulation.zero_bubble(stages, batches, most))
        assert idle_share(done) == bubble(stages, batches, "zero-bubble", None, limit)
        for stage, peak in enumerate(held(done)):
            assert peak == in_flight(stage, stages, batches, "zero-bubble", None, None, limit)


def test_zero_bubble_at_its_ends():
    assert bubble(8, 24, "zero-bubble", None, 1) == Fraction(7, 3 * 24 + 7)  # ZB-H1: a third of 1F1B's bubble
    assert bubble(8, 24, "zero-bubble", None, 2) == 0  # ZB-H2
    assert bubble(8, 24, "zero-bubble", None, Fraction(15, 8)) == 0
    assert bubble(8, 24, "zero-bubble", None, 10**30) == 0
    assert in_flight(0, 8, 24, "zero-bubble", None, None, 2) == 15
    assert in_flight(0, 8, 24, "zero-bubble", None, None, Fraction(23, 16)) == 11  # 11.5, rounded down
    assert bubble(8, 12, "zero-bubble", None, 2) == Fraction(3, 39)  # fewer micro batches than ZB-H2 can hold


def test_zero_bubble_equals_table_2_with_unlike_times():
    """Table 2 has (p - 1) (F + B - W) and (p - 1) (F + B - 2 W); typical times have W < F < B and B + W = 2 F."""
    times = {"F": 10, "B": 12, "W": 8}
    for stages, batches in ((2, 4), (4, 8), (8, 24)):
        for most, each in ((stages, 14), (2 * stages - 1, 6)):
            done = run(simulation.zero_bubble(stages, batches, most), times)
            assert done.length() - 30 * batches == (stages - 1) * each


@pytest.mark.parametrize(("stages", "extra"), tuple(itertools.product((2, 4, 6, 8, 10), (0, 2, 8))))
def test_dual(stages, extra):
    batches = 2 * stages + extra
    done = run(simulation.dual(stages, batches))
    assert idle_share(done) == bubble(stages, batches, "dual", None, None)
    assert held(done) == [in_flight(stage, stages, batches, "dual", None, None, None) for stage in range(stages)]


def test_schedules_of_figure_3():
    """Four devices and eight micro batches, by the order of passes of the first and the last device."""
    first, *_, last = simulation.zero_bubble(4, 8, 4)
    assert _text(first) == "F1 F2 F3 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 F8 B5 W5 B6 W6 B7 W7 B8 W8"
    assert _text(last) == "F1 B1 F2 B2 F3 B3 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 F8 B8 W5 W6 W7 W8"
    first, second, *_ = simulation.zero_bubble(4, 8, 7)
    assert _text(first) == "F1 F2 F3 F4 F5 F6 F7 B1 W1 F8 B2 W2 B3 W3 B4 W4 B5 W5 B6 W6 B7 W7 B8 W8"
    assert _text(second) == "F1 F2 F3 F4 F5 B1 F6 B2 F7 B3 W1 F8 B4 W2 B5 W3 B6 W4 B7 W5 B8 W6 W7 W8"


def _text(order):
    return " ".join(f"{one.kind}{one.batch + 1}" for slot in order for one in slot)


#: Profiled milliseconds of F, B, W and a transfer: Qi et al. (2023), table 9, by model and micro batches.
PROFILED = {
    ("1.5B", "24"): (18.522, 18.086, 9.337, 0.601), ("6.2B", "24"): (29.718, 29.444, 19.927, 0.527),
    ("1.5B", "32"): (18.513, 18.086, 9.331, 0.626), ("6.2B", "32"): (29.802, 29.428, 19.530, 0.577),
    ("1.5B", "64"): (18.546, 18.097, 9.321, 0.762), ("6.2B", "64"): (29.935, 29.621, 19.388, 0.535),
    ("28.3B", "96"): (10.419, 10.207, 7.715, 0.408), ("28.3B", "128"): (10.408, 10.204, 7.703, 0.408),
    ("28.3B", "256"): (10.402, 10.248, 7.698, 0.460),
}  # fmt: skip

ORDERS = {
    "1F1B": simulation.one_forward_one_backward,
    "ZB-H1": lambda stages, batches: simulation.zero_bubble(stages, batches, stages),
    "ZB-H2": lambda stages, batches: simulation.zero_bubble(stages, batches, 2 * stages - 1),
}


def test_rates_of_table_5():
    """All rates of three schedules to the printed digits; of 1F1B-I they leave out one transfer a stage.

    ZB-1p equals ZB-H1 in the table; ZB-2p is the result of a search.
    """
    compared = 0
    for row in csv.DictReader(table("16_zero_bubble.csv").open(encoding="utf-8")):
        stages, batches = int(row["pp"]), int(row["microbatches"])
        forward, inputs, weights, transfer = PROFILED[row["model"], row["microbatches"]]
        times = {"F": forward, "B": inputs, "W": weights, "BW": inputs + weights}
        work = batches * (forward + inputs + weights)
        if row["schedule"] in ORDERS:
            length = run(ORDERS[row["schedule"]](stages, batches), times, transfer).length()
        elif row["schedule"] == "1F1B-I":
            chunks = (int(row["layers"]) + 2) // stages  # a layer is a chunk, and the ends take the place of one
            shares = {kind: time / chunks for kind, time in times.items()}
            orders = simulation.interleaved(stages, batches, chunks, stages)
            length = run(orders, shares, transfer, stages * chunks).length() - stages * transfer
        else:
            continue
        assert 1 - work / length == pytest.approx(float(row["bubble_rate_theory"]), abs=6e-5), row["row_id"]
        compared += 1
    assert compared == 36


def test_ideal_rates_of_tables():
    for row in csv.DictReader(table("16_zero_bubble.csv").open(encoding="utf-8")):
        if row["ideal_bubble_(p-1)/(m+p-1)"]:
            share = bubble(int(row["pp"]), int(row["microbatches"]), "1f1b", None, None)
            assert float(share) == pytest.approx(float(row["ideal_bubble_(p-1)/(m+p-1)"]), abs=6e-5)
    rows = csv.DictReader(table("03c_megatron_sc21_scalars.csv").open(encoding="utf-8"))
    ratios = {row["name"]: row["value"] for row in rows}
    assert ratios["bubble_time_fraction_1f1b"] == "(p-1)/m"  # of the ideal time, not of the step
    assert ratios["bubble_time_fraction_interleaved"] == "(1/v)*(p-1)/m"
    for stages, batches, chunks in ((8, 32, 1), (16, 64, 4), (64, 192, 3)):
        ratio = Fraction(stages - 1, chunks * batches)
        assert bubble(stages, batches, "interleaved", chunks, None) == ratio / (1 + ratio)
        assert chunks != 1 or bubble(stages, batches, "1f1b", None, None) == ratio / (1 + ratio)


@given(
    stages=some.integers(1, 6), rounds=some.integers(1, 4), chunks=some.integers(1, 3),
    layers=some.integers(1, 5), head=some.integers(0, 12),
)  # fmt: skip
def test_a_longer_last_stage(stages, rounds, chunks, layers, head):
    """The head costs `head` layers on top of those of the last stage."""
    batches, last = stages * rounds, stages * chunks - 1
    depth = layers * chunks * stages

    def cost(one: Pass) -> int:
        return EQUAL[one.kind] * (layers + head * (one.stage == last))

    orders = {"1f1b": simulation.one_forward_one_backward(stages, batches)} if chunks == 1 else {}
    orders["interleaved"] = simulation.interleaved(stages, batches, chunks, stages)
    for schedule, each in orders.items():
        done = simulate(each, cost, stages=stages * chunks)
        idle = sum(done.idle(device) for device in range(stages))
        share = bubble_with_head(stages, batches, schedule, chunks, depth, layers * chunks, head)
        assert share == Fraction(idle, stages * done.length())


def test_what_has_no_formula_is_not_guessed():
    assert isinstance(bubble(3, 12, "dual", None, None), Unknown)  # DualPipe pairs the stages
    assert isinstance(bubble(4, 7, "dual", None, None), Unknown)
    assert isinstance(in_flight(0, 4, 6, "dual", None, None, None), Unknown)  # too few to fill both directions
    assert isinstance(bubble(8, 24, "zero-bubble", None, Fraction(1, 2)), Unknown)
    assert bubble(8, 24, "zero-bubble", None, None).unset
    assert isinstance(bubble_with_head(8, 24, "dual", None, 32, 4, 1), Unknown)
    assert isinstance(bubble_with_head(8, 24, "1f1b", None, 30, 4, 1), Unknown)
    assert bubble_with_head(8, 24, "interleaved", None, 32, 4, 1).unset


def test_in_flight_of_a_plan():
    """Narayanan et al. (2021), section 2.2: as many micro batches as stages at most, interleaved (p - 1) / v more."""
    facts = facts_of(parallel__pipeline=8, batch__accumulation=64)
    assert (facts["pipeline.first_in_flight"], facts["pipeline.last_in_flight"]) == (8, 1)
    facts = facts_of(parallel__pipeline=8, batch__accumulation=64, pipeline="interleaved", pipeline__chunks=4)
    assert facts["pipeline.first_in_flight"] == 8 + Fraction(7, 4)
    assert facts["pipeline.last_in_flight"] == Fraction(25, 4)  # (v - 1) p + 1 chunks


@pytest.mark.parametrize(
    ("schedule", "more"),
    [
        ("interleaved", {"pipeline__chunks": 2}),
        ("zero-bubble", {"pipeline__limit": 1}),
        ("zero-bubble", {"pipeline__limit": Fraction(3, 2)}),
        ("dual", {}),
    ],
)
def test_arrays_of_stages_and_micro_batches(schedule, more):
    """Each item as its own plan; what has no formula for a plan is no finite number in an array."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    layouts = tuple(itertools.product((1, 2, 3, 4, 8), (1, 4, 12, 16, 33)))
    stages, batches = (numpy.array(column) for column in zip(*layouts, strict=True))
    known = {"pipeline": schedule, "model__layers": 48, "pipeline__head_layers": Fraction(12, 5), **more}
    column = facts_of(parallel__pipeline=stages, batch__accumulation=batches, **known)
    single = [facts_of(parallel__pipeline=one, batch__accumulation=many, **known) for one, many in layouts]
    paths = ("pipeline.bubble", "pipeline.first_in_flight", "pipeline.last_in_flight", "pipeline.bubble_with_head")
    for path in paths:
        with numpy.errstate(divide="ignore", invalid="ignore"):
            items = column[path]
        values = [facts[path] for facts in single]
        if isinstance(items, Unknown):
            assert all(isinstance(value, Unknown) for value in values)
            continue
        for value, item in zip(values, items, strict=True):
            finite = not isinstance(value, Unknown)
            assert numpy.isfinite(item) == finite
            assert not finite or value == pytest.approx(item, rel=1e-12)


def test_head_in_layers():
    """Llama 3 8B: 128,256 x 4096 for the head, 218,112,000 a layer (6,979,584,000 / 32)."""
    facts = facts_of(
        model__layers=32, model__hidden=4096, model__heads=32, model__kv_heads=8, model__head_dim=128,
        model__ffn=14336, model__vocab=128_256, parallel__pipeline=4, batch__accumulation=8,
    )  # fmt: skip
    head = Fraction(128_256 * 4096 * 32, 6_979_584_000)
    assert facts["pipeline.head_layers"] == head
    assert float(head) == pytest.approx(2.41, abs=0.005)
    assert facts["pipeline.bubble"] == Fraction(3, 11)
    # 8 x (8 + head) + 24 layers is the step, of which 8 x (32 + head) / 4 is work.
    step = 8 * (8 + head) + 24
    assert facts["pipeline.bubble_with_head"] == 1 - 2 * (32 + head) / step
