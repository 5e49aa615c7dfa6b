"""The parameters that each card holds: counted by Megatron, which builds its part of the model for every rank."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from tests.consumers.running import PROGRAMS, environment, needs
from tests.facts.given import facts_of

pytestmark = [pytest.mark.consumer]

HIDDEN, HEADS, VOCAB, LENGTH = 64, 8, 1000, 128

#: Fields of the model, with what Megatron calls them.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "llama": ({"model__kv_heads": 4}, {"num_query_groups": 4}),
    "gpt": (
        {"model__kv_heads": 8, "model__gated": False, "model__bias": "all", "model__norm": "layernorm",
         "model__tied": True, "model__positions": "learned", "model__max_sequence_length": LENGTH},
        {"num_query_groups": 8, "gated_linear_unit": False, "add_bias_linear": True, "normalization": "LayerNorm"},
    ),
    "qwen": (
        {"model__kv_heads": 2, "model__bias": "qkv", "model__attention__qk_norm": "head", "model__tied": True},
        {"num_query_groups": 2, "add_qkv_bias": True, "qk_layernorm": True},
    ),
    "moe": (
        {"model__kv_heads": 4, "model__experts__count": 8, "model__experts__top_k": 2, "model__experts__ffn": 48,
         "model__experts__shared": 1, "model__experts__dense_layers": 1, "model__experts__every": 1},
        {"num_query_groups": 4, "num_moe_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 48,
         "moe_shared_expert_intermediate_size": 48, "moe_layer_freq": "first dense"},
    ),
    "mla": (
        {"model__kv_heads": 8, "model__attention": "mla", "model__attention__q_lora_rank": 24,
         "model__attention__kv_lora_rank": 16, "model__attention__qk_nope_head_dim": 8,
         "model__attention__qk_rope_head_dim": 4, "model__attention__v_head_dim": 8},
        {"multi_latent_attention": True, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_head_dim": 8,
         "qk_pos_emb_head_dim": 4, "v_head_dim": 8, "qk_layernorm": True},
    ),
}  # fmt: skip

SPLITS: tuple[dict[str, Any], ...] = (
    {},
    {"tensor": 2},
    {"tensor": 4, "pipeline": 2},
    {"pipeline": 4},
    {"tensor": 2, "pipeline": 3, "first": 2, "last": 4},
    {"tensor": 2, "pipeline": 2, "chunks": 2},
    {"tensor": 2, "pipeline": 2, "layout": "Et*3|tt|ttt|tt,tt,L", "layers": 12},
    {"pipeline": 4, "layout": "E|t*5|(tt)*2|t*3L", "layers": 12},
    {"pipeline": 4, "ends_count": True, "layers": 10},
)


def case(model: str, split: dict[str, Any], stage: int, expert: int, expert_tensor: int) -> tuple[dict, Any]:
    """What Megatron is asked, and the view of planc's facts of that stage."""
    fields, config = MODELS[model]
    tensor, pipeline, chunks = split.get("tensor", 1), split.get("pipeline", 1), split.get("chunks")
    layers = split.get("layers", 12)
    world = max(tensor * pipeline, expert * expert_tensor * pipeline) * 2
    given = {
        "model__layers": layers, "model__hidden": HIDDEN, "model__heads": HEADS, "model__head_dim": HIDDEN // HEADS,
        "model__ffn": 96, "model__vocab": VOCAB, "parallel__tensor": tensor, "parallel__pipeline": pipeline,
        "parallel__expert": expert, "parallel__expert_tensor": expert_tensor, **fields,
    }  # fmt: skip
    named = {
        "num_layers": layers, "hidden_size": HIDDEN, "num_attention_heads": HEADS, "ffn_hidden_size": 96,
        "gated_linear_unit": True, "add_bias_linear": False, "normalization": "RMSNorm", **config,
    }  # fmt: skip
    parallel = {
        "tensor_model_parallel_size": tensor, "pipeline_model_parallel_size": pipeline,
        "expert_model_parallel_size": expert, "expert_tensor_parallel_size": expert_tensor,
    }  # fmt: skip
    if named.get("moe_layer_freq"):
        named["moe_layer_freq"] = [0] + [1] * (layers - 1)
    if chunks:
        parallel["virtual_pipeline_model_parallel_size"] = chunks
        given.update(pipeline="interleaved", pipeline__chunks=chunks)
    if "first" in split:
        named["num_layers_in_first_pipeline_stage"] = given["pipeline__first_stage_layers"] = split["first"]
        named["num_layers_in_last_pipeline_stage"] = given["pipeline__last_stage_layers"] = split["last"]
    if "layout" in split:
        named["pipeline_model_parallel_layout"] = given["pipeline__layout"] = split["layout"]
        if pipeline < split["layout"].count("|") + 1:
            parallel["virtual_pipeline_model_parallel_size"] = (split["layout"].count("|") + 1) // pipeline
    if "ends_count" in split:
        named["account_for_embedding_in_pipeline_split"] = named["account_for_loss_in_pipeline_split"] = True
        given.update(pipeline__embedding_as_layer=True, pipeline__loss_as_layer=True)
    facts = facts_of("megatron", **given).at_stage(stage)
    asked = {
        "world": world, "rank": stage * (world // pipeline), "parallel": parallel, "config": named,
        "latent": "multi_latent_attention" in named,
        "model": {
            "vocab_size": facts["parallel.padded_vocab"], "max_sequence_length": LENGTH,
            "share_embeddings_and_output_weights": fields.get("model__tied", False),
            "position_embedding_type": "learned_absolute" if fields.get("model__positions") else "rope",
        },
    }  # fmt: skip
    return asked, facts


@needs("megatron.core")
@pytest.mark.parametrize("model", MODELS)
def test_parameters_of_every_stage(model):
    dice, chosen = random.Random(model), []
    for split in SPLITS:
        if model == "mla" and 1 < split.get("tensor", 1):
            continue  # its products down to the ranks are whole on each card only with TransformerEngine
        for stage in range(split.get("pipeline", 1)):
            expert, expert_tensor = dice.choice(((1, 1), (2, 1), (4, 2), (1, 2))) if model == "moe" else (1, 1)
            chosen.append((split, stage, case(model, split, stage, expert, expert_tensor)))
    command = [sys.executable, str(PROGRAMS / "count_megatron.py"), json.dumps([asked for _, _, (asked, _) in chosen])]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    for (split, stage, (_, facts)), answer in zip(chosen, answers, strict=True):
        counted = {"experts": facts["stage.expert_parameters"], "others": facts["stage.parameters"]}
        assert answer == counted, (split, stage)
