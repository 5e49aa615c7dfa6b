"""Models from a config.json: what is read, what is said where it cannot be, and what a plan may set itself.

`counted.json` holds small configurations with the parameters that transformers 5.23 counts for them;
`tests/consumers/test_huggingface.py` asks transformers itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planc.commands.files import Files
from planc.compiler import Analysis, analyse, plan_facts
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.plan.model import Plan, Unknown
from planc.readers.model_types import TYPES
from planc.source import Source

COUNTED = json.loads((Path(__file__).parent / "counted.json").read_text(encoding="utf-8"))
PLAN = """
gpu card {{ memory = 80 TiB  bf16 = true }}
plan run {{
  model = m  cluster {{ gpu = card  nodes = 1  gpus_per_node = 1 }}  batch {{ global = 1  micro = 1 }}  precision = bf16
}}
model m from hf("config.json") {body}"""
LLAMA = {
    "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
    "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 1000, "max_position_embeddings": 2048,
}  # fmt: skip
GPT2 = {"model_type": "gpt2", "n_layer": 4, "n_embd": 64, "n_head": 8, "n_positions": 32, "vocab_size": 1000}
QWEN = {**LLAMA, "model_type": "qwen2", "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 0}
MOE = {
    **LLAMA, "model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "num_hidden_layers": 6, "head_dim": 8,
}  # fmt: skip
GEMMA = {**LLAMA, "model_type": "gemma2", "head_dim": 8, "sliding_window": 16}


def analysis_of(config: Any, body: str = "") -> Analysis:
    """What planc says of a plan that reads its model from a config.json: keys, or the file's text."""
    text = config if isinstance(config, str) else json.dumps(config, indent=2)
    plan = Source("case.plan", PLAN.format(body=body))
    return analyse((plan,), lambda name, importer: Source(name, text))


def plan_of(config: Any, body: str = "") -> Plan:
    analysis = analysis_of(config, body)
    assert [found.message for found in analysis.diagnostics if found.severity is not Severity.INFO] == []
    return analysis.plans[0]


def faults_of(config: Any, body: str = "") -> list[Diagnostic]:
    """What is found about the file, the information left out."""
    found = analysis_of(config, body).diagnostics
    return [fault for fault in found if fault.code.startswith("PLN04") and fault.severity is not Severity.INFO]


def parameters(config: Any, body: str = "") -> Any:
    return plan_facts(analysis_of(config, body).plans[0])["model.total_parameters"]


@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case["config"]["model_type"])
def test_parameters_are_those_of_transformers(case: dict[str, Any]) -> None:
    assert parameters(case["config"]) == case["parameters"]


def test_every_type_is_counted() -> None:
    assert {case["config"]["model_type"] for case in COUNTED} == {*TYPES}


