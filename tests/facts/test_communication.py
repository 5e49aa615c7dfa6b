"""What crosses the links in a step: gradients, 2 N b (p - 1) / p by ZeRO (2020), section 7, and what passes send."""

import pytest

from planc.diagnostics.amounts import size_text
from planc.facts.collectives import group_members
from planc.facts.links import bandwidth
from planc.plan.model import Unknown
from tests.facts.given import facts_of

GB = 10**9

#: A layer of 1000 x 4000 for 2000 tokens on two nodes of four cards.
LAYER = {
    "cluster__nodes": 2, "cluster__gpus_per_node": 4, "cluster__domain": 4, "cluster__intra_node": 100 * GB,
    "cluster__inter_node": 10 * GB, "batch__micro": 2, "batch__sequence_length": 1000, "batch__accumulation": 3,
    "model__layers": 4, "model__hidden": 1000, "model__heads": 10, "model__kv_heads": 2, "model__head_dim": 100,
    "model__ffn": 4000, "model__vocab": 8000, "cluster__gpu__bf16": 100 * 10**12,
    "cluster__gpu__memory_bandwidth": 10**12, "parallel__data": 8, "shard__size": 8,
}  # fmt: skip


def sent(width=2, data=8, expert_data=1, stage=0, times=1, replicas=1, **given):
    """Bytes of a billion parameters' gradients."""
    facts = facts_of(
        **{
            "communication__data__parameters": 10**9, "communication__data__expert_parameters": 0,
            "communication__data__reductions": times, "memory__gradient_width": width, "parallel__data": data,
            "parallel__expert_data": expert_data, "shard__stage": stage, "shard__replicas": replicas, **given,
        }
    )  # fmt: skip
    return facts["communication.data.bytes"]


def test_bytes_of_a_billion_gradients():
    assert sent() == 2 * GB * 2 * 7 / 8
    assert size_text(sent()) == "3.5 GB"
    assert sent(data=1) == 0
    assert sent(width=4, data=4) == 2 * GB * 4 * 3 / 4
    assert sent(data=4, parallel__context=2) == sent()
    # In the limit of many cards: 2 N b.
    assert sent(data=10**9) == pytest.approx(4 * GB)


def test_bytes_of_sharded_gradients():
    """An all-reduce is a reduce-scatter and an all-gather: a shard's owner sends weights in place of gradients."""
    assert sent(stage=1) == sent(stage=2) == sent()
    assert sent(stage=1, width=4) == GB * (4 + 2) * 7 / 8
    assert sent(stage=3) == sent() / 2
    # Two copies of shards of four: all-reduced between them, a quarter each.
    assert sent(stage=3, replicas=2) == GB * 2 * 3 / 4 + 2 * GB / 4 * 2 / 2
    assert sent(stage=3, times=3) == 3 * sent(stage=3)


@pytest.mark.parametrize(
    ("engine", "stage", "reductions", "gathers"),
    [
        ("deepspeed", 1, 1, 0), ("deepspeed", 2, 3, 0), ("deepspeed", 3, 3, 6), ("fsdp2", 3, 3, 6),
        ("fsdp2", 2, 3, 3), ("megatron", 2, 1, 0), ("megatron", 3, 3, 6), ("nanotron", 0, 1, 0),
    ],
)  # fmt: skip
def test_how_often_a_step_reduces_and_gathers(engine, stage, reductions, gathers):
    facts = facts_of(engine, **{**LAYER, "shard__stage": stage})
    assert facts["communication.data.reductions"] == reductions
    assert facts["communication.shard.gathers"] == gathers
    held = facts["communication.data.parameters"]
    assert facts["communication.shard.bytes"] == pytest.approx(gathers * held * 2 * 7 / 8)


def test_a_pipeline_of_fsdp_gathers_and_reduces_once():
    given = {**LAYER, "shard__stage": 3, "parallel__pipeline": 2, "parallel__data": 4, "shard__size": 4}
    facts = facts_of("fsdp2", **given)
    assert facts["communication.data.reductions"] == facts["communication.shard.gathers"] == 1
    assert facts_of("megatron", **given)["communication.shard.gathers"] == 6


def test_what_an_adapter_sends_is_not_that_of_all_weights() -> None:
    found = sent(adapter="lora")
    assert isinstance(found, Unknown)
    assert found.missing == ("adapter",)


@pytest.mark.parametrize(
    ("group", "stride", "domain", "world", "members", "link"),
    [
        (8, 1, 8, 8, 8, 450), (16, 8, 8, 512, 1, 50), (16, 4, 8, 512, 2, 100), (64, 1, 8, 64, 8, 400),
        (4, 2, 8, 32, 4, 450), (3, 2, 72, 24, 3, 450), (1, 1, 8, 64, 1, 450),
        (2, 8, 16, 32, 2, 450), (4, 16, 8, 64, 1, 50),
    ],
)  # fmt: skip
def test_which_link_carries_a_group(group, stride, domain, world, members, link):
    """Neighbours of a group are `stride` ranks apart; a ring enters a domain by the ports of all its members there."""
    assert group_members(group, stride, domain, world) == members
    assert bandwidth(group, stride, domain, world, 450 * GB, 50 * GB) == link * GB


