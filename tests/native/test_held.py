"""What the Trainer holds a DeepSpeed file against, as it says itself, and what a job asks of the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.composing import Parts
from planc.native.job import Beside, judge, read
from planc.native.kind import Recognised
from tests.consumers.running import needs
from tests.native.judging import loud, recognised

ARGUMENTS: dict[str, Any] = {
    "output_dir": "out", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "max_steps": 260,
    "warmup_steps": 10,
}  # fmt: skip
SCHEDULE = {"total_num_steps": 260, "warmup_num_steps": 10, "warmup_max_lr": 5e-5}


def config(schedule: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A DeepSpeed configuration that agrees with the arguments, with other values."""
    return {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2,
        "gradient_clipping": 1.0,
        "scheduler": {"type": "WarmupDecayLR", "params": {**SCHEDULE, **(schedule or {})}},
        **changes,
    }


#: Changed arguments, the configuration, and where the two differ, as a place in it; None where they agree.
PAIRS: tuple[tuple[dict[str, Any], dict[str, Any], str | None], ...] = (
    ({}, config(), None),
    ({}, config({"total_num_steps": "auto", "warmup_num_steps": "auto", "warmup_max_lr": "auto"}), None),
    ({}, config({"total_num_steps": 100}), '"total_num_steps": 100'),
    ({}, config({"warmup_num_steps": 20}), '"warmup_num_steps": 20'),
    ({}, config({"warmup_max_lr": 1e-3}), '"warmup_max_lr": 0.001'),
    ({"warmup_steps": 0}, config({"warmup_num_steps": 1}), None),
    ({"warmup_steps": 0}, config(), '"warmup_num_steps": 10'),
    ({"learning_rate": 1e-3}, config({"warmup_max_lr": 1e-3}), None),
    ({"bf16": True}, config(bf16={"enabled": True}, fp16={"enabled": False}), None),
    ({"bf16": True}, config(bf16={"enabled": "auto"}), None),
    ({"bf16": True}, config(bf16={"enabled": False}), '"enabled": false'),
    ({}, config(bf16={"enabled": True}), '"enabled": true'),
    ({}, config(bf16={"enabled": False}, fp16={"enabled": False}), None),
    ({"bf16_full_eval": True}, config(bf16={"enabled": True}), None),
)


def together(arguments: dict[str, Any], other: dict[str, Any]) -> tuple[Diagnostic, ...]:
    """What is found in arguments beside a DeepSpeed configuration."""
    files = [recognised("args.json", json.dumps(arguments)), recognised("ds.json", json.dumps(other))]
    known = [file for file in files if isinstance(file, Recognised)]
    return loud(judge(known, lambda name, importer: "none").diagnostics)


@pytest.mark.parametrize(("changes", "other", "place"), PAIRS, ids=range(len(PAIRS)))
def test_what_differs_is_shown(changes: dict[str, Any], other: dict[str, Any], place: str | None) -> None:
    found = together({**ARGUMENTS, **changes}, other)
    assert [(each.code, each.primary.span.text) for each in found] == ([] if place is None else [("PLN071", place)])


@pytest.mark.parametrize(
    ("course", "kind", "expected"),
    [
        ("cosine", "WarmupDecayLR", ["`lr_scheduler_type` has no effect beside DeepSpeed's `scheduler`"]),
        ("linear", "WarmupCosineLR", ["`lr_scheduler_type` has no effect beside DeepSpeed's `scheduler`"]),
        ("linear", "WarmupDecayLR", []),
        ("cosine", "OneCycle", []),  # what courses it has in common with the language is not known
        ("cosine", None, []),
    ],
)
def test_a_course_that_deepspeed_takes_the_place_of_is_told(course: str, kind: str | None, expected: list[str]) -> None:
    other = config()
    other["scheduler"] = {} if kind is None else {"type": kind, "params": {}}
    found = together({**ARGUMENTS, "lr_scheduler_type": course}, other)
    assert [each.message for each in found if each.code == "PLN068"] == expected


