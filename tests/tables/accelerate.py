"""The keys of the YAML of accelerate: `python -m tests.tables.accelerate` writes the table of the installed one.

The keys at the top are the fields of `ClusterConfig` and `SageMakerConfig`; any other is refused. The sections become
arguments of `accelerate launch`, unchecked: their keys are those of the parser's groups. The launcher hands them on as
environment variables, from which plugins read them again, so texts do where numbers and flags are meant, and a key that
nothing hands on is of no use. What the plugins make of them is written here.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from importlib.metadata import version
from typing import Any

from tests.tables.common import TYPES, Row, of_hint, type_name, write
from tests.tables.deepspeed_rows import BOOL, TEXT, folded, list_of, maybe, one_of

#: The group of the launcher's parser that has the keys of a section, and the prefix that may be left out of them there.
_SECTIONS = {
    "deepspeed_config": ("DeepSpeed Arguments", ""),
    "dynamo_config": ("Resource Selection Arguments", "dynamo_"),
    "fp8_config": ("FP8 Arguments", "fp8_"),
    "fsdp_config": ("FSDP Arguments", "fsdp_"),
    "megatron_lm_config": ("Megatron-LM Arguments", ""),
    "mpirun_config": ("MPI Arguments", ""),
    "parallelism_config": ("ParallelismConfig Arguments", ""),
}

#: What the code takes at the top, where the annotation says less.
_TOP: dict[str, Row] = {
    "distributed_type": {"doc": "YAML reads a bare NO as false, which accelerate takes for it"},
    "gpu_ids": {"doc": "a text, also where it is one number"},
    "machine_rank": {"coerced": True, "minimum": 0},
    "num_machines": {"minimum": 1},
    "commands": maybe(list_of(TEXT)),
    "tpu_env": maybe(list_of(TEXT)),
    "tpu_vm": maybe(list_of(TEXT)),
    "downcast_bf16": {"types": ["bool", "string"], "words": ["no", "yes"]},
    "use_cpu": {"default": False},
    "debug": {"default": False},
    "compute_environment": {"default": "LOCAL_MACHINE"},
}

#: Keys that are turned into others when the file is read.
_CONVERTED: dict[str, Row] = {
    "fp16": BOOL | {"renamed": "mixed_precision"},
    "dynamo_backend": TEXT | {"renamed": "dynamo_config.dynamo_backend"},
}

_FSDP1 = "fsdp_config.fsdp_version = 1"
_FSDP2 = "fsdp_config.fsdp_version = 2"

#: What becomes of the sections' keys, by the names of the arguments, where type and choices of the parser say less.
_ARGUMENTS: dict[str, Row] = {
    "fsdp_version": {"types": ["int"], "coerced": True, "minimum": 1, "maximum": 2, "default": 1},
    "fsdp_sharding_strategy": {"only": _FSDP1},
    "fsdp_reshard_after_forward": {
        "types": ["bool", "string", "int"],
        "doc": "a flag with FSDP2, a sharding strategy with FSDP1",
    },
    "fsdp_backward_prefetch": {"only": _FSDP1},
    "fsdp_forward_prefetch": {"only": _FSDP1},
    "fsdp_sync_module_states": {"only": _FSDP1},
    "fsdp_use_orig_params": {"only": _FSDP1},
    "fsdp_activation_checkpointing_offload": {"only": _FSDP2},
    "zero_stage": {"types": ["int"], "coerced": True, "minimum": 0, "maximum": 3, "default": 2},
    "gradient_accumulation_steps": {"types": ["int", "string"], "coerced": True, "words": ["auto"]},
    "gradient_clipping": {"types": ["float", "string"], "coerced": True, "words": ["auto"]},
    "fp8_override_linear_precision": list_of(BOOL),
    "parallelism_config_cp_size": {"coerced": False},
    "parallelism_config_sp_size": {"coerced": False},
}

#: Texts that the parser takes for flags.
_FLAGS = (
    "zero3_init_flag", "zero3_save_16bit_model", "megatron_lm_attention_backend",
    "megatron_lm_attention_softmax_in_fp32", "megatron_lm_calculate_per_token_loss",
    "megatron_lm_recompute_activations", "megatron_lm_sequence_parallelism", "megatron_lm_use_distributed_optimizer",
    "megatron_lm_use_rotary_position_embeddings",
)  # fmt: skip

#: Handed on though the parser has no such argument.
_BESIDE_THE_PARSER: dict[str, Row] = {
    "fsdp_ignored_modules": maybe(TEXT),
    "fp8_use_mxfp8_block_scaling": maybe(BOOL | {"coerced": True}),
}

#: Keys of earlier releases. Since when they are gone was looked up in the releases.
REMOVED: dict[str, Row] = {
    "ipex_config": {"since": "1.13.0"},
    "mpirun_config.mpirun_ccl": {"since": "1.13.0"},
    "tp_config": {"since": "1.7.0", "doc": "use parallelism_config"},
    "fsdp_config.fsdp_backward_prefetch_policy": {"since": "1.0.0", "renamed": "fsdp_config.fsdp_backward_prefetch"},
    "fp8_config.amax_compute_algorithm": {"renamed": "fp8_config.amax_compute_algo", "doc": "nothing reads it"},
    "fp8_config.amax_history_length": {"renamed": "fp8_config.amax_history_len", "doc": "nothing reads it"},
    "fp8_config.optimization_level": {"renamed": "fp8_config.opt_level", "doc": "nothing reads it"},
}


def table() -> Row:
    """The table of the installed accelerate."""
    return {
        "consumer": "accelerate",
        "version": version("accelerate"),
        "source": "fields of ClusterConfig and SageMakerConfig, arguments of accelerate launch and what it hands on",
        "unknown": "rejected",
        "required": ["distributed_type"],
        "keys": _top() | {name: _section(name) for name in _SECTIONS} | _CONVERTED,
        "removed": REMOVED,
    }


def _top() -> dict[str, Row]:
    from accelerate.commands.config.config_args import ClusterConfig, SageMakerConfig
    from accelerate.utils import DistributedType, DynamoBackend, PrecisionType, SageMakerDistributedType

    keys: dict[str, Row] = {}
    for owner in (ClusterConfig, SageMakerConfig):
        hints = typing.get_type_hints(owner)
        for field in dataclasses.fields(owner):
            row = of_hint(hints[field.name]) | _TOP.get(field.name, {})
            if field.default is not dataclasses.MISSING and not isinstance(field.default, dict):
                row["default"] = field.default
            if owner is SageMakerConfig and field.name not in keys:
                row["only"] = "compute_environment = AMAZON_SAGEMAKER"
            keys.setdefault(field.name, row)
    kinds = [kind.value for kind in (*DistributedType, *SageMakerDistributedType)]
    keys["distributed_type"] |= {"types": ["string", "bool"], "words": list(dict.fromkeys(kinds))}
    keys["mixed_precision"] |= maybe(folded(*PrecisionType.list()))
    _CONVERTED["dynamo_backend"] |= folded(*DynamoBackend.list())
    return keys


def _section(name: str) -> Row:
    group, prefix = _SECTIONS[name]
    keys: dict[str, Row] = {}
    handed_on = _handed_on()
    for argument, row in (_arguments(group, prefix) | _beside(prefix)).items():
        if argument not in handed_on:
            row = {**row, "doc": "the launcher hands it on to nothing"}
        keys[argument] = row
        if prefix:
            keys[argument.removeprefix(prefix)] = {**row, "same": argument}
    return {"types": ["object", "null"], "keys": keys, "unknown": "ignored"}


def _beside(prefix: str) -> dict[str, Row]:
    return {name: row for name, row in _BESIDE_THE_PARSER.items() if prefix and name.startswith(prefix)}


def _arguments(group: str, prefix: str) -> dict[str, Row]:
    """The arguments of a group of the launcher's parser; of those with other ones, the arguments of a prefix."""
    from accelerate.commands.launch import launch_command_parser

    (found,) = (each for each in launch_command_parser()._action_groups if each.title == group)
    return {
        action.dest: _argument(action)
        for action in found._group_actions
        if group != "Resource Selection Arguments" or action.dest.startswith(prefix)
    }


