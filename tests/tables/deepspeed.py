"""The keys of ds_config.json: `python -m tests.tables.deepspeed` writes the table of the installed DeepSpeed.

Three sources make it. The pydantic models say everything of their sections. DeepSpeed's reader is given a configuration
that records which keys it asks for, and with which defaults (`recording.py`); for those whose default says no type,
`deepspeed_rows.py` does. Who resolves `auto` is read from the source of transformers and accelerate. A key that the
reader asks for and of which no source knows the type stops the script, as does a type for a key that nobody reads.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import typing
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.tables import deepspeed_rows as rows
from tests.tables.auto import resolvers
from tests.tables.common import Row, at, of_hint, of_value, write
from tests.tables.models import of_model
from tests.tables.optimizers import optimizers, schedulers
from tests.tables.recording import Recorded

#: Sections that a pydantic model reads.
_MODELS = {
    "bf16": "runtime.precision_config:DeepSpeedBF16Config",
    "bfloat16": "runtime.precision_config:DeepSpeedBF16Config",
    "comet": "monitor.config:CometConfig",
    "comms_logger": "comm.config:CommsLoggerConfig",
    "compile": "compile.config:CompileConfig",
    "csv_monitor": "monitor.config:CSVConfig",
    "fp16": "runtime.precision_config:DeepSpeedFP16Config",
    "hybrid_engine": "runtime.config:HybridEngineConfig",
    "tensor_parallel": "runtime.tensor_parallel.config:TPTrainingConfig",
    "tensorboard": "monitor.config:TensorBoardConfig",
    "timers.throughput": "utils.config:DeepSpeedThroughputTimerConfig",
    "wandb": "monitor.config:WandbConfig",
    "weight_quantization": "inference.config:WeightQuantConfig",
    "zero_optimization": "runtime.zero.config:DeepSpeedZeroConfig",
}

#: A configuration in which every section is there, so that the reader looks into each.
_EVERY_SECTION: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": 1,
    "activation_checkpointing": {},
    "aio": {},
    "autotuning": {"model_info": {}},
    "checkpoint": {"parallel_write": {}, "writer": {}},
    "data_efficiency": {
        "data_routing": {"random_ltd": {"enabled": True}},
        "data_sampling": {"curriculum_learning": {}, "dynamic_batching": {}},
    },
    "data_types": {},
    "expert_parallel": {"enabled": False},
    "flops_profiler": {},
    "optimizer": {"type": "AdamW", "params": {}},
    "pipeline": {},
    "scheduler": {"type": "WarmupLR", "params": {}},
    "timers": {},
    "torch_autocast": {"dtype": "bf16", "lower_precision_safe_modules": []},
    "weight_quantization": {},
}

#: Read to warn of them, or in another place of the table.
_ELSEWHERE = ("optimizer.params", "optimizer.params.max_grad_norm", "optimizer.type", "scheduler.params")


def table() -> Row:
    """The table of the installed DeepSpeed."""
    made: Row = {"keys": {}, "unknown": "ignored", "types": ["object"]}
    reads = _reads()
    refused = _refused()
    assert set(refused) == set(rows.REFUSED), set(refused) ^ set(rows.REFUSED)
    watched = {path: _watched(path, defaults) for path, defaults in reads.items() if path not in refused}
    unread = set(rows.WATCHED) - set(watched) | set(rows.UNWATCHED) & set(watched)
    assert not unread, f"the reader asks for these where it should not, or not where it should: {sorted(unread)}"
    unwatched = {path: _found(path, file, row) for path, (file, row) in rows.UNWATCHED.items()}
    for path, row in sorted({**watched, **unwatched}.items()):
        _put(made, path, row)
    for path, row in rows.MODELS.items():
        at(made, path).update(row)
    _put(made, "optimizer", optimizers())
    _put(made, "scheduler", schedulers())
    # Rows that several keys share become one of their own each, before they are marked.
    made = json.loads(json.dumps(made))
    _mark(made)
    return {
        "consumer": "deepspeed",
        "version": version("deepspeed"),
        "source": "pydantic models, keys that DeepSpeedConfig asks for, signatures of optimizers and schedules; "
        f"`auto` of transformers {version('transformers')} and accelerate {version('accelerate')}, "
        f"optimizers of torch {version('torch').partition('+')[0]}",
        "unknown": "ignored",
        "keys": made["keys"],
        "removed": rows.REMOVED | rows.REFUSED,
    }


def models() -> Iterator[tuple[str, Any]]:
    """The sections that pydantic reads, each with its model."""
    for path, place in _MODELS.items():
        module, _, name = place.partition(":")
        yield path, getattr(importlib.import_module(f"deepspeed.{module}"), name)


@cache
def _reads() -> dict[str, list[Any]]:
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    from deepspeed.runtime.config import DeepSpeedConfig

    config = Recorded(_EVERY_SECTION)
    DeepSpeedConfig(config)
    return config.reads


def _refused() -> list[str]:
    """Keys that the reader refuses by name."""
    from deepspeed.runtime import config

    return [*config._REMOVED_TOP_LEVEL_CONFIG_KEYS] + [
        f"zero_optimization.{name}" for name in config._REMOVED_ZERO_CONFIG_KEYS
    ]


def _watched(path: str, defaults: list[Any]) -> Row:
    """The row of a key that the reader asked for."""
    section, _, name = path.rpartition(".")
    for place, model in models():
        if path == place:
            return _section(path, model)
    if section == "expert_parallel":
        return _of_expert_parallel(name)
    if path in _ELSEWHERE or path == "scheduler.type":
        return {}
    said = rows.WATCHED.get(path)
    known = [value for value in defaults if value is not None and value != {}]
    row = dict(said) if said is not None else of_value(known[0])
    if row.get("words") == ["dtype"]:
        row |= {"words": _dtypes()}
    if "keys" not in row and row["types"] != ["object"]:
        row |= {"default": defaults[0]} if defaults else {}
    return row


def _section(path: str, model: Any) -> Row:
    row = of_model(model, path)
    if path == "bfloat16":
        row["renamed"] = "bf16"
    if path == "zero_optimization":
        row["types"] = ["object", "bool"]
    return row


def _of_expert_parallel(name: str) -> Row:
    """A key of AutoEP: its class has the types, its reader the defaults."""
    from deepspeed.module_inject.auto_ep_config import PRESET_MODELS, AutoEPConfig
    from deepspeed.moe.ep_experts import EXPERT_ACTIVATIONS

    row = of_hint(typing.get_type_hints(AutoEPConfig)[name]) | rows.EXPERT_PARALLEL.get(name, {})
    words = {"preset_model": sorted(PRESET_MODELS), "expert_activation": sorted(EXPERT_ACTIVATIONS)}
    if name in words:
        row["words"] = words[name]
    default = getattr(AutoEPConfig(), name)
    return row | ({"default": default} if default is None or isinstance(default, bool | int | float | str) else {})


def _dtypes() -> list[str]:
    from deepspeed.runtime.config import DtypeEnum

    return sorted(text for text in DtypeEnum._value2member_map_ if isinstance(text, str))


def _found(path: str, file: str, row: Row) -> Row:
    """A row of a key that was not watched, after a look whether its name still stands where it stood."""
    name = path.rpartition(".")[2]
    assert name in _texts(file), f"{name} no longer stands in deepspeed/{file}"
    return row


@cache
def _texts(file: str) -> frozenset[str]:
    import deepspeed

    tree = ast.parse((Path(inspect.getfile(deepspeed)).parent / file).read_text(encoding="utf-8"))
    return frozenset(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is str
    )


def _put(made: Row, path: str, row: Row) -> None:
    """Puts a row at its path; what is there already stays where the row says nothing else."""
    target = made
    *sections, name = path.split(".")
    for section in sections:
        target = target["keys"].setdefault(section, {"types": ["object"], "keys": {}, "unknown": "ignored"})
    keys = target.setdefault("keys", {})
    keys[name] = keys.get(name, {}) | row


def _mark(made: Row) -> None:
    """Says of each key who resolves `auto` in it."""
    for path, who in resolvers().items():
        try:
            row = at(made, path)
        except KeyError:
            # transformers fills in parameters of any optimizer and schedule; a table has them by its name.
            section, _, name = path.partition(".params.")
            for variant in at(made, section)["variants"]["rows"].values():
                if name in variant.get("keys", {}):
                    variant["keys"][name]["auto"] = who
        else:
            row["auto"] = who


if __name__ == "__main__":
    write(table())