@pytest.mark.parametrize(("kind", "expected"), [("WarmupLR", []), (None, ["linear"])])
def test_the_default_of_the_trainer_is_not_said_beside_deepspeeds_schedule(
    kind: str | None, expected: list[str]
) -> None:
    other = config() if kind is not None else config(scheduler={})
    files = [recognised("args.json", json.dumps(ARGUMENTS)), recognised("ds.json", json.dumps(other))]
    job = read([file for file in files if isinstance(file, Recognised)], lambda name, importer: "none")
    assert [each.text for each in job.said if each.path == "schedule"] == expected


@pytest.mark.consumer
@needs("transformers", "deepspeed")
@pytest.mark.parametrize(("changes", "other", "place"), PAIRS, ids=range(len(PAIRS)))
def test_the_trainer_says_the_same(
    changes: dict[str, Any], other: dict[str, Any], place: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import TrainingArguments
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    arguments = TrainingArguments(**{**ARGUMENTS, **changes}, use_cpu=True)
    reader: Any = HfTrainerDeepSpeedConfig
    held = reader(json.loads(json.dumps(other)))
    held.trainer_config_process(arguments)
    if place is None:
        held.trainer_config_finalize(arguments, None, ARGUMENTS["max_steps"])
        return
    with pytest.raises(ValueError, match="DeepSpeed config values"):
        held.trainer_config_finalize(arguments, None, ARGUMENTS["max_steps"])


@pytest.mark.parametrize(
    ("machines", "processes", "expected"),
    [
        (2, 16, []),
        (1, 4, []),  # half of one node may well be meant
        (2, 8, ["4 processes a machine for 8 cards"]),
        (1, 16, ["16 cards a node, where the cluster has 8"]),
        (4, 32, ["4 nodes, where the cluster has 2"]),
    ],
)
def test_a_job_is_held_against_the_cluster(machines: int, processes: int, expected: list[str]) -> None:
    text = f"distributed_type: MULTI_GPU\nnum_machines: {machines}\nnum_processes: {processes}\n"
    file = recognised("a.yaml", text)
    assert isinstance(file, Recognised)
    block = "gpu card { memory = 80 GiB }\ncluster lab { gpu = card  nodes = 2  gpus_per_node = 8 }\n"
    found = judge([file], lambda name, importer: "none", Beside(Parts((), block, "lab"))).diagnostics
    assert [each.message for each in loud(found)] == expected


@pytest.mark.parametrize(
    ("stage", "lines", "expected"),
    [
        (3, "pure_bf16: true\n", ["`pure_bf16` beside ZeRO stage 3"]),
        (3, "use_unsloth: true\n", ["`use_unsloth` beside ZeRO stage 3"]),
        (3, "pure_bf16: false\nuse_unsloth: ${UNSLOTH}\n", []),
        (2, "do_train: true\nbf16: true\n", ["`bf16` is off for DeepSpeed only"]),
        (2, "do_train: true\nbf16: true\npure_bf16: true\n", []),
        (2, "do_train: true\nbf16: ${BF16}\nfp16: true\n", []),
        (2, "do_train: false\nbf16: true\n", []),
        (2, "pure_bf16: true\nuse_unsloth: true\n", []),
    ],
)
def test_what_llama_factory_wants_whole_weights_for(stage: int, lines: str, expected: list[str]) -> None:
    start = "model_name_or_path: a\nfinetuning_type: lora\ntemplate: llama3\ndataset: b\ndeepspeed: ds.json\n"
    config = (
        f'{{"zero_optimization": {{"stage": {stage}}}, "train_micro_batch_size_per_gpu": "auto",'
        ' "gradient_clipping": "auto", "bf16": {"enabled": false}}'
    )
    files = [recognised("a.yaml", start + lines), recognised("ds.json", config)]
    known = [file for file in files if isinstance(file, Recognised)]
    found = judge(known, lambda name, importer: "none").diagnostics
    assert [each.message for each in loud(found)] == expected
