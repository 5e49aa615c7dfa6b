"""Classes of layers in the arguments of the Trainer, also in files that hand theirs to it, against a job's model."""

from __future__ import annotations

import json

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.job import judge
from planc.native.kind import Recognised
from tests.native.judging import recognised

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
    "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 32000,
}  # fmt: skip
TRAINER = "output_dir: out\nper_device_train_batch_size: 1\nfsdp: full_shard auto_wrap\nfsdp_config:\n"
AXOLOTL = "base_model: m\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 1\nfsdp_version: 2\nfsdp_config:\n"


def told(name: str, text: str, model: dict[str, object] | None) -> list[tuple[str, str]]:
    """Places and labels of what is wrong, with a model beside the file or none."""
    texts = {name: text} | ({"config.json": json.dumps(model)} if model is not None else {})
    files = [recognised(each, held) for each, held in texts.items()]
    found = judge([file for file in files if isinstance(file, Recognised)], lambda path, importer: "none").diagnostics
    wrong = [each for each in found if each.code == "PLN075" and each.severity is Severity.ERROR]
    assert all(label.span.source.name == "config.json" for each in wrong for label in each.related)
    return [(each.primary.span.text, each.primary.text) for each in wrong]


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("GPT2Block", ["GPT2Block"]), ("[LlamaDecoderLayer, MistralDecoderLayer]", ["MistralDecoderLayer"]),
        ("LlamaDecodeLayer", ["LlamaDecodeLayer"]), ("LlamaDecoderLayer", []), ("MyOwnBlock", []), ("3", []),
    ],
)  # fmt: skip
def test_a_class_of_another_model_is_told(written: str, wrong: list[str]) -> None:
    expected = [(name, "its layer is LlamaDecoderLayer") for name in wrong]
    assert told("args.yaml", f"{TRAINER}  transformer_layer_cls_to_wrap: {written}\n", LLAMA) == expected


def test_a_class_for_no_known_model_is_anybodys() -> None:
    text = f"{TRAINER}  transformer_layer_cls_to_wrap: GPT2Block\n"
    assert told("args.yaml", text, None) == []
    assert told("args.yaml", text, {**LLAMA, "model_type": "of_my_own"}) == []


def test_axolotl_hands_its_class_to_the_trainer() -> None:
    text = f"{AXOLOTL}  transformer_layer_cls_to_wrap: GPT2Block\n"
    assert told("axolotl.yml", text, LLAMA) == [("GPT2Block", "its layer is LlamaDecoderLayer")]
