"""Every formula with a numpy array in place of a number equals the scalars, item by item."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from planc.facts import arithmetic
from planc.facts.facts import FACTS
from planc.plan.model import Unknown
from tests.facts.given import facts_of

numpy = pytest.importorskip("numpy", reason="numpy is not installed")

GIVEN = {
    "cluster__nodes": 8, "cluster__gpus_per_node": 8, "cluster__domain": 8,
    "cluster__intra_node": 450 * 10**9, "cluster__inter_node": 50 * 10**9, "cluster__gpu__usable_memory": 78 * 2**30,
    "cluster__gpu__bf16": 989 * 10**12, "recompute": "full",
    "cluster__gpu__memory_bandwidth": 3350 * 10**9, "cluster__gpu__compute_capability": 9,
    "model__layers": 80, "model__hidden": 8192, "model__heads": 64, "model__kv_heads": 8, "model__head_dim": 128,
    "model__ffn": 28672, "model__vocab": 128_256, "parallel__data": 16, "shard__size": 16,
    "batch__global": 512, "batch__micro": 1, "batch__accumulation": 32, "batch__sequence_length": 8192,
}  # fmt: skip

#: The axes that a search varies, each with values of which some do not divide what they should.
AXES = {
    "parallel__tensor": (1, 2, 6, 8, 16), "parallel__pipeline": (1, 2, 3, 4, 8), "parallel__context": (1, 2, 4),
    "parallel__data": (1, 2, 16, 24), "shard__size": (1, 2, 16), "shard__stage": (0, 1, 2, 3),
    "batch__micro": (1, 2, 3), "batch__accumulation": (1, 8, 64), "batch__global": (64, 100, 512),
    "cluster__nodes": (1, 3, 8, 64), "cluster__gpus_per_node": (4, 8), "cluster__domain": (4, 8, 72),
    "batch__sequence_length": (4096, 131_072), "model__hidden": (4096, 16_384), "model__heads": (32, 96),
    "model__ffn": (14_336, 53_248), "model__layers": (30, 80), "model__vocab": (32_000, 128_256),
}  # fmt: skip


def same(left, right):
    """Whether two values agree; a zero divisor is Unknown for a number and inf or nan in an array."""
    return isinstance(left, Unknown) or left == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("engine", ["deepspeed", "fsdp2"])
@pytest.mark.parametrize("axis", AXES)
def test_facts_along_each_axis(axis, engine):
    compared = 0
    values = AXES[axis]
    as_array = facts_of(engine, **{**GIVEN, axis: numpy.array(values)})
    for path in FACTS:
        if path == "pipeline.judged_stages":  # not a number, but the stages that are looked at
            continue
        column = numpy.broadcast_to(numpy.asarray(as_array[path]), (len(values),))
        for value, item in zip(values, column, strict=True):
            one = facts_of(engine, **{**GIVEN, axis: value})[path]
            assert same(one, item), (path, value)
            compared += not isinstance(one, Unknown)
    assert 40 * len(values) < compared


def test_a_grid_of_layouts_in_one_evaluation():
    axes = ("parallel__tensor", "parallel__pipeline", "parallel__data", "shard__stage")
    layouts = [
        {**dict(zip(axes, sizes, strict=True)), "shard__size": sizes[2]}
        for sizes in itertools.product((1, 2, 4, 8), (1, 2, 4), (2, 4, 8), (0, 1, 2, 3))
    ]
    columns = {name: numpy.array([layout[name] for layout in layouts]) for name in layouts[0]}
    for path in ("memory.total", "communication.data.time", "pipeline.bubble", "world.leftover"):
        grid = facts_of(**{**GIVEN, **columns})[path]
        assert grid.shape == (len(layouts),)
        for layout, item in zip(layouts, grid, strict=True):
            assert facts_of(**{**GIVEN, **layout})[path] == pytest.approx(item, rel=1e-12)


def test_arithmetic_on_arrays():
    numbers, divisors = numpy.array([7, 8, 9, 9]), numpy.array([2, 2, 0, 4])
    for function in (arithmetic.whole, arithmetic.remainder, arithmetic.rounded_up, arithmetic.largest):
        expected = [function(int(a), int(b)) for a, b in zip(numbers, divisors, strict=True)]
        assert list(function(numbers, divisors)) == expected
    assert list(arithmetic.divide(numbers, 2)) == [3.5, 4.0, 4.5, 4.5]
    assert list(arithmetic.where(numbers < 9, numbers, -1)) == [7, 8, -1, -1]


def test_counts_beyond_64_bits():
    numbers = numpy.array([2**40, 3 * 2**40])
    assert list(arithmetic.product(numbers, 2**40)) == [2.0**80, 3 * 2.0**80]
    assert list(arithmetic.product(Fraction(1, 2), numbers)) == [2.0**39, 3 * 2.0**39]
    assert list(arithmetic.total(Fraction(1, 2), numpy.array([1, 2]), 2**70)) == [2.0**70, 2.0**70]
    given = {**GIVEN, "model__hidden": numpy.array([4096, 10**6]), "model__layers": 1000, "batch__global": 10**6}
    steps = facts_of(**given)["step.flops"]
    for hidden, item in zip((4096, 10**6), steps, strict=True):
        assert facts_of(**{**given, "model__hidden": hidden})["step.flops"] == pytest.approx(item, rel=1e-12)
    assert 2**63 < steps[0]


def test_hybrid_links_need_both_bandwidths():
    given = {**GIVEN, "parallel__tensor": numpy.array([1, 8])}
    del given["cluster__inter_node"]
    assert isinstance(facts_of(**given)["communication.data.time"], Unknown)
