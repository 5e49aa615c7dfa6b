"""LLaMA-Factory's files: what they say, which are recognised, and that no value stops planc."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.native.kind import Recognised
from planc.plan.model import Unknown
from tests.native.judging import cases, found_in, judged, recognised, with_other_values

FOLDER = Path(__file__).parent
START = (
    "model_name_or_path: a\nfinetuning_type: lora\ntemplate: b\ndo_train: true\ndataset: c\noutput_dir: d\n"
    "per_device_train_batch_size: 2\n"
)


def said(text: str, start: str = START) -> dict[str, tuple[str, bool]]:
    """What a file says, by field: the text, and whether it was assumed."""
    ranges = judged("a.yaml", start + text).composed.ranges
    return {each.said.path: (each.said.text, each.said.assumed) for each in ranges}


@pytest.mark.parametrize("name", cases(FOLDER, "*.yaml"))
def test_every_case_is_recognised(name: str) -> None:
    found = recognised("anything.yml", (FOLDER / name).read_text(encoding="utf-8"))
    assert isinstance(found, Recognised)
    assert found.kind.name == "llama-factory"


def test_what_a_file_says() -> None:
    found = said("", (FOLDER / "ok_lora.yaml").read_text(encoding="utf-8"))
    assert found["batch.micro"] == ("1", False)
    assert found["batch.accumulation"] == ("8", False)
    assert found["batch.sequence_length"] == ("2048", False)
    assert found["optimizer.learning_rate"] == ("0.0001", False)
    assert found["precision"] == ("bf16", False)
    assert found["adapter"] == ("lora", False)
    assert found["adapter.rank"] == ("8", False)
    assert "adapter.modules" not in found
    assert found["recompute"] == ("full", True)


def test_what_a_file_leaves_out_is_assumed() -> None:
    found = said("")
    assert found["batch.sequence_length"] == ("2048", True)
    assert found["adapter.rank"] == ("8", True)
    assert found["batch.accumulation"] == ("1", True)


def test_recomputing_can_be_turned_off() -> None:
    assert said("disable_gradient_checkpointing: true\n")["recompute"] == ("none", False)


def test_four_bits_are_of_qlora() -> None:
    assert said("quantization_bit: 4\n")["adapter.base"] == ("nf4", False)
    assert "adapter.base" not in said("quantization_bit: 8\n")


def test_modules_by_commas() -> None:
    assert said("lora_target: q_proj, v_proj\n")["adapter.modules"] == ('["q_proj", "v_proj"]', False)


@pytest.mark.parametrize(
    ("text", "field"),
    [("use_muon: true\n", "optimizer"), ("fp8: true\nbf16: true\n", "precision"), ("", "shard.stage")],
)
def test_what_is_decided_elsewhere_is_unknown(text: str, field: str) -> None:
    assert isinstance(judged("a.yaml", START + text).plans[0].value(field), Unknown)


def test_prediction_says_nothing() -> None:
    assert said("", (FOLDER / "ok_prediction.yaml").read_text(encoding="utf-8")) == {}


def test_a_variable_is_a_gap() -> None:
    assert "batch.sequence_length" not in said("cutoff_len: ${oc.env:LENGTH}\n")


def test_no_value_stops_planc() -> None:
    for what, text in with_other_values("a.yaml", (FOLDER / "ok_lora.yaml").read_text(encoding="utf-8")):
        for each in found_in("a.yaml", text, "llama-factory"):
            assert each.message, what
