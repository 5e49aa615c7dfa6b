"""The predicted time of a step: its parts, what they depend on, and what is said where something is missing."""

import math

import pytest

from planc.facts import constants
from planc.facts.facts import FACTS
from planc.facts.step import LIMITS
from planc.plan.model import Unknown
from tests.facts.given import facts_of

#: Llama 3 8B on four nodes of eight H100.
PLAN = {
    "cluster__nodes": 4, "cluster__gpus_per_node": 8, "cluster__domain": 8,
    "cluster__intra_node": 450 * 10**9, "cluster__inter_node": 50 * 10**9,
    "cluster__gpu__bf16": 989 * 10**12, "cluster__gpu__fp8": 1979 * 10**12,
    "cluster__gpu__memory_bandwidth": 3350 * 10**9, "cluster__gpu__compute_capability": 9,
    "cluster__gpu__usable_memory": 79 * 2**30,
    "model__layers": 32, "model__hidden": 4096, "model__heads": 32, "model__kv_heads": 8, "model__head_dim": 128,
    "model__ffn": 14_336, "model__vocab": 128_256, "parallel__data": 32, "shard__size": 32, "shard__stage": 1,
    "batch__global": 128, "batch__micro": 1, "batch__accumulation": 4, "batch__sequence_length": 8192,
}  # fmt: skip

TENSOR = {"parallel__tensor": 8, "parallel__data": 4, "shard__size": 4, "batch__accumulation": 32}
STAGES = {"parallel__pipeline": 4, "parallel__data": 8, "shard__size": 8, "batch__accumulation": 16}


def seconds(engine="megatron", path="step.time", **changes):
    return facts_of(engine, **{**PLAN, **changes})[path]


@pytest.mark.parametrize("engine", ["deepspeed", "fsdp2", "megatron", "nanotron"])
@pytest.mark.parametrize("layout", [{}, TENSOR, STAGES], ids=["data", "tensor", "stages"])
def test_the_parts_add_up(engine, layout):
    facts = facts_of(engine, **{**PLAN, **layout})
    parts = ("compute", "communication", "bubble", "optimizer", "overhead")
    assert sum(facts[f"step.{part}"] for part in parts) == pytest.approx(facts["step.time"])
    assert facts["step.overhead"] == constants.STEP_TIME.value
    exposed = [facts[f"communication.{axis}.exposed"] for axis in ("tensor", "context", "expert", "pipeline")]
    exposed += [facts["communication.data.exposed"], facts["communication.shard.exposed"]]
    assert sum(exposed) == pytest.approx(facts["step.communication"])
    assert facts["step.compute"] + sum(exposed[:4]) == pytest.approx(facts["step.passes"])


def test_a_plan_whose_rate_is_known():
    """8B on H100: 35 to 50 % of the peak in NeMo's and torchtitan's published runs."""
    assert 0.35 < facts_of("megatron", **PLAN)["step.mfu"] < 0.50
    ideal = seconds(path="step.ideal")
    assert ideal / seconds() == pytest.approx(facts_of("megatron", **PLAN)["step.mfu"])


@pytest.mark.parametrize(
    "schedule",
    [
        {"pipeline": "1f1b"}, {"pipeline": "interleaved", "pipeline__chunks": 2}, {"pipeline": "dual"},
        {"pipeline": "zero-bubble", "pipeline__limit": 1}, {"pipeline": "zero-bubble", "pipeline__limit": 2},
    ],
    ids=lambda schedule: "-".join(map(str, schedule.values())),
)  # fmt: skip
def test_like_stages_stand_idle_for_the_share_of_their_schedule(schedule):
    facts = facts_of("megatron", **{**PLAN, **STAGES, **schedule, "layer__head": 0.0})
    idle = facts["step.bubble"]
    assert idle / (idle + facts["step.passes"]) == pytest.approx(float(facts["pipeline.bubble"]))


