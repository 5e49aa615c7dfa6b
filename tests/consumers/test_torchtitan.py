"""torchtitan's settings, read by torchtitan: its ConfigManager and its ParallelDims.

Which tests run depends on the version that is installed: flags are for 0.3, TOML for 0.2. Neither is among the
consumers that are installed by default, as each brings 1.4 GB; `docs/targets/torchtitan.md` says how they are run.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from planc.plan.model import Plan
from planc.targets._torchtitan_models import CONFIGS, FLAVORS, Sizes
from tests.compiling import facts_of, read, written_out
from tests.consumers.running import needs
from tests.consumers.torchtitan_keys import FLAGS, SCHEMA, flags, is_old, schema
from tests.targets.stubs import Stubs

CASES = Path(__file__).parents[1] / "targets" / "torchtitan"
OLD = find_spec("torchtitan") is not None and is_old()

pytestmark = [pytest.mark.consumer, needs("torchtitan")]
of_flags = pytest.mark.skipif(OLD, reason="not installed: torchtitan 0.3")
of_toml = pytest.mark.skipif(not OLD, reason="not installed: torchtitan 0.2")

STAGED = [plan for plan in read(CASES / "ok_layouts.plan").plans if 1 < plan.value("parallel.pipeline")]

#: The plan's own module, as a user would write it.
OWN = """\
from torchtitan.models.llama3.config_registry import llama3_debugmodel as small
"""


def plans_of(*names: str) -> list[Any]:
    """The plans of some cases, as test parameters."""
    return [pytest.param(plan, id=plan.name) for name in names for plan in read(CASES / name).plans]


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with the modules of the plans, and no warnings about assets that are not there."""
    modules = tmp_path / "modules" / "my_models"
    modules.mkdir(parents=True)
    (modules / "__init__.py").write_text("")
    (modules / "llama.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def arguments(plan: Plan, tmp_path: Path) -> list[str]:
    """What torchtitan's trainer is called with by the emitted script."""
    folder = written_out(plan, tmp_path / "out")
    several = {"MASTER_ADDR": "n1"} if 1 < plan.value("cluster.nodes") else {}
    (call,) = Stubs(tmp_path / "stubs").run(folder / "torchtitan.sh", cwd=tmp_path, **several).of("torchrun")
    start = next(at for at, word in enumerate(call.argv) if word in ("--module", "--job.config_file"))
    return call.argv[start:]


def read_by_torchtitan(plan: Plan, tmp_path: Path) -> Any:
    """The configuration that torchtitan's own parser makes of what the script hands it."""
    from torchtitan.config import ConfigManager

    words = arguments(plan, tmp_path)
    scaled = {config.name for config in CONFIGS if config.recipe}
    # Those make their products of torchao on a card alone; their flags are those of every other Llama.
    words = ["llama3_8b" if word in scaled else word for word in words]
    return ConfigManager().parse_args(words)


def dims(parallelism: Any, world: int) -> Any:
    """torchtitan's own mesh of a configuration, which it checks against the world."""
    from torchtitan.distributed import ParallelDims

    if not OLD:
        return ParallelDims.from_config(parallelism, world)
    names = ("data_parallel_replicate", "data_parallel_shard", "context_parallel", "tensor_parallel")
    names += ("pipeline_parallel", "expert_parallel", "expert_tensor_parallel")
    return ParallelDims(*(getattr(parallelism, f"{name}_degree") for name in names), world)


def assert_same_numbers(config: Any, plan: Plan) -> None:
    """The configuration has the sizes, the batch and the lengths of the plan's facts."""
    facts, training, parallelism = facts_of(plan), config.training, config.parallelism
    mesh = dims(parallelism, facts["world.size"])
    for axis, path in (("tp", "tensor"), ("pp", "pipeline"), ("cp", "context"), ("ep", "expert")):
        assert getattr(mesh, axis) == plan.value(f"parallel.{path}")
    assert mesh.dp_replicate * mesh.dp_shard == plan.value("parallel.data")
    if plan.value("shard.stage") != 0:
        assert (mesh.dp_replicate, mesh.dp_shard) == (facts["shard.replicas"], plan.value("shard.size"))
    steps = training.global_batch_size // (training.local_batch_size * mesh.dp_replicate * mesh.dp_shard)
    pieces = training.local_batch_size // parallelism.pipeline_parallel_microbatch_size if 1 < mesh.pp else 1
    assert (training.global_batch_size, steps * pieces) == (facts["batch.global"], facts["batch.accumulation"])
    assert training.seq_len == plan.value("batch.sequence_length")
    assert training.mixed_precision_param == ("float32" if plan.value("precision") == "fp32" else "bfloat16")
    if facts_of(plan)["optimizer.clip"] is not None and plan.is_written("optimizer.clip"):
        assert training.max_norm == float(plan.value("optimizer.clip"))
    if plan.is_written("train.duration"):
        assert training.steps == facts["train.steps"]
    assert config.compile.enable is plan.value("train.compile")
    assert config.comm.train_timeout_seconds == config.comm.init_timeout_seconds == plan.value("launch.timeout")


@of_flags
@pytest.mark.parametrize("plan", plans_of("ok_layouts.plan", "ok_rest.plan"))
def test_flags_are_what_the_plan_says(plan: Plan, tmp_path: Path) -> None:
    config = read_by_torchtitan(plan, tmp_path)
    assert_same_numbers(config, plan)
    kinds = {"none": "NoneType", "full": "FullAC.Config", "selective": "SelectiveAC.Config"}
    assert type(config.activation_checkpoint).__qualname__ == kinds[plan.value("recompute")]
    (group,) = config.optimizer.param_groups
    for path, key in (("learning_rate", "lr"), ("epsilon", "eps"), ("weight_decay", "weight_decay")):
        if plan.is_written(f"optimizer.{path}"):
            assert group.optimizer_kwargs[key] == float(plan.value(f"optimizer.{path}"))
    if plan.is_written("optimizer.betas"):
        assert group.optimizer_kwargs["betas"] == tuple(map(float, plan.value("optimizer.betas")))


@of_flags
@pytest.mark.parametrize("plan", STAGED, ids=lambda plan: plan.name)
def test_stages_have_the_layers_of_the_facts(plan: Plan, tmp_path: Path) -> None:
    from torchtitan.distributed.pipeline_parallel import _generate_llm_fqn_per_model_part, _get_pipeline_metadata

    ranks = plan.value("parallel.pipeline")
    config, facts = read_by_torchtitan(plan, tmp_path), facts_of(plan)
    mesh = dims(config.parallelism, facts["world.size"])
    parts = config.parallelism.module_fqns_per_model_part
    if parts is None:
        parts = _generate_llm_fqn_per_model_part(
            *_get_pipeline_metadata(mesh, config.parallelism, config.model_spec.model)
        )
    layers = [sum(name.startswith("layers.") for name in part) for part in parts]
    assert [sum(layers[rank::ranks]) for rank in range(ranks)] == [
        facts.at_stage(rank)["stage.layers"] for rank in range(ranks)
    ]
    assert [name for part in parts for name in part if name.startswith("layers.")] == [
        f"layers.{layer}" for layer in range(plan.value("model.layers"))
    ]
    assert (parts[0][0], parts[-1][-2:]) == ("tok_embeddings", ["norm", "lm_head"])


@of_flags
@pytest.mark.parametrize("name", ["everything", "line", "constant", "unscheduled"])
def test_the_rate_goes_as_the_plan_says(name: str, tmp_path: Path) -> None:
    import torch

    plan = next(plan for plan in read(CASES / "ok_rest.plan").plans if plan.name == name)
    config = read_by_torchtitan(plan, tmp_path)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    (scheduler,) = config.lr_scheduler.build(optimizers=[optimizer], training_steps=config.training.steps).schedulers
    factor, warmup = scheduler.lr_lambdas[0], config.lr_scheduler.warmup_steps
    assert factor(warmup) == pytest.approx(1.0, abs=1e-5)
    last = factor(config.training.steps)
    assert last == pytest.approx({"everything": 0.1, "line": 0.0}.get(name, 1.0), abs=1e-3)


@of_toml
@pytest.mark.parametrize("plan", plans_of("ok_toml.plan"))
def test_toml_is_what_the_plan_says(plan: Plan, tmp_path: Path) -> None:
    config = read_by_torchtitan(plan, tmp_path)
    assert_same_numbers(config, plan)
    assert config.activation_checkpoint.mode == plan.value("recompute")
    if plan.is_written("optimizer.learning_rate"):
        assert config.optimizer.lr == float(plan.value("optimizer.learning_rate"))
    names = {"c4": "c4"}
    if plan.value("dataset") is not None:
        assert (config.training.dataset, config.training.dataset_path) == (
            names[plan.value("dataset.name")], plan.value("dataset.path"),
        )  # fmt: skip


@of_toml
def test_the_schema_is_that_of_the_package() -> None:
    assert json.loads(SCHEMA.read_text()) == schema()


@of_flags
def test_the_flags_are_those_of_the_package() -> None:
    assert [line for line in FLAGS.read_text().splitlines() if not line.startswith("#")] == flags()


@of_flags
@pytest.mark.parametrize("key", sorted(FLAVORS), ids="-".join)
def test_flavors_have_the_sizes_of_the_table(key: tuple[str, str]) -> None:
    model = import_module(f"torchtitan.models.{key[0]}").model_registry(key[1]).model
    attention, moe = model.layers[-1].attention, model.layers[-1].moe
    latent = hasattr(attention, "kv_lora_rank")
    dense = [layer.feed_forward.w1.out_features for layer in model.layers if layer.feed_forward is not None]
    experts = (moe.num_experts, moe.router.top_k, moe.routed_experts.inner_experts.hidden_dim) if moe else (0, 0, 0)
    heads = attention.n_heads
    assert FLAVORS[key] == Sizes(
        len(model.layers), model.dim, heads, 0 if latent else attention.n_kv_heads or heads,
        0 if latent else attention.head_dim or attention.qkv_linear.head_dim, dense[0] if dense else 0,
        model.vocab_size, *experts, bool(getattr(model, "enable_weight_tying", False)),
    )  # fmt: skip


@of_flags
@pytest.mark.parametrize("config", [config for config in CONFIGS if not config.recipe], ids=lambda config: config.name)
def test_configurations_are_of_the_flavors_of_the_table(config: Any) -> None:
    made = getattr(import_module(f"torchtitan.models.{config.module}.config_registry"), config.name)()
    assert (made.model_spec.name, made.model_spec.flavor) == (config.module, config.flavor)
    (group,) = made.optimizer.param_groups
    assert (group.optimizer_name, {"lr", "betas", "eps", "weight_decay"} <= set(group.optimizer_kwargs)) == (
        "AdamW", True,
    )  # fmt: skip


@of_toml
@pytest.mark.parametrize("key", sorted(FLAVORS), ids="-".join)
def test_old_flavors_have_the_sizes_of_the_table(key: tuple[str, str]) -> None:
    sizes, model = FLAVORS[key], import_module(f"torchtitan.models.{key[0]}").get_train_spec().model_args[key[1]]
    assert (model.n_layers, model.dim, model.n_heads, model.vocab_size) == (
        sizes.layers, sizes.hidden, sizes.heads, sizes.vocab,
    )  # fmt: skip
    assert bool(getattr(model, "enable_weight_tying", False)) is sizes.tied
    if sizes.experts:
        assert (model.moe_args.num_experts, model.moe_args.top_k) == (sizes.experts, sizes.top_k)
    if sizes.kv_heads:
        assert (model.n_kv_heads or model.n_heads) == sizes.kv_heads
