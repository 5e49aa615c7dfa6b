"""The consumers, each asked in this process; an answer is what it has against the files, or None."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.consumers.deepspeed_world import World, parameters_of
from tests.mutation.fake_cluster import cluster

_WORLD = 8  # where a plan has no whole world, as many ranks as a node has cards


def deepspeed(about: Mapping[str, Any]) -> str | None:
    """DeepSpeed's configuration, optimizer and schedule, on a world of the plan's size."""
    return _answer(lambda: _deepspeed(json.loads(about["config"]), about))


def accelerate(about: Mapping[str, Any]) -> str | None:
    """The launcher's checks, the plugins that the program makes, the mesh of its axes, and DeepSpeed behind them."""
    return _answer(lambda: _accelerate(about))


def torchrun(about: Mapping[str, Any]) -> str | None:
    """torchrun's parser, and the rendezvous and the group of workers that its agent would make."""
    return _answer(lambda: _torchrun(about["argv"]))


def megatron(about: Mapping[str, Any]) -> str | None:
    """Megatron's parser, groups of ranks, configuration, batch, optimizer, schedule, and layers of the first rank."""
    from tests.mutation.megatron_arguments import arguments
    from tests.mutation.megatron_consumer import refusal

    found: list[str | None] = []
    unread = _answer(lambda: found.append(refusal(arguments(about["words"], about["world"]))))
    return unread or found[0]


CONSUMERS: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "deepspeed": deepspeed, "accelerate": accelerate, "torchrun": torchrun, "megatron": megatron,
}  # fmt: skip


def _answer(ask: Callable[[], None]) -> str | None:
    said = io.StringIO()
    before = dict(os.environ)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            os.environ.update(DS_ACCELERATOR="cpu")
            ask()
    except SystemExit:
        return said.getvalue().strip().rpartition("\n")[2]
    except Exception as error:  # whatever it raises is its answer
        return f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0]
    finally:
        os.environ.clear()
        os.environ.update(before)
    return None


def _deepspeed(config: dict[str, Any], about: Mapping[str, Any]) -> None:
    import deepspeed.comm.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    world = about["world"] or _WORLD
    with patch.object(deepspeed.comm.comm, "cdb", World(world)):
        if 1 < (about["pipeline"] or 1):
            ranks = about["data"] or 1
            DeepSpeedConfig(config, mpu=SimpleNamespace(get_data_parallel_world_size=lambda: ranks))
        elif "sequence_parallel_size" in config:
            sizes = {name: config[f"{name}_size"] for name in ("data_parallel", "sequence_parallel")}
            with cluster(world):
                _mesh(tuple(sizes.values()), tuple(sizes))
            DeepSpeedConfig(config, mesh_device=SimpleNamespace(get_group=lambda mesh_dim: sizes[mesh_dim]))
        else:
            DeepSpeedConfig(config)
    _secondary(config, world)
    _optimizer_and_schedule(config)


def _secondary(config: Mapping[str, Any], world: int) -> None:
    """The groups of the secondary shards, as `zero.Init` asks for them."""
    import torch.distributed as dist
    from deepspeed.utils import groups

    size = config["zero_optimization"].get("zero_hpz_partition_size", 1)
    if size != 1:
        # its own module of that name wants a backend that was started
        with cluster(world), patch.multiple(groups, dist=dist, _ZERO_PARAM_INTRA_PARALLEL_GROUP=None):
            groups._create_zero_param_parallel_group(size)


def _optimizer_and_schedule(config: Mapping[str, Any]) -> None:
    import torch
    from deepspeed.runtime import lr_schedules

    weight = torch.nn.Parameter(torch.zeros(1))
    if "optimizer" in config:
        kind, params = config["optimizer"]["type"], config["optimizer"]["params"]
        unknown = set(params) - parameters_of(kind)
        if unknown:
            raise TypeError(f"{kind} takes no {', '.join(sorted(unknown))}")
        made = {"AdamW": torch.optim.AdamW, "SGD": torch.optim.SGD}.get(kind)
        if made is not None:  # the others are compiled when they are made
            made([weight], **params)
    if "scheduler" in config:
        optimizer = torch.optim.AdamW([weight], lr=1.0)
        getattr(lr_schedules, config["scheduler"]["type"])(optimizer, **config["scheduler"]["params"])


def _mesh(sizes: tuple[int, ...], names: tuple[str, ...]) -> None:
    from torch.distributed.device_mesh import init_device_mesh

    init_device_mesh("cpu", sizes, mesh_dim_names=names)


@cache
def _launcher() -> Any:
    from accelerate.commands.launch import launch_command_parser

    return launch_command_parser()


def _accelerate(about: Mapping[str, Any]) -> None:
    import accelerate.utils.launch
    from accelerate.commands.launch import _validate_launch_command
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    os.environ.update(about["environment"])
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(accelerate.utils.launch, "is_port_in_use", lambda port: False),
    ):
        path = Path(folder, "config.yaml")
        path.write_text(about["config"], encoding="utf-8")
        argv = [str(path) if word.endswith(".yaml") else word for word in about["argv"][1:]]
        args, defaults, _ = _validate_launch_command(_launcher().parse_args(argv))
        if args.use_deepspeed:
            args.deepspeed_fields_from_accelerate_config = ",".join([*defaults.deepspeed_config, "mixed_precision"])
            environment = prepare_deepspeed_cmd_env(args)[1]
        else:
            environment = prepare_multi_gpu_env(args)
    os.environ.update(environment)
    _plugins(args, about)


def _plugins(args: Any, about: Mapping[str, Any]) -> None:
    from accelerate import DeepSpeedPlugin, FullyShardedDataParallelPlugin

    world = int(args.num_processes)
    if args.use_deepspeed:
        config = DeepSpeedPlugin().deepspeed_config
        given = {"train_micro_batch_size_per_gpu": about["micro"] or 1, "train_batch_size": None}
        resolved = {name: given.get(name) if value == "auto" else value for name, value in config.items()}
        known = {name: value for name, value in resolved.items() if value is not None}
        _deepspeed(known, {**about, "world": world, "pipeline": 1})
    elif args.use_fsdp:
        FullyShardedDataParallelPlugin()
    _axes(args, world)


def _axes(args: Any, world: int) -> None:
    """The axes against the world, as the program's Accelerator checks them, and the mesh that it makes of them."""
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") != "true":
        return
    from accelerate.parallelism_config import ParallelismConfig

    config = ParallelismConfig()
    around = SimpleNamespace(
        num_processes=world, multi_device=True, is_fsdp2=not args.use_deepspeed, is_main_process=False,
        distributed_type="DEEPSPEED" if args.use_deepspeed else "FSDP",
    )  # fmt: skip
    config._validate_accelerator(around)
    if not args.use_deepspeed:
        with cluster(world):
            config.build_device_mesh("cpu")


def _torchrun(argv: list[str]) -> None:
    from torch.distributed.elastic.agent.server import WorkerSpec
    from torch.distributed.elastic.rendezvous import RendezvousParameters
    from torch.distributed.run import config_from_args, get_args_parser

    config, command, _ = config_from_args(get_args_parser().parse_args(argv))
    # as torch.distributed.launcher.api, launch_agent, makes them
    RendezvousParameters(
        config.rdzv_backend, config.rdzv_endpoint or "n1", config.run_id, config.min_nodes, config.max_nodes
    )
    WorkerSpec(
        role=config.role, local_world_size=config.nproc_per_node, rdzv_handler=None, entrypoint=command,  # type: ignore[arg-type]
        max_restarts=config.max_restarts,
    )  # fmt: skip