def test_the_slowest_stage_sets_the_pace():
    """The output layer makes the last stage slower; one layer less there makes it faster again."""
    even = facts_of("megatron", **{**PLAN, **STAGES})
    passes = [stage["stage.pass"] for stage in even.stages]
    assert max(passes) == passes[-1] == even["step.pass"]
    eased = facts_of("megatron", **{**PLAN, **STAGES, "pipeline__last_stage_layers": 7})
    assert eased["step.pass"] < even["step.pass"]


def test_recomputation_costs_a_forward_pass():
    none, full = seconds(path="step.compute"), seconds(path="step.compute", recompute="full")
    assert 1.2 < full / none < 4 / 3
    assert seconds(path="step.recompute", recompute="full") == pytest.approx(full - none, rel=0.01)
    assert seconds(path="step.recompute") == 0
    some = seconds(path="step.compute", recompute="selective")
    assert none < some < full


def test_fsdp_recomputes_without_the_last_product():
    found = [seconds(engine, "layer.compute", recompute="full") for engine in ("deepspeed", "fsdp2")]
    assert found[0] - found[1] == pytest.approx(seconds("fsdp2", "layer.mlp") / 3)


def test_narrow_products_are_faster_but_less_than_twice():
    wide, narrow = seconds(path="layer.compute"), seconds(path="layer.compute", precision="fp8")
    assert 1 < wide / narrow < 2


def test_plain_attention_and_heads_that_8_does_not_divide_are_slower():
    plain = {"kernel__attention": "plain"}
    assert seconds(path="layer.scores") < seconds(path="layer.scores", **plain)
    odd = {**plain, "model__head_dim": 108}
    assert 2 * seconds(path="layer.scores", **plain) < seconds(path="layer.scores", **odd)
    assert facts_of(cluster__gpu__compute_capability=7)["kernel.attention"] == "plain"
    assert facts_of(cluster__gpu__compute_capability=8)["kernel.attention"] == "fused"
    assert facts_of(precision="fp32")["kernel.attention"] == "plain"


def test_a_small_layer_takes_its_launches():
    tiny = {"model__hidden": 256, "model__heads": 4, "model__kv_heads": 4, "model__head_dim": 64, "model__ffn": 512}
    small = {**tiny, "batch__sequence_length": 128}
    assert seconds(path="layer.time", **small) == pytest.approx(3 * constants.LAUNCH_TIME.value)
    assert 3 * constants.LAUNCH_TIME.value < seconds(path="layer.time", **small, **TENSOR)


def test_nanotron_stalls_with_tensor_ranks_and_stages_on_several_nodes():
    both = {**STAGES, "parallel__tensor": 2, "parallel__data": 4, "shard__size": 4}
    stalled = constants.STALL_TIME.value + 2 * constants.STALL_TIME_PER_RANK.value
    assert seconds("nanotron", "layer.least_time", **both) == pytest.approx(stalled)
    assert seconds("nanotron", "layer.least_time", **TENSOR) < stalled
    assert seconds("nanotron", "layer.least_time", **{**both, "cluster__nodes": 1}) < stalled


def test_experts():
    """Twice as many active experts take twice as long; expert ranks share out the weights, not the tokens."""
    experts = {
        "model__experts__count": 8, "model__experts__top_k": 2, "model__experts__ffn": 14_336,
        "model__experts__every": 1, "model__experts__dense_layers": 0,
    }  # fmt: skip
    two, four = (seconds(path="layer.experts", **{**experts, "model__experts__top_k": top}) for top in (2, 4))
    assert 1.7 < four / two < 2
    spread = seconds(path="layer.experts", **experts, parallel__expert=8)
    assert 0.8 * two < spread < two
    dense, sparse = seconds(), seconds(**experts, parallel__expert=8)
    assert dense < sparse
    assert isinstance(seconds(**{**experts, "model__experts__top_k": None}), (float, Unknown))


