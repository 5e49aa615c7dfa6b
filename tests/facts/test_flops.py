"""FLOPs of a token, product by product, worked out by hand for a layer of few numbers."""

from fractions import Fraction

import pytest

from planc.plan.model import Unknown
from tests.facts.given import facts_of

#: h = 8, a = 4, k = 2, d = 3, f = 5, V = 100, L = 2, s = 10.
SMALL = {
    "model__hidden": 8, "model__heads": 4, "model__kv_heads": 2, "model__head_dim": 3, "model__ffn": 5,
    "model__vocab": 100, "model__layers": 2, "batch__sequence_length": 10,
}  # fmt: skip
LATENT = {
    "model__attention": "mla", "model__attention__q_lora_rank": 7, "model__attention__kv_lora_rank": 6,
    "model__attention__qk_nope_head_dim": 3, "model__attention__qk_rope_head_dim": 2, "model__attention__v_head_dim": 4,
}  # fmt: skip
EXPERTS = {"model__experts__count": 6, "model__experts__top_k": 2, "model__experts__ffn": 4}


def test_parts_of_a_gated_model():
    facts = facts_of(**SMALL)
    assert facts["flops.projections"] == 2 * 2 * (8 * 12 + 2 * 8 * 6 + 12 * 8)
    assert facts["flops.attention"] == 2 * (2 * 12 * 5 + 2 * 12 * 5)
    assert facts["flops.mlp"] == 2 * 2 * 3 * 8 * 5
    assert facts["flops.output"] == 2 * 8 * 100
    assert facts["flops.forward"] == 1152 + 480 + 480 + 1600
    assert facts["flops.per_token"] == 3 * facts["flops.forward"]


def test_a_plain_mlp_has_two_matrices():
    assert facts_of(**SMALL, model__gated=False)["flops.mlp"] == 2 * 2 * 2 * 8 * 5


@pytest.mark.parametrize("word", ["qkv", "attention", "mlp", "all"])
def test_biases_are_no_products(word):
    assert facts_of(**SMALL, model__bias=word)["flops.forward"] == facts_of(**SMALL)["flops.forward"]


def test_a_tied_output_layer_multiplies_too():
    assert facts_of(**SMALL, model__tied=True)["flops.output"] == facts_of(**SMALL)["flops.output"]


def test_latent_attention():
    facts = facts_of(**SMALL, **LATENT)
    weights = 8 * 7 + 7 * 4 * 5 + 8 * (6 + 2) + 6 * 4 * (3 + 4) + 4 * 4 * 8
    assert facts["flops.projections"] == 2 * 2 * weights
    assert facts["flops.attention"] == 2 * (2 * 4 * 5 * 5 + 2 * 4 * 4 * 5)
    direct = {**LATENT, "model__attention__q_lora_rank": Unknown("`it` is not set", ("it",), unset=True)}
    assert facts_of(**SMALL, **direct)["flops.projections"] == 2 * 2 * (weights - 8 * 7 - 7 * 4 * 5 + 8 * 4 * 5)


@pytest.mark.parametrize(
    ("window", "every", "causal", "full"),
    [
        (10, None, 2 * 240, 2 * 480),
        (400, None, 2 * 240, 2 * 480),
        (4, None, 2 * 48 * Fraction(32, 10), 2 * 48 * 4),
        (4, 2, 240 + 48 * Fraction(32, 10), 480 + 48 * 4),
        (4, 1, 2 * 240, 2 * 480),
        (4, 3, 2 * 48 * Fraction(32, 10), 2 * 48 * 4),  # two layers have no third
    ],
)
def test_windows(window, every, causal, full):
    """A token with a window of 4 in a sequence of 10 sees 4 - 4 x 4 / 20 = 3.2 tokens on average."""
    periods = {} if every is None else {"model__attention__every": every}
    facts = facts_of(**SMALL, model__attention="sliding", model__attention__window=window, **periods)
    assert facts["flops.attention"] == causal
    assert facts["flops.full_attention"] == full


def test_a_window_that_is_not_stated_is_unknown():
    facts = facts_of(**SMALL, model__attention="sliding")
    assert facts["flops.attention"].missing == facts["flops.full_attention"].missing == ("model.attention.window",)


def test_full_attention_counts_twice_the_scores():
    facts = facts_of(**SMALL)
    assert facts["flops.full_attention"] == 2 * facts["flops.attention"]
    assert facts["flops.per_token_full_attention"] == facts["flops.per_token"] + 3 * facts["flops.attention"]


