"""ds_config.json, read by DeepSpeed's own configuration class as if the plan's whole world were there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from planc.plan.changing import with_values
from planc.plan.model import Plan
from tests.compiling import ROOT, facts_of, file_of
from tests.consumers.deepspeed_world import World, parameters_of
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import needs

pytestmark = [pytest.mark.consumer, needs("deepspeed")]

SCHEMA = json.loads((ROOT / "schemas" / "ds_config.schema.json").read_text())


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepSpeed as on a machine without cards, and quiet."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def understood(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plan's file as DeepSpeed reads it in `initialize`, on a world of the plan's size."""
    import deepspeed.comm.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    world = facts_of(plan)["world.size"]
    monkeypatch.setattr(deepspeed.comm.comm, "cdb", World(world))
    config = json.loads(file_of(plan, "ds_config.json"))
    if "auto" in (config.get("train_batch_size"), config["gradient_clipping"]):
        config = filled_in(plan, config, world)
    if 1 < plan.value("parallel.pipeline"):
        data = plan.value("parallel.data")
        return DeepSpeedConfig(config, mpu=SimpleNamespace(get_data_parallel_world_size=lambda: data))
    if "sequence_parallel_size" in config:
        sizes = {"data_parallel": config["data_parallel_size"], "sequence_parallel": config["sequence_parallel_size"]}
        assert sizes["data_parallel"] * sizes["sequence_parallel"] == world
        return DeepSpeedConfig(config, mesh_device=SimpleNamespace(get_group=lambda mesh_dim: sizes[mesh_dim]))
    return DeepSpeedConfig(config)


def filled_in(plan: Plan, config: dict[str, Any], world: int) -> dict[str, Any]:
    """The configuration after the Hugging Face Trainer has resolved it, with arguments that say what the plan says."""
    pytest.importorskip("transformers", reason="transformers resolves what is `auto`, and is not installed")
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    optimizer = config.get("optimizer", {}).get("params", {})
    arguments = SimpleNamespace(
        world_size=world,
        per_device_train_batch_size=plan.value("batch.micro"),
        gradient_accumulation_steps=plan.value("batch.accumulation"),
        max_grad_norm=1.0,
        learning_rate=optimizer.get("lr", 5e-5),
        weight_decay=optimizer.get("weight_decay", 0.0),
        adam_beta1=0.9, adam_beta2=0.999, adam_epsilon=1e-8,
        bf16=plan.value("precision") == "bf16", bf16_full_eval=False,
        fp16=plan.value("precision") == "fp16", fp16_full_eval=False,
        save_on_each_node=False,
        get_warmup_steps=lambda steps: config.get("scheduler", {}).get("params", {}).get("warmup_num_steps", 0),
    )  # fmt: skip
    trainer = HfTrainerDeepSpeedConfig(config)
    trainer.trainer_config_process(arguments)
    model = SimpleNamespace(config=SimpleNamespace(hidden_size=plan.value("model.hidden")))
    trainer.trainer_config_finalize(arguments, model, 1000)
    resolved: dict[str, Any] = trainer.config
    assert '"auto"' not in json.dumps(resolved)
    return resolved


