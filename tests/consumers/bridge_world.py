"""Megatron-Bridge's own configuration, with the overrides of emitted files applied, in a process of its own.

Bridge imports TransformerEngine, Mamba and more before its first class; nothing of them is used by its configuration,
so names that stand for nothing take their place here. `python -m tests.consumers.bridge_world` reads requests as JSON
and answers each with what Bridge says after `runtime_config_update`, which validates it all.
"""

from __future__ import annotations

import dataclasses
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import types
import typing
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_ABSENT = ("transformer_engine", "mamba_ssm", "causal_conv1d", "nvidia_resiliency_ext", "modelopt", "datasets")
_BARE = ("", ".models", ".models.mamba", ".training", ".recipes", ".peft", ".data", ".data.datasets", ".data.builders")


class Request(NamedTuple):
    """A plan's overrides: words, or the path of a file; what the recipe is for, and ranks of the run."""

    task: str
    world: int
    latent: bool
    words: list[str]
    file: str | None


def asked(requests: Iterable[Request]) -> list[dict[str, Any]]:
    """Bridge's answer to each: `error`, or the fields of its configuration by dotted name."""
    text = json.dumps([request._asdict() for request in requests])
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "NCCL_ALGO": "Ring"}
    command = [sys.executable, "-m", "tests.consumers.bridge_world"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    answers: list[dict[str, Any]] = json.loads(run.stdout.splitlines()[-1])
    return answers


def schema() -> dict[str, Any]:
    """The schema of a file of overrides, as Bridge's classes have their fields."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "tests.consumers.bridge_world", "schema"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def script_words(script: str) -> list[str]:
    """The words that the script hands its program, without the recipe's name and the caller's own."""
    _, _, rest = script.partition("\nset -- \\\n")
    words = shlex.split(rest.partition('  "$@"\n')[0].replace(" \\\n", "\n"))
    return words[2:] if words[:1] == ["--recipe"] else words


class _Nothing(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(name, (), {})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Nothing(name, (), {})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        found = name.split(".")[0] in _ABSENT
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if found else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: every name is made when it is asked for."""


def _prepare() -> None:
    import megatron.core.utils  # before there is anything that looks like TransformerEngine
    import torch
    from packaging.version import Version

    megatron.core.utils._te_version = Version("2.10.0")
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=9, minor=0, name="a card")

    spec = importlib.util.find_spec("megatron.bridge")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    for name in _BARE:
        module = types.ModuleType(f"megatron.bridge{name}")
        module.__path__ = [str(Path(folder, *name.split(".")))]
        sys.modules[module.__name__] = module
    sys.meta_path.append(_Finder())
    adams: Any = importlib.import_module("transformer_engine.pytorch.optimizers")
    adams.FusedAdam = _Adam
    models: Any = sys.modules["megatron.bridge.models"]
    models.T5ModelProvider = type("T5ModelProvider", (), {})
    mamba: Any = types.ModuleType("megatron.bridge.models.mamba.mamba_provider")
    mamba.MambaModelProvider = type("MambaModelProvider", (), {})
    sys.modules[mamba.__name__] = mamba
    from megatron.bridge.models.gpt_provider import GPTModelProvider

    models.GPTModelProvider = GPTModelProvider


def _recipe(request: Request) -> Any:
    """What Bridge's recipes begin with, of a model with other sizes, split as no plan of the tests is."""
    from megatron.bridge.models.gpt_provider import GPTModelProvider
    from megatron.bridge.models.mla_provider import MLAModelProvider
    from megatron.bridge.recipes import common

    make = common._pretrain_common if request.task == "pretrain" else common._peft_common
    config = make()
    sizes = {"num_layers": 40, "hidden_size": 640, "num_attention_heads": 10, "kv_channels": 64, "vocab_size": 77}
    config.model = (MLAModelProvider if request.latent else GPTModelProvider)(**sizes)
    for name, value in _OTHERWISE.items():
        setattr(config.model, name, value)
    config.scheduler.lr_warmup_fraction, config.scheduler.lr_warmup_iters = 0.5, 0
    config.checkpoint.pretrained_checkpoint = "base"
    config.peft = None if request.task == "pretrain" else common.LoRA()
    return config


_OTHERWISE: dict[str, Any] = {
    "tensor_model_parallel_size": 5, "pipeline_model_parallel_size": 10, "sequence_parallel": True,
    "virtual_pipeline_model_parallel_size": 2, "num_layers_in_first_pipeline_stage": 3, "recompute_method": "block",
    "account_for_loss_in_pipeline_split": True, "expert_model_parallel_size": 6, "num_query_groups": 5,
    "recompute_granularity": "full", "recompute_num_layers": 7, "num_moe_experts": 6,
}  # fmt: skip


