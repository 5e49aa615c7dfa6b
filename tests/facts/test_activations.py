"""Activations per layer, stage and peak: Korthikanti et al. (2022) exactly, PyTorch's memory tracker, arrays, edges."""

from __future__ import annotations

import csv
from fractions import Fraction
from typing import Any

import pytest

from planc.facts.facts import FACTS, Facts
from planc.plan.model import Unknown
from tests.facts.given import facts_of, table

#: Korthikanti et al. (2022), table 3: layers, hidden, heads.
GPT = {"22B": (48, 6144, 64), "175B": (96, 12_288, 96), "530B": (105, 20_480, 128)}

LLAMA_8B: dict[str, Any] = {
    "model__layers": 32, "model__hidden": 4096, "model__heads": 32, "model__kv_heads": 8, "model__head_dim": 128,
    "model__ffn": 14_336, "model__vocab": 128_256, "batch__micro": 1, "batch__sequence_length": 4096,
    "batch__accumulation": 1, "parallel__data": 1, "shard__size": 1, "stage__end_activations": 0,
}  # fmt: skip
TOKENS = 4096

MIXTRAL: dict[str, Any] = {
    **LLAMA_8B, "model__experts__count": 8, "model__experts__top_k": 2, "model__experts__ffn": 14_336,
    "model__experts__dense_layers": 0, "model__experts__every": 1, "model__experts__shared": 0,
}  # fmt: skip


def gpt(model: str, /, **given: Any) -> Facts:
    """A GPT with layernorm, dropout, a plain MLP of 4 h and no grouped heads, under Megatron."""
    layers, hidden, heads = GPT[model]
    base: dict[str, Any] = {
        "model__layers": layers, "model__hidden": hidden, "model__heads": heads, "model__kv_heads": heads,
        "model__head_dim": hidden // heads, "model__ffn": 4 * hidden, "model__gated": False, "model__vocab": 51_200,
        "model__norm": "layernorm", "model__dropout": Fraction(1, 10), "batch__sequence_length": 2048,
        "batch__micro": 1, "batch__accumulation": 512, "stage__end_activations": 0,
    }  # fmt: skip
    return facts_of("megatron", **{**base, **given})


def fullest(facts: Facts, name: str) -> Any:
    """The largest value of any stage of the pipeline."""
    return max(facts.at_stage(stage)[f"stage.{name}"] for stage in range(facts["parallel.pipeline"]))


def last(facts: Facts, name: str) -> Any:
    """The value of the last stage."""
    return facts.at_stage(facts["parallel.pipeline"] - 1)[f"stage.{name}"]


def layouts(config: str) -> dict[str, Any]:
    """The plan of a configuration of tables 02a and 02d."""
    recompute = "full" if config == "full_recompute" else "selective" if "selective" in config else "none"
    return {"parallel__sequence": "sp" in config.split("_"), "recompute": recompute}