#: Files as they are published, shortened to the keys that count, with keys of other programs among them.
PUBLISHED: dict[str, dict[str, Any]] = {
    "llama-3-8b": {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "hidden_act": "silu",
        "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192, "model_type": "llama",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
        "rope_scaling": None, "rope_theta": 500000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        "vocab_size": 128256,
    },
    "mixtral-8x7b": {
        "architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mixtral", "num_attention_heads": 32, "num_experts_per_tok": 2,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8, "sliding_window": None,
        "vocab_size": 32000,
    },
    "deepseek-v3": {
        "architectures": ["DeepseekV3ForCausalLM"], "auto_map": {"AutoModel": "modeling_deepseek.DeepseekV3Model"},
        "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
        "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
        "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
        "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_method": "noaux_tc",
        "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
        "tie_word_embeddings": False, "v_head_dim": 128, "vocab_size": 129280,
    },
    "falcon-7b": {
        "alibi": False, "architectures": ["FalconForCausalLM"], "bias": False, "hidden_size": 4544,
        "model_type": "falcon", "multi_query": True, "new_decoder_architecture": False, "num_attention_heads": 71,
        "num_hidden_layers": 32, "parallel_attn": True, "vocab_size": 65024,
    },
    "falcon-40b": {
        "alibi": False, "architectures": ["FalconForCausalLM"], "bias": False, "hidden_size": 8192,
        "model_type": "falcon", "new_decoder_architecture": True, "num_attention_heads": 128, "num_hidden_layers": 60,
        "num_kv_heads": 8, "parallel_attn": True, "vocab_size": 65024,
    },
    "bloom-176b": {
        "architectures": ["BloomForCausalLM"], "attention_softmax_in_fp32": True, "model_type": "bloom",
        "n_embed": 14336, "n_layer": 70, "num_attention_heads": 112, "seq_length": 2048, "vocab_size": 250880,
    },
    "gpt2": {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
        "n_layer": 12, "n_positions": 1024, "task_specific_params": {"text-generation": {"max_length": 50}},
        "vocab_size": 50257,
    },
    "gpt-oss-120b": {
        "architectures": ["GptOssForCausalLM"], "attention_bias": True, "experts_per_token": 4, "head_dim": 64,
        "hidden_size": 2880, "initial_context_length": 4096, "intermediate_size": 2880,
        "layer_types": ["sliding_attention", "full_attention"] * 18, "max_position_embeddings": 131072,
        "model_type": "gpt_oss", "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 36,
        "num_key_value_heads": 8, "num_local_experts": 128, "sliding_window": 128, "vocab_size": 201088,
    },
    "gemma-3-1b": {
        "architectures": ["Gemma3ForCausalLM"], "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 1152, "intermediate_size": 6912, "max_position_embeddings": 32768, "model_type": "gemma3_text",
        "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "sliding_window": 512,
        "sliding_window_pattern": 6, "vocab_size": 262144,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_files_are_the_models_of_the_catalogue(name: str) -> None:
    """Every field that the catalogue sets comes out of the file as it stands there."""
    read = plan_of(PUBLISHED[name])
    text = PLAN.format(body="").replace('m from hf("config.json")', f"m from {name}")
    known = analyse((Source("own.plan", f'use "planc/models" {text}'),), Files().load).plans[0]
    model, expected = read["model"].value, known["model"].value
    for field in ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "tied", "gated", "bias", "norm",
                  "norms", "embedding_norm", "output_bias", "positions", "family"):  # fmt: skip
        assert model[field].value == expected[field].value, field
    for section in ("attention", "experts"):
        if expected[section].value is None:
            assert model[section].value is None
            continue
        assert model[section].value.word == expected[section].value.word
        for field, located in expected[section].value.fields.items():
            assert model[section].value[field].value == located.value, (section, field)
    assert parameters(PUBLISHED[name]) == plan_facts(known)["model.total_parameters"]


def test_a_value_stands_in_the_file() -> None:
    plan = plan_of(LLAMA)
    heads = plan["model.kv_heads"]
    assert (heads.value, heads.span.text, heads.span.source.name) == (2, "2", "config.json")
    assert heads.entry.text == '"num_key_value_heads": 2'
    assert plan.is_written("model.kv_heads")
    assert plan["model.family"].value == "llama"


def test_what_the_plan_writes_is_not_read() -> None:
    config = {**LLAMA, "hidden_size": "64", "vocab_size": None, "attention_bias": "no"}
    assert len(faults_of(config)) == 3
    plan = plan_of(config, "{ hidden = 128  vocab = 500  bias = qkv }")
    assert [plan.value(f"model.{name}") for name in ("hidden", "vocab", "bias", "head_dim")] == [128, 500, "qkv", 16]


def test_a_section_is_added_to() -> None:
    plan = plan_of(MOE, "{ experts { top_k = 4 } }")
    assert [plan.value(f"model.experts.{name}") for name in ("count", "top_k", "ffn")] == [8, 4, 32]
    assert plan.value("model.attention.qk_norm") == "head"


def test_the_width_that_follows_from_the_hidden_size_follows_the_plan() -> None:
    assert plan_of(GPT2).value("model.ffn") == 256
    assert plan_of(GPT2, "{ hidden = 128 }").value("model.ffn") == 512


@pytest.mark.parametrize(
    ("config", "attention", "every"),
    [
        (LLAMA, "full", None),
        ({**LLAMA, "model_type": "mistral", "sliding_window": 8}, "sliding", None),
        ({**LLAMA, "model_type": "mistral", "sliding_window": None}, "full", None),
        (QWEN, "sliding", None),
        ({**QWEN, "max_window_layers": 4}, "full", None),
        ({**QWEN, "use_sliding_window": False}, "full", None),
        (GEMMA, "sliding", 2),
        ({**GEMMA, "layer_types": ["sliding_attention"] * 4}, "sliding", None),
        ({**GEMMA, "layer_types": ["full_attention"] * 4}, "full", None),
        ({**GEMMA, "layer_types": ["sliding_attention"] * 2 + ["full_attention", "sliding_attention"]}, "sliding", 3),
        ({**LLAMA, "model_type": "gemma3_text", "sliding_window_pattern": 3}, "sliding", 3),
    ],
)
def test_layers_that_slide(config: dict[str, Any], attention: str, every: int | None) -> None:
    plan = plan_of(config)
    assert plan.value("model.attention") == attention
    assert plan.value("model.attention.every") == every


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({**QWEN, "max_window_layers": 2}, "2"),
        ({**GEMMA, "layer_types": ["sliding_attention", "full_attention"] + ["sliding_attention"] * 2}, "["),
        ({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, "["),
    ],
)
def test_what_is_left_out_is_said(config: dict[str, Any], place: str) -> None:
    (fault,) = faults_of(config)
    assert (fault.code, fault.severity) == ("PLN043", Severity.WARNING)
    assert fault.primary.span.text.startswith(place)
    assert parameters(config) == parameters(LLAMA | {"model_type": config["model_type"], "head_dim": 8})


