"""Parameter counts against public models (table 07: counted on the meta device from Hugging Face's own classes)."""

import csv

import pytest

from planc.plan.model import Unknown
from tests.facts.given import facts_of, table

#: What the dimensions in the table leave out, by Hugging Face class.
LLAMA = {}
GPT2 = {"norm": "layernorm", "gated": False, "bias": "all", "positions": "learned"}
CLASSES = {
    "LlamaForCausalLM": LLAMA, "MistralForCausalLM": LLAMA, "MixtralForCausalLM": LLAMA, "Phi3ForCausalLM": LLAMA,
    "GemmaForCausalLM": LLAMA, "Qwen2ForCausalLM": {"bias": "qkv"}, "GPT2LMHeadModel": GPT2,
    "GPTNeoXForCausalLM": {"norm": "layernorm", "gated": False, "bias": "all"},
    "DeepseekV2ForCausalLM": {"attention": "mla", "experts__dense_layers": 1},
    "DeepseekV3ForCausalLM": {"attention": "mla", "experts__dense_layers": 3},
}  # fmt: skip
LATENT = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}


def dimensions(row):
    """The fields of a model as the table gives them."""
    fields = {name: int(row[name]) for name in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab")}
    fields |= {"tied": row["tied"] == "1", **CLASSES[row["class"]]}
    if row["class"] == "GPT2LMHeadModel":
        fields["max_sequence_length"] = 1024 if row["model"].startswith("gpt2") else 2048
    if row["experts"]:
        fields |= {
            "experts__count": int(row["experts"]), "experts__top_k": int(row["topk"]), "experts__every": 1,
            "experts__ffn": int(row["moe_ffn"]), "experts__shared": int(row["shared_experts"] or 0),
        }  # fmt: skip
        fields.setdefault("experts__dense_layers", 0)
    if fields.get("attention") == "mla":
        fields |= {f"attention__{name}": value for name, value in LATENT.items()}
    return {f"model__{name}": value for name, value in fields.items()}


def test_public_models():
    """Families that the language describes in full; the others have norms or biases of their own (see its notes)."""
    counted = 0
    with table("07_models.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["class"] in CLASSES:
                facts = facts_of(**dimensions(row))
                assert facts["model.total_parameters"] == int(row["params_total"]), row["model"]
                if row["params_active"]:
                    assert facts["model.active_parameters"] == int(row["params_active"]), row["model"]
                counted += 1
    assert 40 <= counted


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


@pytest.mark.parametrize("split", [{"parallel__expert": 8}, {"parallel__tensor": 8}, {"parallel__expert_tensor": 2}])
def test_experts_that_are_split_apart_are_not_guessed(split):
    assert isinstance(facts_of(**MIXTRAL, **split)["parallel.parameters_per_rank"], Unknown)


def test_experts_that_are_split_as_the_layers_are():
    whole = facts_of(**MIXTRAL)["parallel.parameters_per_rank"]
    assert whole == 46_702_792_704
    halves = facts_of(**MIXTRAL, parallel__tensor=2, parallel__expert_tensor=2)["parallel.parameters_per_rank"]
    norms = 65 * 4096
    assert halves == (whole - norms) / 2 + norms


def test_what_is_not_counted_is_unknown():
    assert isinstance(facts_of(**LLAMA_3_8B, model__mtp_layers=1)["model.total_parameters"], Unknown)
    assert isinstance(facts_of(**LLAMA_3_8B, model__positions="learned")["model.total_parameters"], Unknown)
