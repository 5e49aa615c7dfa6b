"""Models read from a config.json have as many parameters as transformers builds from it, exactly."""

from __future__ import annotations

import json
import os
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planc.compiler import Analysis, analyse, plan_facts
from planc.diagnostics.diagnostic import Severity
from planc.plan.model import Unknown
from planc.readers.model_types import TYPES
from planc.source import Source
from tests.consumers.running import needs

pytestmark = [pytest.mark.consumer, pytest.mark.slow]

Keys = dict[str, Any]

#: Random configurations of each type.
ROUNDS = 25

_PLAN = """
model m from hf("config.json")
gpu card { memory = 80 TiB  bf16 = true }
plan run {
  model = m  cluster { gpu = card  nodes = 1  gpus_per_node = 1 }  batch { global = 1  micro = 1 }  precision = bf16
}"""


def built(keys: Keys) -> tuple[int, Any]:
    """The parameters of the real model, tied weights once, and its real configuration."""
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    rest = {key: value for key, value in keys.items() if key != "model_type"}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        config = CONFIG_MAPPING[keys["model_type"]](**rest)
        model = AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters()), config


def read(text: str) -> Analysis:
    """What planc says of a plan that takes its model from a file of this text."""
    plan = Source("case.plan", _PLAN)
    return analyse((plan,), lambda name, importer: Source(name, text))


def counted(analysis: Analysis) -> Any:
    """The parameters by planc's formulas; Unknown where it cannot say. One rank alone holds all of them."""
    facts = plan_facts(analysis.plans[0])
    total = facts["model.total_parameters"]
    assert isinstance(total, Unknown) or facts["parallel.parameters_per_rank"] == total
    return total


def errors(analysis: Analysis) -> list[str]:
    """What is wrong with the file; rules may find fault with the model itself (2 heads, and 8 KV heads by default)."""
    found = (found for found in analysis.diagnostics if found.code < "PLN100")
    return [fault.message for fault in found if fault.severity is Severity.ERROR]


def some(keys: Keys, random_: random.Random) -> Keys:
    """The keys, but for some that a file may leave out."""
    kept = ("model_type", "num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size",
            "n_layer", "n_embd", "n_head", "ffn_dim", "pad_token_id", "num_experts_per_tok", "layer_types")  # fmt: skip
    return {key: value for key, value in keys.items() if key in kept or 0.15 < random_.random()}


def base(r: random.Random) -> Keys:
    """Dimensions that most types name alike; the head size need not be what follows from the others."""
    kv_heads = r.choice((1, 2, 3))
    heads = kv_heads * r.choice((1, 2, 5))
    keys: Keys = {
        "num_hidden_layers": r.randint(1, 9), "hidden_size": heads * 2 * r.randint(1, 9), "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "intermediate_size": r.randint(1, 99), "vocab_size": r.randint(5, 300),
        "max_position_embeddings": r.randint(8, 99), "tie_word_embeddings": r.random() < 0.5, "pad_token_id": 0,
    }  # fmt: skip
    if r.random() < 0.6:
        keys["head_dim"] = 2 * r.randint(1, 9)
    return keys


def flags(r: random.Random, *names: str) -> Keys:
    return {name: r.random() < 0.5 for name in names}


def windows(r: random.Random, layers: int) -> Keys:
    """Layers that slide, all, some in a period, or some at random."""
    period = r.choice((1, 2, 3, 4, 99))
    kinds = ["full_attention" if (at + 1) % period == 0 else "sliding_attention" for at in range(layers)]
    if r.random() < 0.3:
        r.shuffle(kinds)
    return {"layer_types": kinds, "sliding_window": r.randint(1, 50)} if r.random() < 0.6 else {}


def qwen_windows(r: random.Random, keys: Keys) -> Keys:
    return {
        "use_sliding_window": r.random() < 0.5, "sliding_window": r.randint(2, 50),
        "max_window_layers": r.choice((0, 1, keys["num_hidden_layers"], 99)),
    }  # fmt: skip


