"""accelerate's files, read by accelerate: its launcher's checks, and the plugins that a program makes of them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from planc.plan.families import LAYER_CLASSES
from planc.plan.model import Plan
from tests.compiling import ROOT, facts_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import needs
from tests.targets.stubs import Stubs

pytestmark = [pytest.mark.consumer, needs("accelerate")]

SCHEMA = json.loads((ROOT / "schemas" / "accelerate.schema.json").read_text())


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An environment that accelerate may fill, as it does in the program's processes."""
    import accelerate.utils.launch

    monkeypatch.setattr(accelerate.utils.launch, "is_port_in_use", lambda port: False)
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def launched(plan: Plan, tmp_path: Path, backend: str) -> Any:
    """The arguments with which the emitted script calls `accelerate launch`, checked by it and filled from the file.

    The environment is then that of the program.
    """
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    folder = written_out(plan, tmp_path / "out")
    several = {"MASTER_ADDR": "n1", "NODE_RANK": "1"} if 1 < plan.value("cluster.nodes") else {}
    stubs = Stubs(tmp_path / "stubs")
    if plan.value("launch.venv") is not None:
        environment_of_python = tmp_path / plan.value("launch.venv") / "bin"
        environment_of_python.mkdir(parents=True)
        (environment_of_python / "activate").touch()
    outcome = stubs.run(folder / "accelerate.sh", cwd=tmp_path, PLANC_BACKEND=backend, **several)
    (call,) = outcome.of("accelerate")
    assert call.argv[0] == "launch"
    os.environ.update(
        {name: value for name, value in call.env.items() if name.startswith(("ACCELERATE", "PET", "OMP"))}
    )
    args, defaults, from_file = _validate_launch_command(launch_command_parser().parse_args(call.argv[1:]))
    assert from_file
    if args.use_deepspeed:
        args.deepspeed_fields_from_accelerate_config = ",".join([*defaults.deepspeed_config, "mixed_precision"])
        command, environment = prepare_deepspeed_cmd_env(args)
        assert command is None  # it does not start other nodes by itself
    else:
        environment = prepare_multi_gpu_env(args)
    os.environ.update(environment)
    assert int(args.nproc_per_node) == plan.value("cluster.gpus_per_node")
    assert int(getattr(args, "nnodes", 1)) == plan.value("cluster.nodes")
    if several:
        assert (args.rdzv_endpoint, args.rdzv_backend) == ("n1:29500", "c10d")
    assert args.training_script == plan.value("launch.script")
    return args


def sizes(plan: Plan) -> Any:
    """The sizes of the axes as the program would have them; None where there is one axis only."""
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") != "true":
        return None
    from accelerate.parallelism_config import ParallelismConfig

    config = ParallelismConfig()
    assert config.total_size == facts_of(plan)["world.size"]
    return config


def layer_class(plan: Plan) -> str:
    """The class that the file names."""
    own = next(choice for choice in plan.targets if choice.name == "accelerate").options.value("layer_class")
    return str(own or LAYER_CLASSES[plan.value("model.family")])


def mixed(plan: Plan) -> str:
    """accelerate's word for the plan's precision."""
    return "no" if plan.value("precision") == "fp32" else str(plan.value("precision"))


