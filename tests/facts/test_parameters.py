"""Parameter counts, part by part, worked out by hand; `tests/catalogue` counts whole models against Hugging Face."""

import pytest

from planc.plan.model import Unknown
from tests.facts.given import facts_of

LLAMA_3_8B = {
    "model__layers": 32, "model__hidden": 4096, "model__heads": 32, "model__kv_heads": 8, "model__head_dim": 128,
    "model__ffn": 14336, "model__vocab": 128_256,
}  # fmt: skip
LLAMA_3_70B = {**LLAMA_3_8B, "model__layers": 80, "model__hidden": 8192, "model__heads": 64, "model__ffn": 28672}


def test_llama_3():
    assert facts_of(**LLAMA_3_8B)["model.total_parameters"] == 8_030_261_248
    assert facts_of(**LLAMA_3_70B)["model.total_parameters"] == 70_553_706_496
    assert facts_of(**LLAMA_3_8B)["model.active_parameters"] == 8_030_261_248


def test_one_rank_holds_the_whole_model():
    assert facts_of(**LLAMA_3_8B)["parallel.parameters_per_rank"] == 8_030_261_248


def test_tensor_ranks_replicate_the_norms():
    """consumers/mem_oracle.out: 8 tensor ranks in a world of 64 leave 125,501,952 parameters a rank, shared by 8."""
    held = facts_of(**LLAMA_3_8B, parallel__tensor=8)["parallel.parameters_per_rank"]
    assert held / 8 == 125_501_952


def test_stages_hold_the_longest_share_and_one_end():
    facts = facts_of(**LLAMA_3_70B, parallel__tensor=8, parallel__pipeline=4)
    layer = 8192 * 128 * (2 * 64 + 2 * 8) + 3 * 8192 * 28672
    norms = 2 * 8192
    assert facts["pipeline.longest_stage"] == 20
    assert facts["parallel.parameters_per_rank"] == 20 * (layer // 8 + norms) + 128_256 * 8192 // 8 + 8192


def test_a_tied_model_holds_its_embedding_once():
    untied = facts_of(**LLAMA_3_8B)["parallel.parameters_per_rank"]
    assert untied - facts_of(**LLAMA_3_8B, model__tied=True)["parallel.parameters_per_rank"] == 128_256 * 4096


MIXTRAL = {
    **LLAMA_3_8B, "model__vocab": 32_000, "model__experts__count": 8, "model__experts__top_k": 2,
    "model__experts__ffn": 14336, "model__experts__shared": 0, "model__experts__dense_layers": 0,
    "model__experts__every": 1,
}  # fmt: skip


EXPERT = 3 * 4096 * 14336  # parameters of one expert of Mixtral


@pytest.mark.parametrize(
    ("engine", "split", "held"),
    [
        ("megatron", {}, 8 * EXPERT),
        ("megatron", {"parallel__expert": 8}, EXPERT),
        ("megatron", {"parallel__expert": 4, "parallel__expert_tensor": 2}, EXPERT),
        ("megatron", {"parallel__tensor": 8}, 8 * EXPERT),
        ("deepspeed", {"parallel__tensor": 8}, EXPERT),  # AutoTP splits every product
        ("deepspeed", {"parallel__expert": 8}, EXPERT),
    ],
)
def test_experts_on_a_card(engine, split, held):
    facts = facts_of(engine, **MIXTRAL, **split)
    assert facts["parallel.expert_parameters"] == held
    assert facts.at_stage(0)["stage.expert_parameters"] == 32 * held


def test_experts_that_are_split_as_the_layers_are():
    whole = facts_of(**MIXTRAL)["parallel.parameters_per_rank"]
    assert whole == 46_702_792_704
    halves = facts_of(**MIXTRAL, parallel__tensor=2, parallel__expert_tensor=2)["parallel.parameters_per_rank"]
    replicated = 65 * 4096 + 32 * 8 * 4096  # norms and routers
    assert halves == (whole - replicated) / 2 + replicated


def test_what_is_not_counted_is_unknown():
    assert isinstance(facts_of(**LLAMA_3_8B, model__positions="learned")["model.total_parameters"], Unknown)


#: A layer of few enough numbers to count on paper: h = 8, a = 4, k = 2, d = 3, f = 5.
SMALL = {
    "model__hidden": 8, "model__heads": 4, "model__kv_heads": 2, "model__head_dim": 3, "model__ffn": 5,
    "model__vocab": 100, "model__layers": 2,
}  # fmt: skip


@pytest.mark.parametrize(("bias", "biases"), [("none", 0), ("qkv", 24), ("attention", 32), ("mlp", 0), ("all", 32)])
def test_biases_of_attention(bias, biases):
    weights = 8 * 3 * (4 + 2 + 2) + 4 * 3 * 8
    assert facts_of(**SMALL, model__bias=bias)["model.attention_parameters"] == weights + biases


@pytest.mark.parametrize(("bias", "biases"), [("none", 0), ("attention", 0), ("mlp", 2 * 5 + 8), ("all", 2 * 5 + 8)])
def test_biases_of_a_gated_mlp(bias, biases):
    assert facts_of(**SMALL, model__bias=bias)["model.mlp_parameters"] == 3 * 8 * 5 + biases


def test_sinks_are_one_for_each_head():
    plain = facts_of(**SMALL)["model.attention_parameters"]
    assert facts_of(**SMALL, model__attention__sinks=True)["model.attention_parameters"] == plain + 4


LATENT = {
    "model__attention": "mla", "model__attention__q_lora_rank": 7, "model__attention__kv_lora_rank": 6,
    "model__attention__qk_nope_head_dim": 3, "model__attention__qk_rope_head_dim": 2, "model__attention__v_head_dim": 4,
}  # fmt: skip


@pytest.mark.parametrize(("bias", "biases"), [("none", 0), ("qkv", 7 + 6 + 2), ("attention", 7 + 6 + 2 + 8)])
def test_latent_attention(bias, biases):
    queries = 8 * 7 + 7 + 7 * 4 * (3 + 2)
    keys_values = 8 * (6 + 2) + 6 + 6 * 4 * (3 + 4)
    facts = facts_of(**SMALL, **LATENT, model__bias=bias)
    assert facts["model.attention_parameters"] == queries + keys_values + 4 * 4 * 8 + biases


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        ({}, 2 * 8),
        ({"model__norms": 1}, 8),
        ({"model__norms": 4, "model__norm": "layernorm"}, 4 * 16),
        ({"model__attention__qk_norm": "head"}, 2 * 8 + 3 + 3),
        ({"model__attention__qk_norm": "full"}, 2 * 8 + 4 * 3 + 2 * 3),
        ({"model__attention__qk_norm": "full", "model__norm": "layernorm"}, 2 * 16 + 2 * (4 * 3 + 2 * 3)),
    ],
)
def test_norms_of_a_layer(norms, expected):
    assert facts_of(**SMALL, **norms)["model.layer_norm_parameters"] == expected


