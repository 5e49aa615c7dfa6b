"""training_args.json, read by the Hugging Face Trainer's own argument class, and used by a Trainer."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from planc.targets._launch import written
from tests.compiling import ROOT, facts_of, file_of, plan_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PLANS, needs, ran
from tests.targets.truth.transformers import backend_in

pytestmark = [pytest.mark.consumer, needs("transformers", "accelerate")]

SCHEMA = json.loads((ROOT / "schemas" / "training_args.schema.json").read_text())
CASES = plans_that_write("training_args.json")


def cases_of(keep: Callable[[dict[str, Any]], bool]) -> list[Any]:
    """The cases whose file is to be kept."""
    return [case for case in CASES if keep(json.loads(file_of(case.values[0], "training_args.json")))]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment that the Trainer may fill, on a machine without cards."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def understood(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The arguments as the Trainer reads them, on a world of the plan's size; the CPU stands for the cards."""
    from transformers import HfArgumentParser, TrainingArguments

    world = facts_of(plan)["world.size"]
    monkeypatch.setattr(TrainingArguments, "world_size", property(lambda self: world))
    path = tmp_path / "training_args.json"
    path.write_text(json.dumps(json.loads(file_of(plan, "training_args.json")) | {"use_cpu": True}))
    (arguments,) = HfArgumentParser([TrainingArguments]).parse_json_file(str(path))
    return arguments


@pytest.mark.parametrize("plan", CASES)
def test_the_trainer_reads_what_the_plan_says(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend_in(json.loads(file_of(plan, "training_args.json"))) == "deepspeed":
        pytest.importorskip("deepspeed", reason="DeepSpeed is not installed")
    arguments = understood(plan, tmp_path, monkeypatch)
    assert arguments.per_device_train_batch_size == plan.value("batch.micro")
    assert arguments.gradient_accumulation_steps == plan.value("batch.accumulation")
    assert arguments.max_grad_norm == float(written(plan, "optimizer.clip") or 0)
    assert arguments.mixed_precision == ("no" if plan.value("precision") == "fp32" else plan.value("precision"))
    assert arguments.ddp_timeout_delta.total_seconds() == plan.value("launch.timeout")
    assert arguments.torch_compile == plan.value("train.compile")
    assert arguments.full_determinism == plan.value("train.deterministic")
    for field, path in (
        ("learning_rate", "optimizer.learning_rate"), ("weight_decay", "optimizer.weight_decay"),
        ("adam_epsilon", "optimizer.epsilon"), ("seed", "train.seed"), ("save_total_limit", "checkpoint.keep"),
        ("dataloader_num_workers", "dataset.workers"), ("dataloader_drop_last", "dataset.drop_last"),
        ("output_dir", "checkpoint.directory"), ("logging_steps", "log.every"),
    ):  # fmt: skip
        value = written(plan, path)
        if value is not None:
            expected = value if isinstance(value, str) else float(value)
            assert getattr(arguments, field) == expected, field
    resumed, step = written(plan, "resume.directory"), written(plan, "resume.step")
    assert arguments.resume_from_checkpoint == (resumed if step is None else f"{resumed}/checkpoint-{step}")
    recomputes = plan.value("recompute") == "full"
    if arguments.fsdp:
        from accelerate import FullyShardedDataParallelPlugin

        plugin = FullyShardedDataParallelPlugin(**arguments.fsdp_plugin_args)
        assert plugin.fsdp_version == 2
        assert plugin.reshard_after_forward == (plan.value("shard.stage") == 3)
        assert plugin.activation_checkpointing == recomputes
        offloaded = plan.value("offload.weights") == "cpu"
        assert type(plugin.cpu_offload).__name__ == ("CPUOffloadPolicy" if offloaded else "OffloadPolicy")
        assert plugin.transformer_cls_names_to_wrap == [LAYER_CLASSES[plan.value("model.family")]]
    else:
        assert arguments.activation_checkpointing == recomputes


@pytest.mark.parametrize("plan", cases_of(lambda data: "lr_scheduler_type" in data and backend_in(data) != "deepspeed"))
def test_schedules_take_their_arguments(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Trainer's schedule of a run of 1000 steps rises to the peak and ends where the plan says."""
    import torch
    from transformers import get_scheduler

    arguments = understood(plan, tmp_path, monkeypatch)
    steps = arguments.max_steps if 0 < arguments.max_steps else 1000
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=arguments.learning_rate)
    warmup = arguments.get_warmup_steps(steps)
    schedule = get_scheduler(
        arguments.lr_scheduler_type, optimizer, warmup, steps, scheduler_specific_kwargs=arguments.lr_scheduler_kwargs
    )
    rates = []
    for _ in range(steps + 1):
        rates.append(schedule.get_last_lr()[0])
        schedule.step()
    assert rates[warmup] == max(rates) == pytest.approx(arguments.learning_rate)
    assert (0 < warmup < steps) == (written(plan, "schedule.warmup") is not None)
    if plan.value("schedule") in ("linear", "cosine"):
        assert rates[-1] == pytest.approx(float(written(plan, "schedule.minimum") or 0))


@needs("deepspeed")
@pytest.mark.parametrize("plan", cases_of(lambda data: backend_in(data) == "deepspeed"))
def test_deepspeeds_file_agrees_with_the_arguments(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Trainer compares both, stops where they differ, and fills in what is `auto`: nothing is left of that."""
    arguments = understood(plan, tmp_path, monkeypatch)
    assert arguments.deepspeed == json.loads(file_of(plan, "ds_config.json"))
    trainer = arguments.hf_deepspeed_config
    steps = arguments.max_steps if 0 < arguments.max_steps else 1000
    trainer.trainer_config_finalize(arguments, SimpleNamespace(config=SimpleNamespace(hidden_size=64)), steps)
    config = trainer.config
    assert '"auto"' not in json.dumps(config)
    batch = config["train_batch_size"] // config.get("tensor_parallel", {}).get("autotp_size", 1)
    assert batch == plan.value("batch.global")
    assert config["gradient_clipping"] == float(written(plan, "optimizer.clip") or 0)
    assert config["zero_optimization"]["stage"] == plan.value("shard.stage")


def test_the_schema_has_the_fields_of_the_argument_class() -> None:
    from transformers import TrainingArguments

    assert set(SCHEMA["properties"]) == {field.name for field in dataclasses.fields(TrainingArguments) if field.init}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trainer_fsdp2", "trainer_ddp"])
def test_a_trainer_trains_by_the_file(name: str, tmp_path: Path) -> None:
    plan = plan_of(PLANS / "trainer.plan", name)
    folder = written_out(plan, tmp_path)
    for rank in ran(folder / "torchrun.sh", ACCELERATE_USE_CPU="1"):
        assert rank | {"rank": 0} == {
            "rank": 0, "world": 2, "sharded": name == "trainer_fsdp2", "steps": 3, "batch": 16, "micro": 4,
            "rates": [0.0, 0.005, 0.01], "optimizer": "AdamW", "betas": [0.9, 0.95], "decay": 0.1, "finite": True,
        }  # fmt: skip