@pytest.mark.parametrize(
    ("change", "layers"),
    [
        ({}, 6),
        ({"decoder_sparse_step": 2}, 3),
        ({"decoder_sparse_step": 4}, 1),
        ({"mlp_only_layers": [0, 1]}, 4),
        ({"mlp_only_layers": [0, 2], "decoder_sparse_step": 2}, 3),
        ({"mlp_only_layers": [7, 99]}, 6),
        ({"mlp_only_layers": [5, 4, 3, 2, 1, 0]}, 0),
        ({"num_experts": 0}, 0),
    ],
)
def test_layers_with_experts(change: dict[str, Any], layers: int) -> None:
    assert plan_facts(plan_of(MOE | change))["model.moe_layers"] == layers


UNCOUNTED = {
    "per_layer_config": {**LLAMA, "per_layer_config": {"0": {"intermediate_size": 8}}},
    "add_cross_attention": {**GPT2, "add_cross_attention": True},
    "mlp_only_layers": {**MOE, "mlp_only_layers": [3]},
    "layer_types": {**GEMMA, "layer_types": ["linear_attention"] * 4},
    "moe_layer_freq": {
        **LLAMA, "model_type": "deepseek_v2", "num_experts_per_tok": 2, "num_key_value_heads": 8, "moe_layer_freq": 2,
    },
    "mlp_bias": {
        **LLAMA, "model_type": "deepseek_v2", "num_experts_per_tok": 2, "num_key_value_heads": 8, "mlp_bias": True,
    },
    "do_layer_norm_before": {**LLAMA, "model_type": "opt", "ffn_dim": 96, "do_layer_norm_before": False},
    "word_embed_proj_dim": {**LLAMA, "model_type": "opt", "ffn_dim": 96, "word_embed_proj_dim": 32},
    "layer_norm_elementwise_affine": {
        **LLAMA, "model_type": "opt", "ffn_dim": 96, "layer_norm_elementwise_affine": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("key", UNCOUNTED)
def test_what_no_field_describes_is_never_a_wrong_number(key: str) -> None:
    (fault,) = faults_of(UNCOUNTED[key])
    assert (fault.code, fault.severity) == ("PLN042", Severity.ERROR)
    assert fault.message.startswith(f"`{key}` asks for")
    assert fault.primary.span.source.name == "config.json"
    assert isinstance(parameters(UNCOUNTED[key]), Unknown)


def test_a_field_may_be_written_for_what_none_describes() -> None:
    """The experts that the plan sets are taken, and their layers are not read."""
    config = UNCOUNTED["mlp_only_layers"]
    experts = "{ experts = none }"
    assert faults_of(config, experts) == []
    assert parameters(config, experts) < parameters(MOE)


@pytest.mark.parametrize("key", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize("null", [False, True])
def test_a_dimension_that_is_missing(key: str, null: bool) -> None:
    config = {**LLAMA, key: None}
    if not null:
        del config[key]
    analysis = analysis_of(config)
    (fault,) = (found for found in analysis.diagnostics if found.severity is Severity.ERROR)
    assert (fault.code, fault.message) == ("PLN040", f"the file lacks `{key}`")
    assert [label.span.text for label in fault.related] == ['"config.json"']


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('"64"', "`hidden_size` is a text"),
        ("64.0", "`hidden_size` is `64.0`"),
        ("1e3", "`hidden_size` is `1e3`"),
        ("-64", "`hidden_size` is `-64`"),
        ("0", "`hidden_size` is `0`"),
        ("true", "`hidden_size` is `true`"),
        ("NaN", "`hidden_size` is `NaN`"),
        ("-Infinity", "`hidden_size` is `-Infinity`"),
        ("[64]", "`hidden_size` is a list"),
        ('{"text": 64}', "`hidden_size` is an object"),
        ("9" * 5000, "`hidden_size` has 5,000 digits"),
    ],
)
def test_a_value_of_the_wrong_kind(value: str, message: str) -> None:
    text = json.dumps(LLAMA).replace('"hidden_size": 64', f'"hidden_size": {value}')
    analysis = analysis_of(text)
    (fault,) = (found for found in analysis.diagnostics if found.severity is Severity.ERROR)
    assert (fault.code, fault.message) == ("PLN040", message)
    assert fault.primary.span.text == value
    assert isinstance(parameters(text), Unknown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tie_word_embeddings": 1}, "`tie_word_embeddings` is `1`"),
        ({"mlp_bias": "yes"}, "`mlp_bias` is a text"),
        ({"attention_dropout": 1.5}, "`attention_dropout` is `1.5`"),
        ({"attention_dropout": "0.1"}, "`attention_dropout` is a text"),
        ({"architectures": "LlamaForCausalLM"}, "`architectures` is a text"),
    ],
)
def test_other_values_of_the_wrong_kind(change: dict[str, Any], message: str) -> None:
    (fault,) = faults_of(LLAMA | change)
    assert fault.message == message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mlp_only_layers": ["0"]}, "`mlp_only_layers` is a list"),
        ({"mlp_only_layers": 3}, "`mlp_only_layers` is `3`"),
        ({"decoder_sparse_step": 0}, "`decoder_sparse_step` is `0`"),
        ({"num_local_experts": 9}, "`num_local_experts` and `num_experts` differ"),
    ],
)
def test_values_of_experts_of_the_wrong_kind(change: dict[str, Any], message: str) -> None:
    (fault,) = faults_of(MOE | change)
    assert fault.message == message