def qwen_experts(r: random.Random, keys: Keys) -> Keys:
    layers = keys["num_hidden_layers"]
    return {
        "num_experts": r.randint(1, 6), "num_experts_per_tok": 1, "moe_intermediate_size": r.randint(1, 40),
        "decoder_sparse_step": r.choice((1, 1, 2, 3)), "shared_expert_intermediate_size": r.randint(1, 40),
        "mlp_only_layers": r.choice(([], list(range(r.randint(0, layers))), r.sample(range(layers), layers // 2))),
    }  # fmt: skip


def latent(r: random.Random, keys: Keys) -> Keys:
    return {
        "num_key_value_heads": keys["num_attention_heads"], "q_lora_rank": r.choice((None, 3, 8)),
        "kv_lora_rank": r.randint(1, 9), "qk_nope_head_dim": r.randint(1, 9), "qk_rope_head_dim": 2 * r.randint(1, 4),
        "v_head_dim": r.randint(1, 9), "n_routed_experts": 2 * r.randint(1, 4), "num_experts_per_tok": 1,
        "moe_intermediate_size": r.randint(1, 40), "n_shared_experts": r.randint(0, 3), "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": r.randint(0, keys["num_hidden_layers"] + 1), "head_dim": 2,
        **flags(r, "attention_bias"),
    }  # fmt: skip


def gpt(r: random.Random, keys: Keys) -> Keys:
    return {
        "n_layer": keys["num_hidden_layers"], "n_embd": keys["hidden_size"], "n_head": keys["num_attention_heads"],
        "n_inner": r.choice((None, r.randint(1, 99))), "n_positions": r.randint(8, 99),
        "vocab_size": keys["vocab_size"], "tie_word_embeddings": keys["tie_word_embeddings"], "rotary_dim": 2,
    }  # fmt: skip


def own(keys: Keys, *names: str) -> Keys:
    """Those keys that a type has under the common name."""
    return {name: keys[name] for name in (*names, "vocab_size", "tie_word_embeddings", "pad_token_id")}


def falcon(r: random.Random, keys: Keys) -> Keys:
    return {
        **own(keys, "num_hidden_layers", "hidden_size", "num_attention_heads"),
        "num_kv_heads": r.choice((None, keys["num_key_value_heads"])), "ffn_hidden_size": r.choice((None, 33)),
        "num_ln_in_parallel_attn": r.choice((None, 1, 2)),
        **flags(r, "alibi", "bias", "new_decoder_architecture", "multi_query", "parallel_attn"),
    }  # fmt: skip


def opt(r: random.Random, keys: Keys) -> Keys:
    return {
        **own(keys, "num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings"),
        "ffn_dim": r.randint(1, 99), **flags(r, "enable_bias"), "do_layer_norm_before": r.random() < 0.8,
        "word_embed_proj_dim": r.choice((keys["hidden_size"], keys["hidden_size"], 7)),
        "layer_norm_elementwise_affine": r.random() < 0.8,
    }  # fmt: skip


def mixture(r: random.Random) -> Keys:
    return {"num_local_experts": r.randint(1, 6), "num_experts_per_tok": 1}


MAKERS: dict[str, Callable[[random.Random, Keys], Keys]] = {
    "llama": lambda r, k: {**k, **flags(r, "attention_bias", "mlp_bias")},
    "mistral": lambda r, k: {**k, "sliding_window": r.choice((None, 9))},
    "mixtral": lambda r, k: {**k, **mixture(r), "sliding_window": r.choice((None, 9))},
    "qwen2": lambda r, k: {**k, **qwen_windows(r, k), **windows(r, k["num_hidden_layers"])},
    "qwen3": lambda r, k: {**k, **qwen_windows(r, k), **flags(r, "attention_bias")},
    "qwen2_moe": lambda r, k: {**k, **qwen_windows(r, k), **qwen_experts(r, k), **flags(r, "qkv_bias")},
    "qwen3_moe": lambda r, k: {**k, **qwen_windows(r, k), **qwen_experts(r, k), **flags(r, "attention_bias")},
    "gemma": lambda r, k: {**k, **flags(r, "attention_bias")},
    "gemma2": lambda r, k: {**k, **flags(r, "attention_bias"), **windows(r, k["num_hidden_layers"])},
    "gemma3_text": lambda r, k: {
        **k, **flags(r, "attention_bias"), **windows(r, k["num_hidden_layers"]), "sliding_window_pattern": 3,
    },
    "phi3": lambda r, k: {**k, "sliding_window": r.choice((None, 9))},
    "gpt2": lambda r, k: {**gpt(r, k), "add_cross_attention": r.random() < 0.2},
    "gptj": gpt,
    "gpt_neox": lambda r, k: {
        **own(k, "num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size"),
        **flags(r, "attention_bias", "use_parallel_residual"),
    },
    "falcon": falcon,
    "bloom": lambda r, k: {
        **own(k, "hidden_size"), "n_layer": k["num_hidden_layers"], "n_head": k["num_attention_heads"],
    },
    "opt": opt,
    "deepseek_v2": lambda r, k: {**k, **latent(r, k), "mlp_bias": r.random() < 0.2},
    "deepseek_v3": lambda r, k: {**k, **latent(r, k), "num_nextn_predict_layers": r.choice((0, 1))},
    "gpt_oss": lambda r, k: {**k, **mixture(r), **flags(r, "attention_bias"), **windows(r, k["num_hidden_layers"])},
    "olmo2": lambda r, k: {**k, **flags(r, "attention_bias")},
}  # fmt: skip


def cases(model_type: str, rounds: int, seed: int = 0) -> Iterator[Keys]:
    """Configurations of a type."""
    r = random.Random(f"{model_type} {seed}")
    for _ in range(rounds):
        keys = {"model_type": model_type, **MAKERS[model_type](r, base(r))}
        yield some(keys, r) if r.random() < 0.5 else keys


def compare(keys: Keys, text: str, parameters: int) -> bool:
    """Whether planc counts the model of a text at all; if it does, it counts what transformers built."""
    analysis = read(text)
    total = counted(analysis)
    if isinstance(total, Unknown):
        assert errors(analysis), f"nothing is said, and nothing known: {text}"
        return False
    assert errors(analysis) == [], text
    assert total == parameters, text
    return True


def test_every_type_is_tried() -> None:
    assert {*MAKERS} == {*TYPES}


@needs("transformers")
@pytest.mark.parametrize("model_type", TYPES)
def test_the_real_model_has_as_many_parameters(model_type: str, tmp_path: Path) -> None:
    """From what a person wrote, with keys left out, and from what the real class saves."""
    known = 0
    for keys in cases(model_type, ROUNDS):
        parameters, config = built(keys)
        config.save_pretrained(tmp_path)
        saved = (tmp_path / "config.json").read_text(encoding="utf-8")
        known += compare(keys, json.dumps(keys), parameters)
        assert compare(keys, saved, parameters) == compare(keys, json.dumps(keys, indent=1), parameters)
    assert ROUNDS // 3 <= known


@needs("transformers")
@pytest.mark.parametrize("tied", [True, False])
def test_the_text_model_of_gemma_3(tied: bool, tmp_path: Path) -> None:
    """The whole model's flag decides about the head; the tower is left out, and that is said."""
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    from transformers import Gemma3Config

    (keys,) = cases("gemma3_text", 1)
    inner = {**keys, "tie_word_embeddings": tied}
    parameters, _ = built(inner)
    Gemma3Config(text_config={**keys, "tie_word_embeddings": not tied}, tie_word_embeddings=tied).save_pretrained(
        tmp_path
    )
    analysis = read((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert counted(analysis) == parameters
    assert [found.code for found in analysis.diagnostics if found.severity is not Severity.INFO] == ["PLN043"]


@needs("transformers")
@pytest.mark.parametrize("model_type", TYPES)
def test_what_is_taken_for_a_key_left_out_is_the_default_of_the_class(model_type: str) -> None:
    """The dimensions are given, everything else is left out."""
    kept = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size", "ffn_dim",
            "n_layer", "n_embd", "n_head", "model_type", "num_experts_per_tok")  # fmt: skip
    (keys,) = cases(model_type, 1, seed=1)
    fewest = {key: value for key, value in keys.items() if key in kept}
    vocabulary = {"vocab_size": 50_300, "hidden_size": 240, "n_embd": 240, "num_attention_heads": 80, "n_head": 80}
    fewest |= {key: value for key, value in vocabulary.items() if key in fewest}
    if model_type == "qwen2" or model_type == "qwen3":
        fewest["num_attention_heads"] = 32 * 2
        fewest["hidden_size"] = 640
    parameters, _ = built(fewest)
    assert compare(fewest, json.dumps(fewest), parameters)
