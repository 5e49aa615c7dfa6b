"""What gpt-neox hands to DeepSpeed of gpt_neox.yml, read by DeepSpeed's own configuration class."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from planc.plan.model import Plan
from tests.compiling import facts_of, file_of
from tests.consumers.deepspeed_world import World
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import needs

pytestmark = [pytest.mark.consumer, needs("deepspeed")]

#: Keys of gpt-neox's DeepSpeed section, with its own defaults: it hands on what differs from them, and the extra
#: arguments (megatron/neox_arguments/deepspeed_args.py; arguments.py, get_parent_class_value_dict_extra_ds).
DEFAULTS: dict[str, Any] = {
    "train_batch_size": None, "train_micro_batch_size_per_gpu": None, "gradient_accumulation_steps": 1,
    "optimizer": None, "fp16": None, "bf16": None, "data_types": None, "zero_optimization": None,
    "gradient_clipping": 1.0, "load_universal": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepSpeed as on a machine without cards, and quiet."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def handed_on(data: dict[str, Any]) -> dict[str, Any]:
    """What DeepSpeed gets of the file."""
    return {
        **{key: data[key] for key in DEFAULTS if key in data and data[key] != DEFAULTS[key]},
        **data["deepspeed_extra_args"],
    }


@pytest.mark.parametrize("plan", plans_that_write("gpt_neox.yml"))
def test_deepspeed_understands_what_the_plan_says(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    import deepspeed.comm.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    facts = facts_of(plan)
    monkeypatch.setattr(deepspeed.comm.comm, "cdb", World(facts["world.size"]))
    data = plan.value("parallel.data")
    mpu = SimpleNamespace(get_data_parallel_world_size=lambda: data)
    config: Any = DeepSpeedConfig(handed_on(yaml.safe_load(file_of(plan, "gpt_neox.yml"))), mpu=mpu)
    assert config.train_batch_size == facts["batch.global"]
    assert config.train_micro_batch_size_per_gpu == facts["batch.micro"]
    assert config.gradient_accumulation_steps == facts["batch.accumulation"]
    assert config.zero_optimization_stage == plan.value("shard.stage")
    assert config.gradient_clipping == (plan.value("optimizer.clip") or 0)
    precision, gradients = plan.value("precision"), plan.value("precision.gradients")
    assert (config.bfloat16_config.enabled, config.float16_config.enabled) == (
        precision == "bf16",
        precision == "fp16",
    )
    if gradients != precision:
        assert config.grad_accum_dtype == gradients
        assert str(config.communication_data_type) == {"fp32": "torch.float32"}[gradients]
    offloaded = config.zero_config.offload_optimizer
    assert (None if offloaded is None else offloaded.device) == plan.value("offload.optimizer")