def test_a_list_of_layers_of_another_length() -> None:
    (fault,) = faults_of({**GEMMA, "layer_types": ["full_attention"] * 3})
    assert fault.message == "`layer_types` lists 3 layers"


def test_a_key_that_stands_twice() -> None:
    text = json.dumps(LLAMA, indent=2).replace('"hidden_size": 64', '"hidden_size": 64,\n  "hidden_size": 128')
    (fault,) = faults_of(text)
    assert fault.message == "`hidden_size` stands twice in the file"
    assert (fault.primary.span.line, fault.related[0].span.line) == (5, 4)
    unread = json.dumps(LLAMA).replace("{", '{"use_cache": true, "use_cache": false, ', 1)
    assert faults_of(unread) == []


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ('{\n  "model_type": "llama",\n  "hidden_size": 64,\n}', (3, 20), "the file cannot be read as JSON"),
        ("[]", (1, 1), "the file holds no JSON object"),
        ('{"hidden_size": 64}', (1, 1), "the file names no `model_type`"),
        ('{"model_type": 3}', (1, 16), "`model_type` is no text"),
        ('{"model_type": "gemma3", "text_config": 3}', (1, 41), "`text_config` is no object"),
    ],
)
def test_files_that_are_no_configuration(text: str, position: tuple[int, int], message: str) -> None:
    (fault,) = faults_of(text)
    assert (fault.code, fault.message) == ("PLN040", message)
    assert (fault.primary.span.line, fault.primary.span.column) == position


def test_an_unknown_type_says_what_to_write() -> None:
    (fault,) = faults_of({**LLAMA, "model_type": "mamba"})
    assert (fault.code, fault.message) == ("PLN041", "planc does not know the model type `mamba`")
    advice = "layers = 4  hidden = 64  heads = 8  ffn = 96  vocab = 1000  kv_heads = 2"
    assert fault.help[0] == f"write the fields out: `model name {{ {advice} }}`"
    assert "`norm`" in fault.help[1]
    assert plan_of(LLAMA) and plan_by_hand(advice)


def plan_by_hand(fields: str) -> bool:
    source = Source("case.plan", f"model name {{ {fields} }}")
    return not analyse((source,), lambda name, importer: "nothing to read").diagnostics


@pytest.mark.parametrize("model_type", ["llama2", "Qwen2", "mixtrall", "\u00fc`\n"])
def test_a_type_that_is_mistyped(model_type: str) -> None:
    (fault,) = faults_of({**LLAMA, "model_type": model_type})
    assert fault.message.isascii() and "\n" not in fault.message
    assert ("did you mean" in fault.help[0]) == model_type.isascii()


def test_a_model_with_parts() -> None:
    inner = {**LLAMA, "head_dim": 8}
    (fault,) = faults_of({"model_type": "internvl", "text_config": inner})
    assert fault.help[0] == "save its `text_config`, a `llama`, as a file of its own, and read that"
    assert "hidden = 64" in fault.help[1]


def test_what_is_taken_as_transformers_takes_it_can_be_seen() -> None:
    found = analysis_of({**LLAMA, "model_type": "qwen3"}).diagnostics
    (fault,) = (fault for fault in found if fault.code == "PLN044")
    assert fault.severity is Severity.INFO
    assert fault.notes == ("`head_dim` is 128",)
    assert plan_of({**LLAMA, "model_type": "qwen3"}).value("model.head_dim") == 128