def _answer(request: Request) -> dict[str, Any]:
    from megatron.bridge.training.config import runtime_config_update
    from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides

    os.environ.update(WORLD_SIZE=str(request.world), RANK="0")
    config = _recipe(request)
    try:
        process_config_with_overrides(config, request.file, request.words or None)
        runtime_config_update(config)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    said: dict[str, Any] = {"data_parallel_size": config.data_parallel_size}
    for section in ("model", "mixed_precision", "peft", "train", "optimizer", "scheduler", "ddp", "dist", "dataset",
                    "checkpoint", "rng", "logger", "profiling"):  # fmt: skip
        for name, value in vars(getattr(config, section) or object.__new__(_Empty)).items():
            plain = isinstance(value, int | float | str | list | type(None))
            said[f"{section}.{name}"] = value if plain else str(value)
    return said


class _Adam:
    """TransformerEngine's FusedAdam by its arguments, which megatron-core looks for."""

    def __init__(
        self,
        master_weight_dtype: Any,
        exp_avg_dtype: Any,
        exp_avg_sq_dtype: Any,
        use_decoupled_grad: bool,
        store_param_remainders: bool,
    ) -> None:
        raise NotImplementedError  # no step is ever taken


class _Empty:
    """A section that a recipe does not have."""


def _whole_schema() -> dict[str, Any]:
    """Every section that planc writes, with the fields of each class that a recipe may have there."""
    from megatron.bridge.models.mla_provider import MLAModelProvider
    from megatron.bridge.peft.lora import LoRA
    from megatron.bridge.training import config as classes
    from megatron.bridge.training.comm_overlap import CommOverlapConfig
    from megatron.bridge.training.mixed_precision import MixedPrecisionConfig

    sections: dict[str, tuple[Any, ...]] = {
        "rng": (classes.RNGConfig,), "train": (classes.TrainingConfig,), "model": (MLAModelProvider,),
        "optimizer": (classes.OptimizerConfig,), "ddp": (classes.DistributedDataParallelConfig,),
        "scheduler": (classes.SchedulerConfig,),
        "dataset": (classes.GPTDatasetConfig, classes.FinetuningDatasetConfig),
        "logger": (classes.LoggerConfig,), "checkpoint": (classes.CheckpointConfig,),
        "dist": (classes.DistributedInitConfig,), "profiling": (classes.ProfilingConfig,), "peft": (LoRA,),
        "comm_overlap": (CommOverlapConfig,), "mixed_precision": (MixedPrecisionConfig,),
    }  # fmt: skip
    properties: dict[str, Any] = {}
    for name, of in sections.items():
        found = {field: said for made in of for field, said in _properties(made).items()}
        properties[name] = {"type": "object", "additionalProperties": False, "properties": found}
    properties["mixed_precision"]["properties"]["_target_"] = {"type": "string"}
    properties["mixed_precision"]["type"] = ["object", "string", "null"]
    properties["comm_overlap"]["type"] = properties["peft"]["type"] = ["object", "null"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:planc:schema:megatron_bridge:1",
        "title": "megatron_bridge.yaml: overrides of a recipe's ConfigContainer",
        "$comment": "Made by tests/consumers/bridge_world.py of the dataclasses of Megatron-Bridge 0.3.1 and those of"
        " megatron-core 0.16.1 that they extend. A file may leave out what the recipe says.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _properties(made: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(made)
    names = [field.name for field in dataclasses.fields(made) if field.init and not field.name.startswith("_")]
    return {name: _schema(hints[name]) for name in sorted(names)}


def _schema(hint: Any) -> dict[str, Any]:
    """What YAML may say for a field of a type; anything, where the type is an object of Python."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        parts = [_schema(part) for part in inner]
        if {} in parts:
            return {}
        plain = [part["type"] for part in parts if set(part) == {"type"}]
        if len(plain) == len(parts):
            return {"type": sorted(set(plain))}
        return {"anyOf": parts}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is list or hint is list:
        return {"type": "array"}
    simple = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", Path: "string"}
    return {"type": simple[hint]} if hint in simple else {}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    _prepare()
    if sys.argv[1:] == ["schema"]:
        print(json.dumps(_whole_schema()))
        raise SystemExit
    print(json.dumps([_answer(Request(**found)) for found in json.loads(sys.stdin.read())], default=str))
