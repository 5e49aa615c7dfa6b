"""The keys of gpt-neox's YAML, read from its source: `python -m tests.tables.gpt_neox CHECKOUT`.

All keys stand at the top level: those of gpt-neox and those that it hands to DeepSpeed. `-` and `_` are one in a name.
The checkout may hold a file NOTE, whose line says what it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.tables.common import Row, write
from tests.tables.source import Module, Rules, fields, load, row_of_field

CONSUMER = "gpt-neox"

#: A key that it does not know stops it: `NeoXArgs(**config)` in `from_ymls`.
RULES = Rules(types={}, unknown="rejected")

_FOLDER = "megatron/neox_arguments"

#: The classes whose fields go to DeepSpeed and to its launcher (BASE_CLASSES has them beside the others).
_DEEPSPEED = "NeoXArgsDeepspeedConfig"

#: Keys that it overwrites, and what it sets them from (`calculate_derived`, `configure_distributed_args`).
_SET_FROM = {
    "batch_size": "train_micro_batch_size_per_gpu",
    "clip_grad": "gradient_clipping",
    "dynamic_loss_scale": "loss_scale",
    "is_pipe_parallel": "pipe_parallel_size",
    "local_rank": "the launcher",
    "lr": "optimizer.params.lr",
    "optimizer_type": "optimizer.type",
    "rank": "the launcher",
    "world_size": "the launcher",
    "zero_allgather_bucket_size": "zero_optimization.allgather_bucket_size",
    "zero_contiguous_gradients": "zero_optimization.contiguous_gradients",
    "zero_reduce_bucket_size": "zero_optimization.reduce_bucket_size",
    "zero_reduce_scatter": "zero_optimization.reduce_scatter",
    "zero_stage": "zero_optimization.stage",
}

_TEXT: Row = {"types": ["string"]}
_OBJECT: Row = {"types": ["object"], "unknown": "open"}
_ENABLED: Row = {"keys": {"enabled": {"types": ["bool"]}}, "required": ["enabled"]}
_TYPED: Row = {"keys": {"params": _OBJECT, "type": _TEXT}, "required": ["params", "type"]}

#: What `validate_types` wants inside of an object.
_INNER = {"amp": _ENABLED, "flops_profiler": _ENABLED, "optimizer": _TYPED, "scheduler": _TYPED}

#: What `validate_values` wants of every file.
_NEEDED = ["hidden_size", "max_position_embeddings", "num_attention_heads", "num_layers"]

#: Keys of earlier texts of neox_args.py that this one lacks.
_REMOVED: dict[str, Row] = {
    "create_moe_param_group": {},
    "enable_expert_tensor_parallelism": {},
    "mlp_type": {"renamed": "activation", "doc": "choose a gated activation, such as swiglu"},
    "moe_expert_parallel_size": {},
    "moe_glu": {"renamed": "activation"},
    "moe_min_capacity": {},
    "moe_token_dropping": {},
    "moe_type": {},
    "moe_use_residual": {},
    "save_iters": {"renamed": "extra_save_iters"},
}


def table(root: Path) -> Row:
    """The keys of a checkout."""
    module = load(root, f"{_FOLDER}/arguments.py")
    updated = set(_updated(module.tree))
    assert updated >= set(_SET_FROM), f"not set any more: {sorted(set(_SET_FROM) - updated)}"
    keys = dict(_rows(module))
    if "words" in (kinds := keys.get("optimizer_type", {})):
        named = {**_TEXT, "words": kinds["words"], "folded": kinds["words"]}
        keys["optimizer"] = {**keys["optimizer"], "keys": {"params": _OBJECT, "type": named}}
    note = root / "NOTE"
    return {
        "consumer": CONSUMER,
        "version": "main",
        "source": note.read_text(encoding="utf-8").strip() if note.exists() else f"{_FOLDER} of a checkout",
        "unknown": RULES.unknown,
        "keys": keys,
        "required": _NEEDED,
        "removed": _REMOVED,
    }


def _rows(module: Module) -> Iterator[tuple[str, Row]]:
    classes = module.values["BASE_CLASSES"]
    assert isinstance(classes, ast.List)
    for each in classes.elts:
        assert isinstance(each, ast.Name)
        for field in fields(module, each.id):
            yield field.name, _row(field.name, row_of_field(field, RULES), each.id)


def _row(name: str, row: Row, owner: str) -> Row:
    """A row as `validate_types` has it: null is left alone, and the case of words does not count."""
    row = {**row}
    if "types" in row and "null" not in row["types"]:
        row["types"] = [*row["types"], "null"]
    if "words" in row:
        row["folded"] = row["words"]
    if owner == _DEEPSPEED and "object" in row["types"]:
        row["keys_of"] = "deepspeed" if name == "deepspeed_extra_args" else f"deepspeed.{name}"
    row |= _INNER.get(name, {})
    return {**row, "set_from": _SET_FROM[name]} if name in _SET_FROM else row


def _updated(tree: ast.AST) -> Iterator[str]:
    """Names of the fields that methods set by `update_value` and `update_values`."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in ("update_value", "update_values"):
            named = node.args[0]
            for key in named.keys if isinstance(named, ast.Dict) else (named,):
                if isinstance(key, ast.Constant):
                    yield str(key.value)


if __name__ == "__main__":
    write(table(Path(sys.argv[1])))