@pytest.mark.parametrize(
    ("more", "weights"),
    [
        ({}, 2 * 2 * 96),
        ({"model__experts__shared": 1}, 2 * 3 * 96),
        ({"model__experts__shared": 1, "model__experts__shared_ffn": 10}, 2 * (2 * 96 + 240)),
        ({"model__experts__dense_layers": 1}, 120 + 2 * 96),
        ({"model__experts__every": 2}, 120 + 2 * 96),
    ],
)
def test_experts_that_a_token_passes_through(more, weights):
    known = {"model__experts__dense_layers": 0, "model__experts__every": 1, **more}
    assert facts_of(**SMALL, **EXPERTS, **known)["flops.mlp"] == 2 * weights


def test_experts_that_are_not_described_are_unknown():
    assert isinstance(facts_of(**SMALL, model__experts__count=6, model__moe_layers=2)["flops.mlp"], Unknown)


def test_layers_for_multi_token_prediction():
    plain, more = facts_of(**SMALL), facts_of(**SMALL, model__mtp_layers=1)
    for part in ("flops.projections", "flops.attention", "flops.mlp"):
        assert 2 * more[part] == 3 * plain[part]
    assert more["flops.output"] == 2 * plain["flops.output"] + 2 * 16 * 8
    experts = {**EXPERTS, "model__experts__dense_layers": 1, "model__experts__every": 1}
    assert facts_of(**SMALL, **experts, model__mtp_layers=1)["flops.mlp"] == 2 * (120 + 2 * 2 * 96)


def test_recompute():
    plain = facts_of(**SMALL)
    assert plain["flops.recomputed"] == 0
    assert plain["flops.hardware_per_token"] == plain["flops.per_token"]
    full = facts_of(**SMALL, recompute="full")
    assert full["flops.recomputed"] == 1152 + 480 + 480
    assert full["flops.hardware_per_token"] == full["flops.per_token"] + 2112
    assert facts_of(**SMALL, recompute="selective")["flops.recomputed"] == 480


@pytest.mark.parametrize(
    ("stages", "block", "chunks", "share"),
    [
        (1, 1, None, Fraction(1, 4)),
        (2, 1, None, Fraction(1, 2)),
        (2, 1, 2, 1),
        (2, 9, None, 1),
        (1, 3, None, Fraction(3, 4)),
    ],
)
def test_recompute_of_the_first_layers_of_each_stage(stages, block, chunks, share):
    given = {**SMALL, "model__layers": 4, "recompute": "full", "parallel__pipeline": stages}
    whole = facts_of(**given)["flops.recomputed"]
    interleaved = {} if chunks is None else {"pipeline__chunks": chunks}
    facts = facts_of(**given, **interleaved, recompute__method="block", recompute__layers=block)
    assert facts["flops.recomputed"] == share * whole
    uniform = facts_of(**given, recompute__method="uniform", recompute__layers=block)
    assert uniform["flops.recomputed"] == whole


def test_recompute_of_an_unstated_number_of_layers_is_unknown():
    facts = facts_of(**SMALL, recompute="full", recompute__method="block")
    assert facts["flops.recomputed"].missing == ("recompute.layers",)


@pytest.mark.parametrize(
    ("modules", "expected"),
    [(("core_attn",), 480), (("moe_act", "core_attn"), 480), (("layernorm",), 0), ((), 0)],
)
def test_recompute_of_modules(modules, expected):
    assert facts_of(**SMALL, recompute="selective", recompute__modules=modules)["flops.recomputed"] == expected


def test_modules_that_are_not_known_are_unknown():
    facts = facts_of(**SMALL, recompute="selective", recompute__modules=("core_attn", "mlp"))
    assert facts["flops.recomputed"].missing == ("recompute.modules",)


def test_a_step_is_exact_however_large():
    facts = facts_of(**{**SMALL, "model__hidden": 10**9, "model__layers": 10**5}, batch__global=10**6, recompute="full")
    assert facts["step.flops"] == facts["flops.per_token"] * 10**7
    assert 2**63 < facts["step.flops"] < facts["step.hardware_flops"]


def test_frozen_weights_have_no_gradients():
    facts = facts_of(**SMALL, batch__global=8, adapter="lora")
    assert facts["step.flops"].missing == ("adapter",)
    assert facts["flops.forward"] == 3712