EXPERTS = {"model__experts__count": 6, "model__experts__top_k": 2, "model__experts__ffn": 4}


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        ({}, 6 * 96 + 6 * 8),
        ({"model__bias": "all"}, 6 * (96 + 2 * 4 + 8) + 6 * 9),
        ({"model__experts__shared": 2}, 8 * 96 + 6 * 8),
        ({"model__experts__shared": 1, "model__experts__shared_ffn": 10}, 6 * 96 + 3 * 8 * 10 + 6 * 8),
        ({"model__experts__shared": 1, "model__experts__shared_gate": True}, 7 * 96 + 6 * 8 + 8),
        ({"model__experts__shared_gate": True}, 6 * 96 + 6 * 8),
    ],
)
def test_experts(shared, expected):
    facts = facts_of(**SMALL, **EXPERTS, **shared)
    assert facts["model.moe_parameters"] == expected
    assert facts["model.active_moe_parameters"] < expected


def test_ends():
    plain = facts_of(**SMALL)["model.total_parameters"]
    assert facts_of(**SMALL, model__embedding_norm=True)["model.total_parameters"] == plain + 8
    assert facts_of(**SMALL, model__output_bias=True)["model.total_parameters"] == plain + 100
    learned = {"model__positions": "learned", "model__max_sequence_length": 50}
    assert facts_of(**SMALL, **learned)["model.total_parameters"] == plain + 50 * 8
    assert facts_of(**SMALL, **learned, model__family="opt")["model.total_parameters"] == plain + 52 * 8


def test_layers_for_multi_token_prediction():
    """A layer more, a product of 2 h x h and three norms."""
    base, more = (facts_of(**LLAMA_3_8B, model__mtp_layers=count) for count in (0, 2))
    layer = base["model.layer_parameters"] // 32
    added = more["model.total_parameters"] - base["model.total_parameters"]
    assert added == 2 * (layer + 2 * 4096 * 4096 + 3 * 4096)
    assert more["parallel.parameters_per_rank"] == more["model.total_parameters"]


def test_tensor_ranks_replicate_all_norms_and_share_the_output_bias():
    whole = {"model__norms": 4, "model__attention__qk_norm": "head", "model__embedding_norm": True}
    facts = facts_of(**SMALL, **whole, model__output_bias=True, parallel__tensor=2)
    norms = 2 * (4 * 8 + 6) + 2 * 8
    total = facts["model.total_parameters"]
    assert facts["parallel.parameters_per_rank"] == (total - norms) / 2 + norms