def test_link_that_is_not_declared():
    assert bandwidth(8, 1, 8, 8, None, 50 * GB).missing == ("cluster.intra_node",)
    assert bandwidth(16, 1, 8, 16, 450 * GB, None).missing == ("cluster.inter_node",)
    without = {name: value for name, value in LAYER.items() if name != "cluster__inter_node"}
    found = facts_of(**without)["communication.data.time"]
    assert (found.missing, found.unset) == (("cluster.inter_node",), True)
    assert facts_of(**{**without, "cluster__nodes": 1})["communication.data.time"] == pytest.approx(0.0, abs=1)
    # A single replica sends nothing, whatever the link.
    assert facts_of(**{**without, "parallel__data": 1, "shard__size": 1, "parallel__pipeline": 8, "model__layers": 8})[
        "communication.data.time"
    ] == 0  # fmt: skip
    assert isinstance(facts_of(**{**LAYER, "cluster__inter_node": 0})["communication.data.time"], Unknown)


def test_tensor_ranks_reduce_twice_each_way():
    """Four all-reduces of 2 bytes x 1000 x 2000 tokens a layer, four layers, three micro batches."""
    given = {**LAYER, "parallel__tensor": 4, "parallel__data": 2, "shard__size": 2}
    facts = facts_of(**given)
    assert facts["communication.tensor.bytes"] == 4 * 4 * 3 * 2 * 2 * 1000 * 2000 * 3 / 4
    assert facts["communication.tensor.messages"] == 4 * 4 * 3
    split = facts_of(**{**given, "parallel__sequence": True})
    assert split["communication.tensor.bytes"] == facts["communication.tensor.bytes"]
    assert split["communication.tensor.messages"] == 2 * 4 * 4 * 3
    again = facts_of(**{**given, "recompute": "full"})
    assert again["communication.tensor.bytes"] == facts["communication.tensor.bytes"] * 6 / 4
    assert facts["communication.tensor.exposed"] == facts["communication.tensor.time"]
    assert facts_of(**LAYER)["communication.tensor.time"] == 0


def test_context_ranks_pass_keys_and_values_on():
    """Keys and values of two heads of 100 for 1000 tokens, in bf16, to three others, three times."""
    given = {**LAYER, "parallel__context": 4, "parallel__data": 2, "shard__size": 2}
    once = 2 * 2 * 100 * 2 * 500
    assert facts_of(**given, context="ring")["layer.context_bytes"] == once * 3 * 3
    assert facts_of(**given, context="all-gather")["layer.context_bytes"] == once * 3 * 3
    heads = (2 * 10 + 2 * 2) * 100 * 2 * 500
    assert facts_of(**given, context="ulysses")["layer.context_bytes"] == heads * 3 / 4 * 2
    ring = facts_of(**given, context="ring")
    assert ring["communication.context.exposed"] <= ring["communication.context.time"]
    gathered = facts_of(**given, context="all-gather")
    assert gathered["communication.context.exposed"] == gathered["communication.context.time"]


def test_expert_ranks_exchange_tokens():
    """Two experts for each of 2000 tokens of 1000 in bf16, out and back, forward and backward."""
    experts = {
        "model__experts__count": 8, "model__experts__top_k": 2, "model__experts__ffn": 500, "model__experts__every": 1,
        "model__experts__dense_layers": 0, "parallel__expert": 4,
    }  # fmt: skip
    facts = facts_of("megatron", **{**LAYER, **experts})
    assert facts["layer.expert_bytes"] == 2 * 2000 * 1000 * 2 * 3 / 4 * 4
    assert facts["communication.expert.bytes"] == facts["layer.expert_bytes"] * 4 * 3
    assert 0 < facts["communication.expert.exposed"] == facts["communication.expert.time"]
    assert facts_of("megatron", **LAYER)["communication.expert.bytes"] == 0


def test_stages_send_activations_on_and_gradients_back():
    given = {**LAYER, "parallel__pipeline": 4, "parallel__data": 2, "shard__size": 2}
    facts = facts_of(**given)
    assert facts["communication.pipeline.bytes"] == 2 * 3 * 2 * 1000 * 2000
    assert facts["communication.pipeline.bandwidth"] == 10 * GB
    chunked = facts_of(**{**given, "pipeline": "interleaved"}, pipeline__chunks=2)
    assert chunked["communication.pipeline.bytes"] == 2 * facts["communication.pipeline.bytes"]
    assert facts_of(**LAYER)["communication.pipeline.bytes"] == 0


def test_fsdp_hides_what_is_shorter_than_its_passes():
    """On one node the exchange is short beside the passes, and only hops stay; a thin link leaves most of it."""
    near = facts_of("fsdp2", **{**LAYER, "shard__stage": 3, "batch__sequence_length": 10_000})
    assert near["communication.shard.exposed"] == pytest.approx(near["communication.shard.latency"])
    assert near["communication.shard.exposed"] < near["communication.shard.time"]
    far = facts_of("fsdp2", **{**LAYER, "shard__stage": 3, "cluster__inter_node": 10**7})
    both = far["communication.shard.exposed"] + far["communication.data.exposed"]
    assert far["communication.shard.time"] < both
    reduced = facts_of("megatron", **LAYER)
    assert reduced["communication.data.exposed"] == reduced["communication.data.time"]
