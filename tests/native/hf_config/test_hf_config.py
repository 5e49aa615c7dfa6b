"""The `config.json` of a model: what it says, and that what planc does not know is no fault of the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.composing import Parts
from planc.native.job import Beside, judge
from planc.native.kind import Recognised
from planc.plan.model import Unknown
from planc.readers.model_types import TYPES
from tests.compiling import load
from tests.native.judging import found_in, judged, plan_text, recognised, with_other_values

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 8192, "attention_bias": True,
}  # fmt: skip
GEMMA = {
    "model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
    "intermediate_size": 9216, "vocab_size": 256000,
}  # fmt: skip
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}


def text_of(config: dict[str, Any], **changes: Any) -> str:
    """A configuration as transformers writes it."""
    return json.dumps(config | changes, indent=2)


def said(config: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """What a file says, by field: the text, and whether it was assumed."""
    ranges = judged("config.json", text_of(config)).composed.ranges
    return {each.said.path: (each.said.text, each.said.assumed) for each in ranges}


@pytest.mark.parametrize("config", [LLAMA, GEMMA, GPT2])
def test_a_file_is_recognised_by_what_it_holds(config: dict[str, Any]) -> None:
    found = recognised("anything.json", text_of(config))
    assert isinstance(found, Recognised)
    assert found.kind.name == "hf-config"
    assert found_in("anything.json", text_of(config)) == ()


def test_what_the_file_says_is_the_model() -> None:
    assert plan_text("config.json", text_of(LLAMA)).splitlines() == [
        "model {", "layers = 32", "hidden = 4096", "heads = 32", "vocab = 128256", "kv_heads = 8", "ffn = 14336",
        "max_sequence_length = 8192", "bias = attention", 'family = "llama"', "}",
    ]  # fmt: skip


def test_what_the_file_leaves_out_is_assumed_as_transformers_takes_it() -> None:
    found = said(GEMMA)
    assert found["model.kv_heads"] == ("4", True)
    assert found["model.attention.window"] == ("4096", True)
    assert found["model.attention"] == ("sliding", False)
    assert found["model.hidden"] == ("2304", False)


def test_a_number_that_follows_from_another_is_worked_out() -> None:
    plan = judged("config.json", text_of(GPT2)).plans[0]
    assert plan.value("model.ffn") == 4 * 768


def test_a_rule_speaks_of_the_keys_of_the_file() -> None:
    (found,) = found_in("config.json", text_of(LLAMA, num_key_value_heads=7))
    assert (found.code, found.primary.span.text) == ("PLN111", '"num_key_value_heads": 7')
    assert found.help == ('use `"num_key_value_heads": 4` or `"num_key_value_heads": 8`',)


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "mamba", "vocab_size": 3},
        {key: value for key, value in LLAMA.items() if key != "hidden_size"},
        GPT2 | {"add_cross_attention": True},
    ],
    ids=["an unknown type", "a key for which transformers has a default", "parts that no field describes"],
)
def test_what_planc_does_not_know_is_no_fault_of_the_file(config: dict[str, Any]) -> None:
    outcome = judged("config.json", text_of(config))
    assert {(each.code, each.severity) for each in outcome.diagnostics} == {("PLN079", Severity.INFO)}
    assert isinstance(outcome.plans[0].value("model.hidden"), Unknown)


def test_a_value_of_the_wrong_kind_is_one() -> None:
    (found,) = found_in("config.json", text_of(LLAMA, hidden_size="4096"))
    assert (found.code, found.primary.span.text) == ("PLN040", '"4096"')


def test_a_key_that_stands_twice_is_told_once() -> None:
    text = text_of(LLAMA).replace('"hidden_size": 4096', '"hidden_size": 4096, "hidden_size": 2048')
    assert [each.code for each in found_in("config.json", text)] == ["PLN064"]


def test_the_run_is_left_to_the_other_files() -> None:
    outcome = judged("config.json", text_of(LLAMA))
    for field in ("parallel.tensor", "optimizer", "precision", "batch.micro", "shard.stage"):
        assert outcome.plans[0].value(field).missing, field


def test_together_with_a_deepspeed_file_the_memory_is_judged() -> None:
    settings = {
        "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "bf16": {"enabled": True},
        "zero_optimization": {"stage": 0}, "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
    }  # fmt: skip
    files = [recognised("config.json", text_of(LLAMA)), recognised("ds.json", json.dumps(settings))]
    told = ("batch.sequence_length=4096", "recompute=full", "pipeline=1f1b")
    beside = Beside(Parts(("planc/gpus",), gpu="a100-sxm-40gb"), 8, told)
    both = judge([file for file in files if isinstance(file, Recognised)], load, beside)
    assert [each.code for each in both.diagnostics if each.severity is Severity.ERROR] == ["PLN301"]


def test_every_default_of_transformers_is_clean() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    mapping = transformers.CONFIG_MAPPING
    for name in sorted(set(TYPES) & set(mapping)):
        assert found_in("config.json", mapping[name]().to_json_string(use_diff=False)) == (), name


@pytest.mark.parametrize("config", [LLAMA, GEMMA, GPT2])
def test_no_value_stops_planc(config: dict[str, Any]) -> None:
    for what, text in with_other_values("config.json", text_of(config)):
        for each in found_in("config.json", text):
            assert each.message, what