@pytest.mark.parametrize("plan", plans_that_write("ds_config.json"))
def test_deepspeed_reads_what_the_plan_says(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    config = understood(plan, monkeypatch)
    assert config.train_micro_batch_size_per_gpu == plan.value("batch.micro")
    assert config.gradient_accumulation_steps == plan.value("batch.accumulation")
    tensor_in_file = 1 < config.tensor_parallel_config.autotp_size
    if not tensor_in_file:  # else DeepSpeed counts the tensor ranks as replicas in this number, and in no other
        assert config.train_batch_size == plan.value("batch.global")
    assert config.tensor_parallel_config.autotp_size == (plan.value("parallel.tensor") if tensor_in_file else 0)
    assert config.zero_optimization_stage == plan.value("shard.stage")
    assert config.bfloat16_config.enabled == (plan.value("precision") == "bf16")
    assert config.float16_config.enabled == (plan.value("precision") == "fp16")
    assert buckets(config.zero_config) == sizes_of_the_trainer(plan)
    assert config.zero_config.zero_hpz_partition_size == (plan.value("shard.secondary_size") or 1)
    for name, path in (("offload_optimizer", "offload.optimizer"), ("offload_param", "offload.weights")):
        section = getattr(config.zero_config, name)
        assert (section.device if section else None) == plan.value(path)
    gradients = plan.value("precision.gradients")
    assert (config.grad_accum_dtype or plan.value("precision")) == gradients
    clip = plan.value("optimizer.clip")
    assert config.gradient_clipping == (float(clip) if clip is not None else plan_without_clipping(plan))


def buckets(config: Any) -> tuple[int, int, int]:
    """Elements that DeepSpeed reduces at once, fetches ahead and leaves whole at most."""
    return config.reduce_bucket_size, config.prefetch_bucket_size, config.param_persistence_threshold


def sizes_of_the_trainer(plan: Plan) -> tuple[int, int, int]:
    """The same as the Trainer fills them in for `auto`, DeepSpeed's defaults at other stages; what is written wins."""
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    found = DeepSpeedZeroConfig(stage=plan.value("shard.stage"))
    hidden, stage = plan.value("model.hidden"), plan.value("shard.stage")
    if 1 <= stage:
        found.reduce_bucket_size = plan.value("shard.bucket") or hidden * hidden
    if stage == 3:
        found.prefetch_bucket_size = int(0.9 * hidden * hidden)
        found.param_persistence_threshold = 10 * hidden
    return buckets(found)


@pytest.mark.parametrize("hidden", [64, 1000, 4096, 5120, 16384])
def test_buckets_are_those_that_auto_stands_for(hidden: int) -> None:
    """The same plan with and without `auto`: what the Trainer would work out stands in the file already."""
    pytest.importorskip("transformers", reason="transformers resolves what is `auto`, and is not installed")
    plans = (parameter.values[0] for parameter in plans_that_write("ds_config.json"))
    by_trainer = (plan for plan in plans if '"auto"' in file_of(plan, "ds_config.json"))
    plan = with_values(next(plan for plan in by_trainer if plan.value("shard.stage") == 3), {"model.hidden": hidden})
    written = json.loads(file_of(plan, "ds_config.json"))
    sizes = ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold")
    asked = written | {"zero_optimization": written["zero_optimization"] | dict.fromkeys(sizes, "auto")}
    resolved = filled_in(plan, asked, facts_of(plan)["world.size"])
    assert written["zero_optimization"].keys() >= set(sizes)
    assert resolved["zero_optimization"] == written["zero_optimization"]


def plan_without_clipping(plan: Plan) -> float:
    """The limit where the plan sets none: none, or the Trainer's own."""
    trainer = next(choice for choice in plan.targets if choice.name == "deepspeed").options.value("trainer")
    return 1.0 if trainer == "hf" else 0.0


@pytest.mark.parametrize("plan", plans_that_write("ds_config.json"))
def test_optimizers_and_schedules_take_their_parameters(plan: Plan) -> None:
    import torch
    from deepspeed.runtime import lr_schedules

    config = json.loads(file_of(plan, "ds_config.json"))
    if "auto" in json.dumps(config.get("scheduler", {})):
        config = filled_in(plan, config, facts_of(plan)["world.size"])  # the Trainer counts the steps
    if "optimizer" in config:
        assert set(config["optimizer"]["params"]) <= parameters_of(config["optimizer"]["type"])
    if "scheduler" in config:
        parameters = config["scheduler"]["params"]
        optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        schedule = getattr(lr_schedules, config["scheduler"]["type"])(optimizer, **parameters)
        schedule.step(parameters["warmup_num_steps"] - 1)
        before_peak = optimizer.param_groups[0]["lr"]
        schedule.step(parameters["warmup_num_steps"])
        peak = optimizer.param_groups[0]["lr"]
        assert before_peak < peak <= parameters.get("warmup_max_lr", 1.0)
        if "total_num_steps" in parameters:
            schedule.step(parameters["total_num_steps"])
            assert optimizer.param_groups[0]["lr"] == pytest.approx(parameters.get("cos_min_ratio", 0.0))


class Recorder(dict[str, Any]):
    """A dict that remembers which keys were asked for: those that DeepSpeed knows."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def keys(self) -> Any:
        """Itself: `in config.keys()` asks for a key too."""
        return self

    def __copy__(self) -> Recorder:
        return self


def test_the_schema_has_the_keys_that_deepspeed_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    import deepspeed.comm.comm
    from deepspeed.runtime.config import _REMOVED_TOP_LEVEL_CONFIG_KEYS, DeepSpeedConfig

    monkeypatch.setattr(deepspeed.comm.comm, "cdb", World(8))
    recorder = Recorder({"train_batch_size": 8, "optimizer": {"type": "AdamW"}, "scheduler": {"type": "WarmupLR"}})
    DeepSpeedConfig(recorder)
    read = recorder.asked - set(_REMOVED_TOP_LEVEL_CONFIG_KEYS) - {"bfloat16"}  # the old name of bf16
    assert set(SCHEMA["properties"]) == read | {"data_parallel_size"}  # read by deepspeed.initialize


def test_the_schema_has_the_keys_of_the_sections() -> None:
    from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
    from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
    from deepspeed.runtime.zero.offload_config import (
        DeepSpeedZeroOffloadOptimizerConfig,
        DeepSpeedZeroOffloadParamConfig,
    )

    sections = SCHEMA["properties"]
    zero = sections["zero_optimization"]["properties"]
    for section, model in (
        (zero, DeepSpeedZeroConfig),
        (zero["offload_optimizer"]["properties"], DeepSpeedZeroOffloadOptimizerConfig),
        (zero["offload_param"]["properties"], DeepSpeedZeroOffloadParamConfig),
        (sections["bf16"]["properties"], DeepSpeedBF16Config),
        (sections["fp16"]["properties"], DeepSpeedFP16Config),
        (sections["tensor_parallel"]["properties"], TPTrainingConfig),
    ):
        fields = {
            field.alias or name
            for name, field in model.model_fields.items()
            if not (isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("deprecated"))
        }
        assert set(section) == fields, model.__name__
