"""The stages that are judged hold the fullest and the slowest of all, on random plans."""

from __future__ import annotations

import random

import pytest

from planc.facts.engine import ENGINES
from planc.plan.model import Unknown
from tests.facts.given import facts_of

CARD = {
    "cluster__gpu__bf16": 989 * 10**12, "cluster__gpu__memory_bandwidth": 3_350 * 10**9, "cluster__domain": 8,
    "cluster__intra_node": 450 * 10**9, "cluster__inter_node": 50 * 10**9, "cluster__gpu__compute_capability": 9,
}  # fmt: skip


def random_plan(dice: random.Random) -> dict:
    stages, tensor = dice.choice((1, 2, 3, 4, 8, 16)), dice.choice((1, 2, 8))
    layers = dice.choice((stages, 2 * stages, 5 * stages, 61, 126, 80))
    given = {
        **CARD, "model__layers": layers, "model__hidden": 1024 * dice.choice((1, 4, 8)), "model__heads": 32,
        "model__kv_heads": 8, "model__head_dim": 128, "model__ffn": 14_336,
        "model__vocab": dice.choice((32_000, 256_000)),
        "model__tied": dice.random() < 0.3, "batch__micro": dice.choice((1, 2)), "batch__sequence_length": 4096,
        "batch__accumulation": dice.choice((1, 4, 64)), "parallel__tensor": tensor, "parallel__pipeline": stages,
        "parallel__data": 4, "shard__size": 4, "shard__stage": dice.choice((0, 1, 3)), "cluster__nodes": 64,
        "cluster__gpus_per_node": 8, "recompute": dice.choice(("none", "full")),
    }  # fmt: skip
    if dice.random() < 0.3:
        given.update(model__experts__count=8, model__experts__top_k=2, model__experts__ffn=2048)
        given.update(model__experts__dense_layers=dice.choice((0, 1, 3)), model__experts__every=dice.choice((1, 2)))
    if dice.random() < 0.3 and 2 < stages:
        given.update(pipeline__first_stage_layers=dice.randint(1, 3), pipeline__last_stage_layers=dice.randint(1, 3))
    elif dice.random() < 0.3:
        given.update(pipeline__embedding_as_layer=True, pipeline__loss_as_layer=dice.random() < 0.7)
    elif dice.random() < 0.3 and 1 < stages and layers % (2 * stages) == 0:
        given.update(pipeline="interleaved", pipeline__chunks=2)
    return given


@pytest.mark.parametrize("engine", ENGINES)
def test_one_of_the_judged_stages_is_the_fullest_and_one_the_slowest(engine):
    dice, compared = random.Random(engine), 0
    for _ in range(150):
        given = random_plan(dice)
        facts = facts_of(engine, **given)
        if isinstance(facts["memory.total"], Unknown):
            continue
        everyone = [facts.at_stage(stage) for stage in range(given["parallel__pipeline"])]
        for path in ("stage.total", "stage.pass"):
            most = max(float(view[path]) for view in everyone)
            judged = max(float(view[path]) for view in facts.stages)
            assert judged == pytest.approx(most, rel=1e-9), (path, given)
        compared += 1
    assert 100 < compared