def _argument(action: Any) -> Row:
    """What the value of an argument is, as the plugin sees it that reads it from the environment."""
    name, default = action.dest, action.default
    if name in _FLAGS or default in ("true", "false"):
        row: Row = BOOL | {"coerced": True}
        default = None if default is None else default == "true"
    elif action.nargs == 0:
        row = BOOL | {"coerced": True}
    elif action.choices:
        row = one_of(*action.choices)
    elif action.type in TYPES and action.type is not str:
        row = {"types": [TYPES[action.type]], "coerced": True}
    else:
        row = dict(TEXT)
    said = _choices().get(name, {}) | _ARGUMENTS.get(name, {})
    row = dict(said) if "types" in said else row | said
    if not row.get("coerced", True):
        del row["coerced"]
    if default is None:
        # The launcher leaves out what is null where the parser's default is.
        return maybe(row)
    return row | ({"default": default} if type_name(default) in row["types"] else {})


def _choices() -> dict[str, Row]:
    """The words that plugins and launchers take for arguments of which the parser lists none."""
    from accelerate.utils import DynamoBackend, constants

    devices = folded("none", "cpu", "nvme")
    by_name_or_number: Row = {"types": ["string", "int"], "coerced": True}
    return {
        "dynamo_backend": folded(*DynamoBackend.list()),
        "deepspeed_multinode_launcher": one_of(*constants.DEEPSPEED_MULTINODE_LAUNCHERS),
        "offload_optimizer_device": devices,
        "offload_param_device": devices,
        "fsdp_auto_wrap_policy": folded(*constants.FSDP_AUTO_WRAP_POLICY),
        "fsdp_backward_prefetch": folded(*constants.FSDP_BACKWARD_PREFETCH) | by_name_or_number,
        "fsdp_sharding_strategy": folded(*constants.FSDP_SHARDING_STRATEGY) | by_name_or_number,
        "fsdp_state_dict_type": folded(*constants.FSDP_STATE_DICT_TYPE),
        "fp8_amax_compute_algo": folded("max", "most_recent"),
        "fp8_backend": folded("AO", "TE", "MSAMP"),
        "fp8_format": folded("HYBRID", "E4M3", "E5M2"),
        "parallelism_config_cp_comm_strategy": one_of("allgather", "alltoall"),
    }


def _handed_on() -> set[str]:
    """Arguments that the launcher looks at, beside those that it hands on by their prefix."""
    import accelerate.commands.launch
    import accelerate.utils.launch

    names: set[str] = set()
    for module in (accelerate.commands.launch, accelerate.utils.launch):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "args":
                names.add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
                names |= {
                    part.value for part in node.args if isinstance(part, ast.Constant) and type(part.value) is str
                }
    return names | set(_arguments("FP8 Arguments", "")) | set(_BESIDE_THE_PARSER)


if __name__ == "__main__":
    write(table())