def rows(name: str) -> list[dict[str, str]]:
    with table(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("model", GPT)
@pytest.mark.parametrize("t", [1, 8])
def test_layer_of_korthikanti(model, t):
    """Table 2 of the paper, here with s = 2048 and b = 4."""
    _, h, a = GPT[model]
    s, b = 2048, 4
    plain = {
        "tp": s * b * h * (10 + Fraction(24, t) + Fraction(5 * a * s, h * t)),
        "tp_sp": s * b * h * (Fraction(34, t) + Fraction(5 * a * s, h * t)),
        "tp_selective": s * b * h * (10 + Fraction(24, t)),
        "tp_sp_selective": s * b * h * Fraction(34, t),
        "full_recompute": 2 * s * b * h,
    }
    for config, expected in plain.items():
        facts = gpt(model, parallel__tensor=t, batch__micro=b, batch__accumulation=1, **layouts(config))
        held = fullest(facts, "activations_plain_attention")
        assert held == expected * fullest(facts, "held_layers"), config
        assert fullest(facts, "held_layers") == GPT[model][0]


def test_formulas_of_table_02a():
    compared = 0
    for row in rows("02a_activation_formulas.csv"):
        if row["config"] not in ("no_parallelism", "tp", "tp_sp", "tp_sp_selective", "full_recompute"):
            continue
        for model, (layers, h, a) in GPT.items():
            t = 1 if row["config"] == "no_parallelism" else 8
            facts = gpt(model, parallel__tensor=t, batch__micro=4, batch__accumulation=1, **layouts(row["config"]))
            names = {"s": 2048, "b": 4, "h": h, "a": a, "t": Fraction(t)}
            expected = eval(row["python"], {"__builtins__": {}}, names)
            assert fullest(facts, "activations_plain_attention") == pytest.approx(layers * expected, rel=1e-12)
            compared += 1
    assert compared == 15


def test_first_stage_of_table_02a_holds_all_layers():
    """Equation 5: p micro batches of L / p layers, whatever p."""
    for p in (1, 2, 4, 8):
        facts = gpt("22B", parallel__pipeline=p, parallel__tensor=8, parallel__sequence=True)
        assert fullest(facts, "held_layers") == 48
        assert last(facts, "held_layers") == 48 // p


def test_first_stage_of_table_02d():
    compared = 0
    for row in rows("02d_korthikanti_activation_derived.csv"):
        chunks = int(row["interleave_m"])
        schedule = {"pipeline": "interleaved", "pipeline__chunks": chunks} if 1 < chunks else {}
        facts = gpt(
            row["model"], parallel__tensor=int(row["tp"]), parallel__pipeline=int(row["pp"]),
            batch__micro=int(row["micro_batch"]), batch__sequence_length=int(row["seq"]), **schedule,
            **layouts(row["config"]),
        )  # fmt: skip
        value = fullest(facts, "activations_plain_attention")
        assert value == int(row["activation_bytes_first_stage"]), row["row_id"]
        alone = gpt(
            row["model"], parallel__tensor=int(row["tp"]), parallel__pipeline=int(row["pp"]),
            batch__micro=int(row["micro_batch"]), **schedule,
        )  # fmt: skip
        baseline = fullest(alone, "activations_plain_attention")
        assert abs(100 * value / baseline - Fraction(row["pct_of_tp_baseline"])) <= Fraction(1, 20), row["row_id"]
        compared += 1
    assert compared == 15


def test_layer_of_pytorchs_tracker():
    """Runs of `consumers/mem_oracle.py`: what 32 layers keep without recomputation, less what they keep with it."""
    alone = facts_of("fsdp2", **LLAMA_8B)
    assert fullest(alone, "layer_whole") - alone["memory.layer_input"] == 209_032 * TOKENS
    assert 32 * 209_032 * TOKENS == 30_741_118_984 - 3_342_876_680
    shared = facts_of("fsdp2", **LLAMA_8B, parallel__tensor=8, parallel__sequence=True)
    assert 32 * (fullest(shared, "layer_whole") - shared["memory.layer_input"]) == 7_589_726_216 - 2_285_897_736


@pytest.mark.parametrize(
    ("given", "activations"),
    [
        ({}, 30_741_118_984),
        ({"recompute": "full"}, 3_342_876_680),
        ({"parallel__tensor": 8, "parallel__sequence": True}, 7_589_726_216),
        ({"parallel__tensor": 8, "parallel__sequence": True, "recompute": "full"}, 2_285_897_736),
    ],
)
def test_peak_of_pytorchs_tracker(given, activations):
    """The same four runs, each with 4,202,692,608 temporary bytes; the tracked model gathers its logits on every rank.

    Two more inputs of a layer are kept until the loss, by the embedding and by the last of the layers.
    """
    given = {key: value for key, value in {**LLAMA_8B, **given}.items() if key != "stage__end_activations"}
    facts = facts_of("fsdp2", **given)
    counted = facts.at_stage(0)["stage.at_loss"]
    assert counted == pytest.approx(activations + 4_202_692_608, rel=0.003)


def test_kernels_by_engine():
    """Per token of a Llama layer: 34 h and 4 a fused, 53 h, 4 a and 8 op by op, with f = 3.5 h and a = 4 k."""
    fused = 34 * 4096 + 4 * 32
    assert fullest(facts_of("megatron", **LLAMA_8B), "layer_whole") == fused * TOKENS
    assert fullest(facts_of("fsdp2", **LLAMA_8B, train__compile=True), "layer_whole") == fused * TOKENS
    for engine, norms in (("fsdp2", 16), ("torchtitan", 16), ("deepspeed", 12), ("generic", 12)):
        kept = ((37 + norms) * 4096 + 4 * 32 + 8) * TOKENS
        assert fullest(facts_of(engine, **LLAMA_8B), "layer_whole") == kept


def test_context_ranks_share_tokens():
    one, two = (facts_of("megatron", **LLAMA_8B, parallel__context=context) for context in (1, 2))
    for name in ("layer_whole", "logits", "at_loss", "activations_plain_attention"):
        assert fullest(one, name) - fullest(one, "gradients") * (name == "at_loss") == 2 * (
            fullest(two, name) - fullest(two, "gradients") * (name == "at_loss")
        )


def test_more_tensor_ranks_than_key_value_heads():
    few, many = (facts_of("megatron", **LLAMA_8B, parallel__tensor=tensor) for tensor in (8, 32))
    assert few["memory.layer_attention"] == 2 * (8 + 2) * 128 * TOKENS
    assert many["memory.layer_attention"] == 2 * (2 + 2) * 128 * TOKENS


def test_norms():
    base = facts_of("megatron", **LLAMA_8B)
    assert base["memory.layer_norms"] == base["memory.layer_projection_inputs"] == 4 * 4096 * TOKENS
    parallel = facts_of("megatron", **LLAMA_8B, model__norms=1)
    assert parallel["memory.layer_norms"] == parallel["memory.layer_projection_inputs"] == 2 * 4096 * TOKENS
    assert facts_of("megatron", **LLAMA_8B, model__norms=4)["memory.layer_norms"] == 8 * 4096 * TOKENS
    normed = facts_of("megatron", **LLAMA_8B, model__attention__qk_norm="head")
    assert normed["memory.layer_attention"] - base["memory.layer_attention"] == 2 * (32 + 8) * 128 * TOKENS


def test_fp32_takes_twice_as_much():
    half, single = (facts_of("megatron", **LLAMA_8B, precision=precision) for precision in ("bf16", "fp32"))
    for path in ("memory.layer_input", "memory.layer_attention", "memory.layer_mlp"):
        assert single[path] == 2 * half[path]


def test_latent_attention():
    """DeepSeek-V3: 128 heads of 128 + 64 and 128, ranks 1536 and 512, each kept before and after its norm."""
    given = {
        **LLAMA_8B, "model__heads": 128, "model__attention": "mla", "model__attention__q_lora_rank": 1536,
        "model__attention__kv_lora_rank": 512, "model__attention__qk_nope_head_dim": 128,
        "model__attention__qk_rope_head_dim": 64, "model__attention__v_head_dim": 128,
    }  # fmt: skip
    heads, latent = 2 * 128 * (192 + 192 + 128 + 128), 2 * 2 * (1536 + 512)
    assert facts_of("megatron", **given)["memory.layer_attention"] == (heads + latent) * TOKENS
    split = facts_of("megatron", **given, parallel__tensor=8)
    assert split["memory.layer_attention"] == (heads // 8 + latent) * TOKENS
    both = facts_of("megatron", **given, parallel__tensor=8, parallel__sequence=True)
    assert both["memory.layer_attention"] == (heads + latent) // 8 * TOKENS


@pytest.mark.parametrize(
    ("tensor", "sequence", "expert_tensor", "inputs", "inside"),
    [
        (1, False, 1, 1, 1),
        (8, True, 1, Fraction(1, 8), Fraction(1, 8)),
        (8, True, 8, 1, Fraction(1, 8)),  # gathered over the expert-tensor ranks
        (8, False, 8, 1, Fraction(1, 8)),
        (8, False, 1, 1, 1),  # every tensor rank sends all tokens
        (1, False, 2, 2, 1),  # tokens of two ranks, half of an expert
    ],
)
def test_experts(tensor, sequence, expert_tensor, inputs, inside):
    split = {"parallel__tensor": tensor, "parallel__sequence": sequence, "parallel__expert_tensor": expert_tensor}
    facts = facts_of("megatron", **MIXTRAL, **split)
    assert facts["memory.layer_experts"] == 2 * TOKENS * (2 * 4096 * inputs + 6 * 14_336 * inside)


def test_experts_between_dense_layers():
    given = {**MIXTRAL, "model__experts__every": 2, "model__experts__shared": 1, "model__experts__shared_ffn": 1024}
    facts = facts_of("megatron", **given)
    experts, mlp = facts["memory.layer_experts"], facts["memory.layer_mlp"]
    assert experts == TOKENS * (2 * (2 * 4096 + 6 * 14_336) + 6 * 1024)
    dense = facts_of("megatron", **LLAMA_8B)
    assert fullest(facts, "layer_whole") - fullest(dense, "layer_whole") == (experts - mlp) / 2
    more = facts_of("megatron", **MIXTRAL, expert__capacity_factor=Fraction(5, 4))
    assert more["memory.layer_experts"] == TOKENS * Fraction(5, 4) * 2 * (2 * 4096 + 6 * 14_336)
    by_modules = facts_of("fsdp2", **MIXTRAL)
    assert by_modules["memory.layer_experts"] == TOKENS * 2 * (2 * 2 * 4096 + 8 * 14_336)


def test_experts_that_are_not_gated():
    """Megatron weights what the activation function gives, so that both are kept; with a gate it is one kernel."""
    kernels, modules = (facts_of(engine, **MIXTRAL, model__gated=False) for engine in ("megatron", "fsdp2"))
    assert kernels["memory.layer_experts"] == TOKENS * 2 * (2 * 4096 + 6 * 14_336)
    assert modules["memory.layer_experts"] == TOKENS * 2 * (4 * 4096 + 4 * 14_336)


def test_recomputed_chunks_and_blocks():
    base = facts_of("megatron", **LLAMA_8B)
    whole, kept = fullest(base, "layer_whole"), base["memory.layer_input"]
    uniform = facts_of("megatron", **LLAMA_8B, recompute="full", recompute__method="uniform", recompute__layers=4)
    assert fullest(uniform, "activations") == 8 * kept
    assert fullest(uniform, "recomputed") == 4 * whole
    chunk = {**LLAMA_8B, "recompute": "full", "recompute__method": "uniform", "recompute__layers": 99}
    by_stage = facts_of("megatron", **chunk, parallel__pipeline=4)
    assert fullest(by_stage, "activations") == kept
    assert fullest(by_stage, "recomputed") == 8 * whole
    block = facts_of("megatron", **LLAMA_8B, recompute="full", recompute__method="block", recompute__layers=8)
    assert fullest(block, "activations") == 8 * kept + 24 * whole
    assert fullest(block, "recomputed") == whole
    every = facts_of("megatron", **LLAMA_8B, recompute="full", recompute__method="block", recompute__layers=99)
    assert fullest(every, "activations") == 32 * kept


@pytest.mark.parametrize(
    ("given", "most", "least"),
    [
        ({"parallel__pipeline": 4}, 32, 8),
        ({"parallel__pipeline": 3}, 33, 10),
        # Of 4, 10, 10 and 8 layers, the second stage holds most: 10 layers of three micro batches.
        ({"parallel__pipeline": 4, "pipeline__first_stage_layers": 4, "pipeline__last_stage_layers": 8}, 30, 8),
        ({"parallel__pipeline": 2, "pipeline__first_stage_layers": 4}, 28, 28),
        ({"parallel__pipeline": 4, "pipeline__layers": (1, 12, 12, 7)}, 36, 7),
        # Zero bubble, table 16 of its paper: L = k p - 2 layers, with embedding and loss in place of one each.
        ({"model__layers": 30, "parallel__pipeline": 8, "pipeline__embedding_as_layer": True,
          "pipeline__loss_as_layer": True}, 28, 3),
        ({"model__layers": 30, "parallel__pipeline": 8, "pipeline__embedding_as_layer": True,
          "pipeline__loss_as_layer": True, "pipeline": "zero-bubble", "pipeline__limit": 2}, 60, 45),
        ({"model__layers": 30, "pipeline__embedding_as_layer": True, "pipeline__loss_as_layer": True}, 30, 30),
        ({"parallel__pipeline": 4, "batch__accumulation": 2}, 16, 8),
        ({"parallel__pipeline": 4, "pipeline": "interleaved", "pipeline__chunks": 2}, 44, 20),
    ],
)  # fmt: skip
def test_layers_held_by_the_fullest_and_the_last_stage(given, most, least):
    facts = facts_of("megatron", **{**LLAMA_8B, "batch__accumulation": 64, **given})
    assert (fullest(facts, "held_layers"), last(facts, "held_layers")) == (most, least)


def test_peak_is_that_of_the_worst_moment():
    given = {**LLAMA_8B, "batch__accumulation": 64, "parallel__pipeline": 4}
    facts = facts_of("megatron", **given)
    layer, logits = fullest(facts, "layer_activations"), fullest(facts, "logits")
    assert logits == 6 * 128_256 * TOKENS
    assert [stage["stage.at_loss"] - stage["stage.gradients"] for stage in map(facts.at_stage, range(4))] == [
        32 * layer, 24 * layer, 16 * layer, 8 * layer + logits
    ]  # fmt: skip
    assert facts["memory.worst_stage"] == 0
    full = facts_of("megatron", **{**given, "recompute": "full"})
    kept, whole = full["memory.layer_input"], fullest(full, "layer_whole")
    first, final = full.at_stage(0), full.at_stage(3)
    assert first["stage.in_backward"] - first["stage.gradients"] == 32 * kept + whole
    assert (first["stage.moment"], final["stage.moment"]) == (1, 0)
    assert final["stage.peak"] - final["stage.states"] == 8 * kept + logits


@pytest.mark.parametrize(
    ("engine", "given", "path", "missing"),
    [
        ("deepspeed", {"recompute": "selective"}, "memory.activations", "recompute"),
        ("fsdp2", {**MIXTRAL, "recompute": "selective"}, "stage.layer_selected", "recompute"),
        ("fsdp2", {"recompute": "selective", "recompute__modules": ("core_attn",)}, "memory.activations",
         "recompute.modules"),
        ("megatron", {"recompute": "selective", "recompute__modules": ("mlp",)}, "memory.activations",
         "recompute.modules"),
        ("megatron", {"recompute": "full", "recompute__method": "block"}, "memory.activations", "recompute.layers"),
        ("megatron", {"adapter": "lora"}, "stage.layer_activations", "adapter"),
        ("megatron", {"offload__activations": True}, "stage.peak", "offload.activations"),
        ("megatron", {"pipeline__layout": "t*2|t"}, "stage.held_layers", "pipeline.layout"),
        ("megatron", {"pipeline": "interleaved"}, "stage.held_layers", "pipeline.chunks"),
        ("megatron", {"model__experts__count": 8}, "memory.layer_experts", "model.experts"),
    ],
)  # fmt: skip
def test_what_is_not_derived_is_unknown(engine, given, path, missing):
    value = facts_of(engine, **{**LLAMA_8B, **given}).at_stage(0)[path]
    assert isinstance(value, Unknown)
    assert missing in value.missing


def test_torchtitan_selects_by_operator():
    """Input, attention, products for queries, values, gate and output: 15.5 h and 4 a with f = 3.5 h, a = 4 k."""
    facts = facts_of("fsdp2", **LLAMA_8B, recompute="selective")
    assert fullest(facts, "activations") == 32 * (Fraction(31, 2) * 4096 + 4 * 32) * TOKENS
    assert fullest(facts, "recomputed") == fullest(facts, "layer_whole")
    plain = facts_of("fsdp2", **LLAMA_8B, recompute="selective", model__gated=False)
    assert fullest(plain, "layer_selected") == fullest(facts, "layer_selected") - 2 * 4096 * TOKENS
    tensor = facts_of("fsdp2", **LLAMA_8B, recompute="selective", parallel__tensor=8)
    split = (2 * (2 * 32 + 8) * 128 + 2 * 14_336 + 4 * 32) // 8
    assert fullest(tensor, "layer_selected") == (split + 2 * 2 * 4096) * TOKENS
    both = facts_of("fsdp2", **LLAMA_8B, recompute="selective", parallel__tensor=8, parallel__sequence=True)
    assert fullest(both, "layer_selected") == (split + 2 * 4096 + 3 * 2 * 4096 // 8) * TOKENS


def test_selected_modules_may_be_the_default_one():
    one, other = (
        facts_of("megatron", **LLAMA_8B, recompute="selective", recompute__modules=modules)
        for modules in (None, ("core_attn",))
    )
    assert fullest(one, "activations") == fullest(other, "activations") == 32 * 34 * 4096 * TOKENS


ARRAYS = {
    "parallel__tensor": (1, 2, 8, 16), "parallel__pipeline": (1, 2, 3, 8), "parallel__context": (1, 2, 3),
    "parallel__sequence": (False, True), "parallel__expert_tensor": (1, 2, 8), "batch__micro": (1, 3),
    "batch__accumulation": (1, 2, 64), "batch__sequence_length": (4096, 2**20), "model__layers": (30, 32),
    "model__kv_heads": (1, 8, 32), "model__hidden": (4096, 16_384), "recompute__layers": (1, 3, 64),
}  # fmt: skip


@pytest.mark.parametrize("recompute", ["none", "selective", "uniform", "block"])
@pytest.mark.parametrize("engine", ["megatron", "fsdp2"])
@pytest.mark.parametrize("axis", ARRAYS)
def test_arrays_equal_numbers(axis, engine, recompute):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    given = {
        **(LLAMA_8B if recompute == "selective" else MIXTRAL), "parallel__tensor": 2, "parallel__sequence": True,
        "parallel__pipeline": 4, "batch__accumulation": 16, "pipeline__first_stage_layers": 5,
        "recompute": "full" if recompute in ("uniform", "block") else recompute, "recompute__method": recompute,
        "recompute__layers": 2,
    }  # fmt: skip
    if recompute != "selective":
        given = {**given, "model__experts__every": 2, "model__experts__shared": 1}
    scalars = facts_of(engine, **given)
    paths = [path for path in FACTS if path.startswith("memory.") and not isinstance(scalars[path], Unknown)]
    assert {"memory.peak", "memory.total", "memory.logits", "memory.worst_stage"} <= set(paths)
    column = facts_of(engine, **{**given, axis: numpy.array(ARRAYS[axis])})
    for path in paths:
        items = numpy.broadcast_to(numpy.asarray(column[path]), (len(ARRAYS[axis]),))
        for value, item in zip(ARRAYS[axis], items, strict=True):
            assert facts_of(engine, **{**given, axis: value})[path] == pytest.approx(item, rel=1e-12), (path, value)


def test_absurd_sizes_do_not_raise():
    huge = dict.fromkeys(LLAMA_8B, 10**99)
    facts = facts_of("megatron", **huge, parallel__tensor=10**50, parallel__pipeline=10**60)
    assert 10**300 < facts["memory.peak"]
    assert isinstance(facts_of("megatron", **LLAMA_8B, parallel__context=0)["memory.peak"], Unknown)
