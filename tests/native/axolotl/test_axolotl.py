"""axolotl's files: what they say, which are recognised, and that no value stops planc."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.native.kind import Options, Recognised
from planc.plan.model import Unknown
from tests.native.judging import cases, found_in, judged, plan_text, recognised, with_other_values

FOLDER = Path(__file__).parent
START = "base_model: a\ndatasets:\n  - path: b\nlearning_rate: 1e-5\n"


def said(text: str) -> dict[str, tuple[str, bool]]:
    """What a file says, by field: the text, and whether it was assumed."""
    ranges = judged("a.yaml", START + text).composed.ranges
    return {each.said.path: (each.said.text, each.said.assumed) for each in ranges}


@pytest.mark.parametrize("name", cases(FOLDER, "*.yaml"))
def test_every_case_is_recognised(name: str) -> None:
    found = recognised("anything.yml", (FOLDER / name).read_text(encoding="utf-8"))
    assert isinstance(found, Recognised)
    assert found.kind.name == "axolotl"


def test_what_a_file_says() -> None:
    text = (FOLDER / "ok_qlora.yaml").read_text(encoding="utf-8")
    assert plan_text("a.yaml", text).splitlines() == [
        "batch {", "micro = 2", "accumulation = 4", "sequence_length = 4096", "}",
        "optimizer = adamw-8bit {", "learning_rate = 0.0002", "weight_decay = 0", "}",
        "schedule = cosine {", "warmup = 0.1", "}", "train {", "duration = 3 epochs", "}", "recompute = full",
        "adapter = lora {", "rank = 32", "alpha = 16", "dropout = 0.05", "base = nf4", "}",
        "checkpoint {", 'directory = "./out"', "}", "dataset {", "packed = true", "}",
    ]  # fmt: skip


def test_what_a_file_leaves_out_is_assumed() -> None:
    found = said("micro_batch_size: 4\n")
    assert found["batch.micro"] == ("4", False)
    assert found["batch.accumulation"] == ("1", True)
    assert found["batch.sequence_length"] == ("512", True)
    assert found["optimizer"] == ("adamw", True)
    assert found["schedule"] == ("cosine", True)
    assert found["recompute"] == ("none", True)


def test_a_batch_of_several_passes_is_accumulated() -> None:
    assert said("micro_batch_size: 4\nbatch_size: 32\n")["batch.accumulation"] == ("8", False)
    assert "batch.accumulation" not in said("micro_batch_size: 4\nbatch_size: 30\n")


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("fsdp_config:\n  reshard_after_forward: true\n", "3"),
        ("fsdp_config:\n  reshard_after_forward: false\n", "2"),
        ("fsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n", "2"),
        ("fsdp: [full_shard, auto_wrap]\n", "3"),
    ],
)
def test_the_stage_that_fsdp_comes_to(text: str, stage: str) -> None:
    assert said(text)["shard.stage"] == (stage, False)


def test_offloaded_parameters_take_their_optimizer_along() -> None:
    found = said("fsdp_config:\n  reshard_after_forward: true\n  offload_params: true\n")
    assert (found["offload.weights"], found["offload.optimizer"]) == (("cpu", False), ("cpu", False))


@pytest.mark.parametrize("field", ["shard.stage", "precision", "launch.timeout", "schedule.warmup"])
def test_what_is_decided_elsewhere_is_unknown(field: str) -> None:
    assert isinstance(judged("a.yaml", START).plans[0].value(field), Unknown)


def test_another_optimizer_is_unknown() -> None:
    assert isinstance(judged("a.yaml", f"{START}optimizer: came_pytorch\n").plans[0].value("optimizer"), Unknown)


def test_the_deepspeed_file_is_followed() -> None:
    found = recognised("a.yaml", f"{START}deepspeed: zero3.json\n")
    assert isinstance(found, Recognised)
    (reference,) = found.kind.read(found.tree, Options()).references
    assert (reference.path, reference.kind, reference.span.text) == ("zero3.json", "deepspeed", "zero3.json")


def test_a_rule_speaks_of_the_keys_of_the_file() -> None:
    found = [each for each in found_in("a.yaml", f"{START}bf16: true\nmicro_batch_size: 0\n") if each.code != "PLN063"]
    assert all("micro_batch_size" in each.primary.span.text for each in found)


@pytest.mark.parametrize("name", ["ok_qlora.yaml", "ok_fsdp2.yaml"])
def test_no_value_stops_planc(name: str) -> None:
    for what, text in with_other_values("a.yaml", (FOLDER / name).read_text(encoding="utf-8")):
        for each in found_in("a.yaml", text, "axolotl"):
            assert each.message, what