@pytest.mark.parametrize("plan", plans_that_write("accelerate_ddp.yaml"))
def test_the_program_gets_ddp_as_planned(plan: Plan, tmp_path: Path) -> None:
    args = launched(plan, tmp_path, "ddp")
    assert (args.multi_gpu, args.use_fsdp, args.use_deepspeed) == (True, False, False)
    assert [name for name in ("FSDP", "DEEPSPEED") if f"ACCELERATE_USE_{name}" in os.environ] == []
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == mixed(plan)
    assert os.environ["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == str(plan.value("batch.accumulation"))
    assert args.dynamo_backend.lower() == ("inductor" if plan.value("train.compile") else "no")
    assert sizes(plan) is None
    assert (plan.value("parallel.tensor"), plan.value("parallel.context")) == (1, 1)


@pytest.mark.parametrize("plan", plans_that_write("accelerate_fsdp1.yaml"))
def test_the_program_gets_fsdp1_as_planned(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate import FullyShardedDataParallelPlugin
    from torch.distributed.fsdp import BackwardPrefetch, ShardingStrategy

    args = launched(plan, tmp_path, "fsdp1")
    monkeypatch.setenv("FSDP_SYNC_MODULE_STATES", "false")  # which would ask for the number of a GPU
    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "false")
    plugin = FullyShardedDataParallelPlugin()
    assert (args.use_fsdp, plugin.fsdp_version) == (True, 1)
    strategies = {2: ShardingStrategy.SHARD_GRAD_OP, 3: ShardingStrategy.FULL_SHARD}
    assert (plugin.sharding_strategy or plugin.reshard_after_forward) == strategies[plan.value("shard.stage")]
    assert plugin.backward_prefetch == BackwardPrefetch.BACKWARD_PRE
    assert plugin.activation_checkpointing == (plan.value("recompute") == "full")
    assert plugin.cpu_offload.offload_params == (plan.value("offload.weights") == "cpu")
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == mixed(plan)
    assert os.environ["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == str(plan.value("batch.accumulation"))
    assert args.dynamo_backend.lower() == ("inductor" if plan.value("train.compile") else "no")
    assert plugin.transformer_cls_names_to_wrap == [layer_class(plan)]
    asked = plan.value("checkpoint.format")
    assert plugin.state_dict_type.name == ("SHARDED_STATE_DICT" if asked == "sharded" else "FULL_STATE_DICT")
    assert sizes(plan) is None
    assert plan.value("shard.size") == plan.value("parallel.data")


def test_fsdp1_reads_no_resharding_beside_its_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the file says `fsdp_sharding_strategy`: the launcher always hands one on, and it comes first."""
    from accelerate import FullyShardedDataParallelPlugin

    launched(plans_that_write("accelerate_fsdp1.yaml")[0].values[0], tmp_path, "fsdp1")
    for name, value in (("SYNC_MODULE_STATES", "false"), ("CPU_RAM_EFFICIENT_LOADING", "false")):
        monkeypatch.setenv(f"FSDP_{name}", value)
    before = FullyShardedDataParallelPlugin().sharding_strategy
    monkeypatch.setenv("FSDP_RESHARD_AFTER_FORWARD", "NO_SHARD")
    assert FullyShardedDataParallelPlugin().sharding_strategy == before


@pytest.mark.parametrize("plan", plans_that_write("accelerate_fsdp2.yaml"))
def test_the_program_gets_fsdp2_as_planned(plan: Plan, tmp_path: Path) -> None:
    from accelerate import FullyShardedDataParallelPlugin

    args = launched(plan, tmp_path, "fsdp2")
    plugin = FullyShardedDataParallelPlugin()
    assert (args.use_fsdp, plugin.fsdp_version) == (True, 2)
    assert plugin.reshard_after_forward == (plan.value("shard.stage") == 3)
    assert plugin.activation_checkpointing == (plan.value("recompute") == "full")
    offloaded = plan.value("offload.weights") == "cpu"
    assert type(plugin.cpu_offload).__name__ == ("CPUOffloadPolicy" if offloaded else "OffloadPolicy")
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == mixed(plan)
    assert os.environ["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == str(plan.value("batch.accumulation"))
    assert args.dynamo_backend.lower() == ("inductor" if plan.value("train.compile") else "no")
    assert plugin.transformer_cls_names_to_wrap == [layer_class(plan)]
    config = sizes(plan)
    replicas = plan.value("parallel.data") // plan.value("shard.size")
    if config is None:
        assert (replicas, plan.value("parallel.tensor"), plan.value("parallel.context")) == (1, 1, 1)
        return
    assert (config.dp_replicate_size, config.dp_shard_size) == (replicas, plan.value("shard.size"))
    assert (config.tp_size, config.cp_size) == (plan.value("parallel.tensor"), plan.value("parallel.context"))
    if 1 < config.cp_size:
        strategies = {"ring": "alltoall", "all-gather": "allgather"}
        assert config.cp_handler.cp_comm_strategy == strategies[plan.value("context")]


@needs("deepspeed")
@pytest.mark.parametrize("plan", plans_that_write("accelerate_deepspeed.yaml"))
def test_the_program_gets_deepspeed_as_planned(plan: Plan, tmp_path: Path) -> None:
    from accelerate import DeepSpeedPlugin

    args = launched(plan, tmp_path, "deepspeed")
    plugin = DeepSpeedPlugin()
    assert args.use_deepspeed
    config = plugin.deepspeed_config
    assert config["zero_optimization"]["stage"] == plan.value("shard.stage")
    assert config["gradient_accumulation_steps"] == plan.value("batch.accumulation")
    clip = plan.value("optimizer.clip")
    assert config["gradient_clipping"] == (float("inf") if clip is None else float(clip))
    for name, path in (("offload_optimizer", "offload.optimizer"), ("offload_param", "offload.weights")):
        assert config["zero_optimization"][name]["device"] == (plan.value(path) or "none")
    axes = sizes(plan)
    if axes is not None:
        assert (axes.dp_shard_size, axes.sp_size) == (plan.value("parallel.data"), plan.value("parallel.context"))
        assert axes.sp_backend == "deepspeed"
    else:
        assert plan.value("parallel.context") == 1


def test_a_key_that_accelerate_does_not_know_is_refused_by_the_schema_at_least(tmp_path: Path) -> None:
    """accelerate takes a misspelt key in a section, so only the schema's test above stands between it and a run."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(SCHEMA)
    plan = plans_that_write("accelerate_fsdp2.yaml")[0].values[0]
    data = yaml.safe_load((written_out(plan, tmp_path) / "accelerate_fsdp2.yaml").read_text())
    assert validator.is_valid(data)
    assert not validator.is_valid(data | {"fsdp_config": data["fsdp_config"] | {"fsdp_ofload_params": True}})
    assert not validator.is_valid(data | {"mixed_precision": False})


def test_the_schema_has_the_keys_that_accelerate_reads() -> None:
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands.launch import launch_command_parser

    parser = launch_command_parser()
    options = {action.dest for action in parser._actions}
    deepspeed = next(group for group in parser._action_groups if "deepspeed" in (group.title or "").lower())
    assert set(SCHEMA["properties"]) == {field.name for field in dataclasses.fields(ClusterConfig)}
    for section, known in (
        ("fsdp_config", {option for option in options if option.startswith("fsdp_")}),
        ("parallelism_config", {option for option in options if option.startswith("parallelism_config_")}),
        ("dynamo_config", {option for option in options if option.startswith("dynamo_")}),
        ("deepspeed_config", {action.dest for action in deepspeed._group_actions}),
    ):
        assert set(SCHEMA["properties"][section]["properties"]) == known, section


#: Fields of accelerate's classes that no file reaches: a program alone can set them.
IN_CODE = {
    "FullyShardedDataParallelPlugin": {
        "mixed_precision_policy", "ignored_modules", "state_dict_config", "optim_state_dict_config",
        "limit_all_gathers", "param_init_fn",
    },
    "TorchDynamoPlugin": {"options", "disable"},
    "DeepSpeedPlugin": {"is_train_batch_min", "enable_msamp", "msamp_opt_level"},
    "ParallelismConfig": {"tp_handler", "cp_handler", "sp_handler"},
}  # fmt: skip

#: Keys of files whose field has another name.
RENAMED = {
    "offload_params": "cpu_offload", "transformer_layer_cls_to_wrap": "transformer_cls_names_to_wrap",
    "use_fullgraph": "fullgraph", "use_dynamic": "dynamic", "deepspeed_config_file": "hf_ds_config",
    "deepspeed_moe_layer_cls_names": "transformer_moe_cls_names",
}  # fmt: skip

#: Keys that the launcher follows itself.
OF_THE_LAUNCHER = {
    "deepspeed_exclusion_filter", "deepspeed_hostfile", "deepspeed_inclusion_filter", "deepspeed_multinode_launcher",
}  # fmt: skip


def test_the_keys_of_the_schema_are_the_fields_of_the_plugins() -> None:
    """A release whose plugins have other fields shows up here, even where its launcher has no option for them yet."""
    from accelerate.parallelism_config import ParallelismConfig
    from accelerate.utils import (
        DeepSpeedPlugin,
        DeepSpeedSequenceParallelConfig,
        FullyShardedDataParallelPlugin,
        TorchContextParallelConfig,
        TorchDynamoPlugin,
    )

    for section, prefix, classes in (
        ("fsdp_config", "fsdp_", (FullyShardedDataParallelPlugin,)),
        ("dynamo_config", "dynamo_", (TorchDynamoPlugin,)),
        ("deepspeed_config", "", (DeepSpeedPlugin,)),
        (
            "parallelism_config",
            "parallelism_config_",
            (ParallelismConfig, TorchContextParallelConfig, DeepSpeedSequenceParallelConfig),
        ),
    ):
        keys = {key.removeprefix(prefix) for key in set(SCHEMA["properties"][section]["properties"]) - OF_THE_LAUNCHER}
        said = {RENAMED.get(key, f"fsdp_{key}" if (prefix, key) == ("fsdp_", "version") else key) for key in keys}
        fields = {
            field.name
            for kind in classes
            for field in dataclasses.fields(kind)
            if field.name not in IN_CODE.get(kind.__name__, ())
        }
        assert said == fields, section


@needs("transformers")
def test_layer_classes_are_those_of_transformers() -> None:
    """Read from the text of the models: importing them all would take minutes."""
    import transformers.models

    models = Path(next(iter(transformers.models.__path__)))
    for family, name in LAYER_CLASSES.items():
        module = family.removesuffix("_text")  # the language model in a model that sees
        text = (models / module / f"modeling_{module}.py").read_text(encoding="utf-8")
        assert f"class {name}(" in text
        assert f'_no_split_modules = ["{name}"]' in text


def test_a_rendezvous_is_taken_from_the_command_line_alone(tmp_path: Path) -> None:
    """Why `lint` says that the key of a file has no effect: the option has a default, which stands there already."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    file = tmp_path / "acc.yaml"
    file.write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
        "machine_rank: 1\nmain_process_ip: h\nmain_process_port: 29500\nrdzv_backend: c10d\n"
    )
    for more, backend in (([], "static"), (["--rdzv_backend", "c10d"], "c10d")):
        words = ["--config_file", str(file), *more, "train.py"]
        args, _, _ = _validate_launch_command(launch_command_parser().parse_args(words))
        assert (args.rdzv_backend, args.machine_rank) == (backend, 1)
