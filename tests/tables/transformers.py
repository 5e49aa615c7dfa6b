"""The arguments of the Trainer: `python -m tests.tables.transformers` writes the table of the installed transformers.

The keys are the fields of `TrainingArguments`. A file of them is handed to the class as it is: nothing is converted but
the words of enumerations, so a learning rate that YAML reads as a text stays one. What the class makes of its sections
is written here, and their keys are held against those that its source names.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from importlib.metadata import version
from typing import Any

from tests.tables.common import Row, of_hint, write
from tests.tables.deepspeed_rows import BOOL, INT, TEXT, folded, maybe, object_of, one_of

_FLAG = BOOL | {"coerced": True}
_FSDP1 = {"only": "fsdp_config.version = 1"}

#: The keys of `fsdp_config`, each of which may have `fsdp_` before it.
_FSDP_CONFIG: dict[str, Row] = {
    "activation_checkpointing": _FLAG,
    "auto_wrap_policy": one_of("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"),
    "backward_prefetch": folded("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH") | _FSDP1,
    "cpu_offload": BOOL | {"default": False},
    "cpu_ram_efficient_loading": _FLAG | {"default": False},
    "forward_prefetch": _FLAG | {"default": False} | _FSDP1,
    "limit_all_gathers": _FLAG | _FSDP1,
    "min_num_params": INT | {"default": 0},
    "reshard_after_forward": {
        "types": ["bool", "string"],
        "default": True,
        "doc": "a flag with FSDP2, a sharding strategy with FSDP1",
    },
    "state_dict_type": folded("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"),
    "sync_module_states": _FLAG | {"default": True} | _FSDP1,
    "transformer_layer_cls_to_wrap": maybe({"types": ["string", "list"], "items": TEXT}),
    "use_orig_params": _FLAG | {"default": True} | _FSDP1,
    "version": {"types": ["int"], "coerced": True, "default": 2, "minimum": 1, "maximum": 2},
    "xla": BOOL | {"default": False},
    "xla_fsdp_grad_ckpt": BOOL | {"default": False},
    "xla_fsdp_settings": {"types": ["object"], "unknown": "open"},
    "xla_fsdp_v2": BOOL | {"default": False},
}

_FSDP_OPTIONS = (
    "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap",
)  # fmt: skip

#: What the class makes of a field, where its annotation says less.
_FIELDS: dict[str, Row] = {
    "debug": {"types": ["string", "list"], "doc": "underflow_overflow, tpu_metrics_debug, parted by spaces"},
    "fsdp": {
        "types": ["bool", "string", "list", "null"],
        "items": one_of(*_FSDP_OPTIONS),
        "doc": "a flag; options in a text or a list are deprecated for fsdp_config",
    },
    "gradient_checkpointing": {"renamed": "activation_checkpointing"},
    "gradient_checkpointing_kwargs": {"renamed": "activation_checkpointing_kwargs"},
    "local_rank": {"doc": "the launcher sets it"},
    "torch_empty_cache_steps": {"minimum": 1},
    "warmup_steps": {"minimum": 0, "doc": "below 1 it is a share of all steps"},
    "parallelism_config": {"types": ["null"], "doc": "no file can hold it: the class takes an object of Python"},
}

#: Arguments of earlier releases. Since when they are gone was looked up in the releases.
REMOVED: dict[str, Row] = {
    "_n_gpu": {"since": "5.0.0"},
    "adafactor": {"since": "5.0.0", "renamed": "optim", "doc": "write optim: adafactor"},
    "dispatch_batches": {"since": "4.51.0", "renamed": "accelerator_config.dispatch_batches"},
    "evaluation_strategy": {"since": "4.51.0", "renamed": "eval_strategy"},
    "fp16_backend": {"since": "5.0.0"},
    "fp16_opt_level": {"since": "5.0.0"},
    "fsdp_min_num_params": {"since": "5.0.0", "renamed": "fsdp_config.min_num_params"},
    "fsdp_transformer_layer_cls_to_wrap": {
        "since": "5.0.0",
        "renamed": "fsdp_config.transformer_layer_cls_to_wrap",
    },
    "group_by_length": {"since": "5.2.0", "renamed": "train_sampling_strategy", "doc": "write it as the value"},
    "half_precision_backend": {"since": "5.0.0"},
    "include_inputs_for_metrics": {"since": "5.0.0", "renamed": "include_for_metrics"},
    "include_tokens_per_second": {"since": "5.0.0"},
    "jit_mode_eval": {"since": "5.0.0"},
    "logging_dir": {"since": "5.15.0", "doc": "set TENSORBOARD_LOGGING_DIR in the environment"},
    "mp_parameters": {"since": "5.0.0"},
    "no_cuda": {"since": "5.0.0", "renamed": "use_cpu"},
    "overwrite_output_dir": {"since": "5.0.0"},
    "past_index": {"since": "5.0.0"},
    "per_gpu_eval_batch_size": {"since": "5.0.0", "renamed": "per_device_eval_batch_size"},
    "per_gpu_train_batch_size": {"since": "5.0.0", "renamed": "per_device_train_batch_size"},
    "push_to_hub_model_id": {"since": "5.0.0", "renamed": "hub_model_id"},
    "push_to_hub_organization": {"since": "5.0.0", "renamed": "hub_model_id"},
    "push_to_hub_token": {"since": "5.0.0", "renamed": "hub_token"},
    "ray_scope": {"since": "5.0.0"},
    "save_safetensors": {"since": "5.0.0"},
    "sharded_ddp": {"since": "4.35.0", "renamed": "fsdp"},
    "split_batches": {"since": "4.51.0", "renamed": "accelerator_config.split_batches"},
    "torchdynamo": {"since": "5.0.0", "renamed": "torch_compile_backend"},
    "tp_size": {"since": "4.52.1"},
    "tpu_metrics_debug": {"since": "5.0.0", "renamed": "debug", "doc": "write it as the value"},
    "tpu_num_cores": {"since": "5.0.0"},
    "use_ipex": {"since": "4.57.1"},
    "use_legacy_prediction_loop": {"since": "5.0.0"},
    "use_mps_device": {"since": "5.0.0"},
    "warmup_ratio": {"since": "5.15.0", "renamed": "warmup_steps", "doc": "below 1 it is a share of all steps"},
    "xpu_backend": {"since": "4.32.0", "renamed": "ddp_backend"},
}


def table() -> Row:
    """The table of the installed transformers."""
    from transformers import TrainingArguments

    named = _named_in(TrainingArguments._process_fsdp_args, "fsdp_config")
    assert named <= set(_FSDP_CONFIG), named - set(_FSDP_CONFIG)
    keys = {field.name: _field(field) for field in dataclasses.fields(TrainingArguments) if field.init}
    missing = set(_FIELDS) - set(keys)
    assert not missing, f"no longer arguments: {missing}"
    hints = typing.get_type_hints(TrainingArguments)
    for name, key in keys.items():
        keys[name] = of_hint(hints[name]) | key | _FIELDS.get(name, {})
    keys["fsdp_config"] |= _fsdp_config()
    keys["accelerator_config"] |= _accelerator_config()
    return {
        "consumer": "transformers",
        "version": version("transformers"),
        "source": "fields of TrainingArguments, and what it makes of its sections",
        "unknown": "rejected",
        "keys": keys,
        "removed": REMOVED,
    }


def _field(field: Any) -> Row:
    """What a field says beside its annotation: the default, and a list of words."""
    row: Row = {}
    if field.default is not dataclasses.MISSING:
        row["default"] = getattr(field.default, "value", field.default)
    elif field.default_factory is not dataclasses.MISSING:
        row["default"] = field.default_factory()
    if "choices" in field.metadata:
        row["words"] = list(field.metadata["choices"])
    return row


def _fsdp_config() -> Row:
    keys = dict(_FSDP_CONFIG)
    keys |= {f"fsdp_{name}": row | {"same": name} for name, row in _FSDP_CONFIG.items()}
    return {"types": ["object", "string", "null"], "keys": keys, "unknown": "ignored"}


def _accelerator_config() -> Row:
    from accelerate.utils import GradientAccumulationPlugin
    from transformers.trainer_pt_utils import AcceleratorConfig

    row = _of_dataclass(AcceleratorConfig)
    row["keys"]["gradient_accumulation_kwargs"] |= _of_dataclass(GradientAccumulationPlugin)
    row["keys"]["gradient_accumulation_kwargs"]["types"] = ["object", "null"]
    return row | {"types": ["object", "string", "null"]}


def _of_dataclass(owner: Any) -> Row:
    hints = typing.get_type_hints(owner)
    fields = dataclasses.fields(owner)
    return object_of("rejected", **{field.name: of_hint(hints[field.name]) | _field(field) for field in fields})


def _named_in(function: Any, name: str) -> set[str]:
    """Keys that a function takes out of a dict, or puts into it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and _is(node.value, name):
            parts = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
            parts = node.args[:1]
        elif isinstance(node, ast.Compare) and _is(node.comparators[0], name):
            parts = [node.left]
        found |= {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return found


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name


if __name__ == "__main__":
    write(table())