def test_dropout_is_the_larger_one() -> None:
    config = {**GPT2, "n_inner": 256, "resid_pdrop": 0.2, "embd_pdrop": 0.0, "attn_pdrop": 1e-1}
    plan = plan_of(config)
    assert float(plan.value("model.dropout")) == 0.2
    assert plan["model.dropout"].span.text == "0.2"


def test_multi_token_prediction_is_not_built_and_that_can_be_seen() -> None:
    config = {**LLAMA, "model_type": "deepseek_v3", "num_key_value_heads": 8, "num_nextn_predict_layers": 1}
    analysis = analysis_of(config)
    assert plan_facts(analysis.plans[0])["model.mtp_layers"] == 0
    (fault,) = (fault for fault in analysis.diagnostics if fault.code == "PLN044")
    assert any(note.startswith("`mtp_layers` is 0") for note in fault.notes)


def test_no_edit_of_a_file_stops_planc() -> None:
    """Every character away, and every value another one: an answer, and something said where nothing is known."""
    text = json.dumps(MOE | {"mlp_only_layers": [0, 1], "attention_dropout": 0.1, "architectures": ["QwenForCausalLM"]})
    values = [json.dumps(value) for value in (None, True, -1, 2.5, "x", [], {}, 10**40, 10**12)]
    edits = [text[:at] + text[at + 1 :] for at in range(len(text))]
    for key, value in json.loads(text).items():
        edits += [text.replace(f'"{key}": {json.dumps(value)}', f'"{key}": {other}') for other in values]
    for edit in edits:
        analysis = analysis_of(edit)
        if isinstance(plan_facts(analysis.plans[0])["model.total_parameters"], Unknown):
            assert any(found.severity is Severity.ERROR for found in analysis.diagnostics), edit


@pytest.mark.parametrize(
    ("written", "code", "message"),
    [
        ('model m from hf("gone.json")', "PLN022", "cannot read `gone.json`"),
        ('model m from hf("../config.json")', "PLN022", "cannot read `../config.json`"),
        ('model m from hf("/etc/hostname")', "PLN022", "cannot read `/etc/hostname`"),
        ('model m from hf("folder")', "PLN022", "cannot read `folder`"),
        ('model m from hf("planc/models")', "PLN022", "cannot read `planc/models`"),
        ('model m from hf("large.json")', "PLN022", "cannot read `large.json`"),
        ('model m from hf("binary.json")', "PLN022", "cannot read `binary.json`"),
        ('model m from hf("a\\qb")', "PLN033", "unknown escape `\\q`"),
        ("model m from hf()", "PLN029", "`hf` takes the path of one file, in quotes"),
        ("model m from hf(config)", "PLN029", "`hf` takes the path of one file, in quotes"),
        ('model m from hf("a", "b")', "PLN029", "`hf` takes the path of one file, in quotes"),
        ('model m from hug("config.json")', "PLN029", "no model is derived from `hug(...)`"),
        ('cluster m from hf("config.json")', "PLN029", "a cluster is derived from a name only"),
    ],
)
def test_what_cannot_be_read(written: str, code: str, message: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "folder").mkdir(parents=True)
    (project / "planc.toml").touch()
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (project / "large.json").write_text(" " * (1 << 20) + "{}")
    (project / "binary.json").write_bytes(b"\xff\x00")
    (project / "a.plan").write_text(written)
    files = Files()
    source = files.read(str(project / "a.plan"))
    assert isinstance(source, Source)
    (fault,) = analyse((source,), files.load).diagnostics
    assert (fault.code, fault.message) == (code, message)


def test_a_file_is_found_beside_the_plan_that_names_it(tmp_path: Path) -> None:
    """Also through a file that is used, and with another name for it."""
    (tmp_path / "planc.toml").touch()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "llama.json").write_text(json.dumps(LLAMA))
    (tmp_path / "models" / "all.plan").write_text(
        'model small from hf("llama.json")  model less from small { layers = 2 }'
    )
    (tmp_path / "run.plan").write_text(
        'use "models/all.plan"\n' + PLAN.format(body="").replace('m from hf("config.json")', "m from less")
    )
    files = Files()
    source = files.read(str(tmp_path / "run.plan"))
    assert isinstance(source, Source)
    analysis = analyse((source,), files.load)
    assert analysis.diagnostics == ()
    plan = analysis.plans[0]
    assert [plan.value(f"model.{name}") for name in ("layers", "hidden")] == [2, 64]