def test_the_optimizer_is_traffic():
    states = facts_of("megatron", **PLAN)
    kept = [stage["stage.optimizer"] for stage in states.stages]
    assert 2 * float(max(kept)) / 3350e9 < states["step.optimizer"]
    offloaded = {"offload__optimizer": "cpu"}
    assert seconds("deepspeed", "step.optimizer", **offloaded).missing == ("cluster.gpu.pcie",)
    slow = seconds("deepspeed", "step.optimizer", **offloaded, cluster__gpu__pcie=63 * 10**9)
    assert seconds("deepspeed", "step.optimizer") < slow


def test_calibration_multiplies():
    plain = facts_of("megatron", **{**PLAN, **TENSOR})
    found = facts_of("megatron", **{**PLAN, **TENSOR, "calibration__compute": 2, "calibration__communication": 3})
    assert found["step.communication"] == pytest.approx(3 * plain["step.communication"])
    assert found["layer.time"] - found["layer.exchange"] == pytest.approx(2 * plain["layer.compute"])


@pytest.mark.parametrize(
    ("absent", "missing"),
    [
        ("cluster__gpu__memory_bandwidth", "cluster.gpu.memory_bandwidth"), ("cluster__gpu__bf16", "cluster.gpu.bf16"),
        ("cluster__inter_node", "cluster.inter_node"), ("batch__sequence_length", "batch.sequence_length"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(absent, missing):
    known = {name: value for name, value in PLAN.items() if name != absent}
    found = facts_of("megatron", **known)["step.time"]
    assert isinstance(found, Unknown)
    assert missing in found.missing


def test_a_measured_time_comes_before_the_predicted_one():
    assert seconds(path="step.taken") == seconds()
    assert seconds(path="step.taken", step__measured=2.5) == 2.5
    assert seconds(path="step.tokens_per_second", step__measured=2.0) == 128 * 8192 / 2
    assert seconds(step__measured=2.5) == seconds()


def test_what_limits_a_step_is_a_word_of_the_list():
    assert seconds(path="step.limit") == "compute"
    assert seconds(path="step.limit", cluster__inter_node=10**8) == "data"
    few = {**STAGES, "batch__accumulation": 1, "batch__global": 8}
    assert seconds(path="step.limit", **few) == "bubble"
    tiny = {"model__layers": 1, "model__hidden": 8, "model__ffn": 8, "model__vocab": 8, "batch__sequence_length": 8}
    assert seconds(path="step.limit", **tiny, batch__accumulation=1) == "overhead"
    assert len(set(LIMITS)) == len(LIMITS)


def test_exchange_limits_a_step_by_what_all_axes_take_together():
    parts = {
        "step__ideal": 1.0,
        "step__compute": 5.0,
        "step__recompute": 0.0,
        "step__bubble": 2.0,
        "step__optimizer": 0.0,
    }
    axes = {"communication__tensor__exposed": 2.0, "communication__data__exposed": 2.5}
    assert seconds(path="step.limit", **parts, **axes, step__communication=4.5) == "data"
    assert seconds(path="step.limit", **parts, **axes, step__communication=3.5) == "compute"


@pytest.mark.parametrize("value", [0, 1, 10**15, 10**99, 10**400])
@pytest.mark.parametrize(
    "name",
    [
        "model__hidden", "model__layers", "model__ffn", "model__vocab", "model__heads", "batch__micro",
        "batch__accumulation", "batch__sequence_length", "cluster__nodes", "cluster__domain", "cluster__inter_node",
        "cluster__gpu__bf16", "cluster__gpu__memory_bandwidth", "parallel__tensor", "parallel__data",
        "parallel__context", "shard__size",
    ],
)  # fmt: skip
def test_absurd_numbers_give_a_finite_time_or_none(name, value):
    facts = facts_of("fsdp2", **{**PLAN, "shard__stage": 3, name: value})
    for path in FACTS:
        if path.startswith(("step.", "layer.", "kernel.", "communication.")):
            found = facts[path]
            assert isinstance(found, (Unknown, str, int)) or math.isfinite(found), path
