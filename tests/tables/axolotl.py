"""The keys of axolotl's YAML, read from its source: `python -m tests.tables.axolotl SOURCE`.

SOURCE is a folder that holds the package `axolotl`, such as an unpacked wheel. Only the keys at the top of a file are
listed: what stands in its sections (data sets, `fsdp_config`, settings of other libraries) has the forms of many
releases. Keys of the plug-ins that axolotl brings along are among them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.tables.common import Row, write
from tests.tables.source import (
    PLAIN,
    Field,
    Module,
    NotFixedError,
    fields,
    fixed,
    load,
    of_choices,
    union,
    with_default,
)

CONSUMER = "axolotl"

#: Keys that are still read, by the names that they have now (schemas/deprecated.py; `check_context_parallel_size`).
_RENAMED = {
    "noisy_embedding_alpha": "neftune_noise_alpha", "dpo_beta": "rl_beta", "evaluation_strategy": "eval_strategy",
    "sequence_parallel_degree": "context_parallel_size",
}  # fmt: skip

#: Keys that it still reads and means to drop: those that have `deprecated` in the source.
_DEPRECATED = {
    "dataset_processes": "write `dataset_num_proc`",
    "gc_steps": "write `torch_empty_cache_steps` or `gc_collect_steps`",
    "pretrain_multipack_buffer_size": "write `streaming_multipack_buffer_size`",
    "xformers_attention": "write `attn_implementation: xformers`",
    "sdp_attention": "write `attn_implementation: sdpa`",
    "flex_attention": "write `attn_implementation: flex_attention`",
    "flash_attention": "write `attn_implementation: flash_attention_2`",
    "sage_attention": "write `attn_implementation: sage`",
    "eager_attention": "write `attn_implementation: eager`",
    "fsdp": "write `fsdp_config` alone",
    "fsdp_final_state_dict_type": "write `final_state_dict_type` in `fsdp_config`",
}

#: Keys that axolotl refuses (schemas/deprecated.py and `check_deprecated_unsloth_fields`), with what to do instead.
_REMOVED = {
    "max_packed_sequence_len": "write `sequence_len` and `sample_packing: true`",
    "rope_scaling": "write it in `overrides_of_model_config`", "dpo_use_logits_to_keep": "remove the key",
    "dpo_generate_during_eval": "remove the key", "dpo_norm_loss": "remove the key", "rpo_alpha": "remove the key",
    "s2_attention": "remove the key", "flash_attn_rms_norm": "remove the key",
    "unsloth_lora_mlp": "write `lora_mlp_kernel`", "unsloth_lora_qkv": "write `lora_qkv_kernel`",
    "unsloth_lora_o": "write `lora_o_kernel`",
    **dict.fromkeys(("unsloth_cross_entropy_loss", "unsloth_rms_norm", "unsloth_rope"), "remove the key"),
}  # fmt: skip


def table(root: Path) -> Row:
    """The keys of the release in a folder."""
    keys: dict[str, Row] = {}
    for module in _with_arguments(root):
        for name in module.classes:
            if name.endswith("Args"):
                keys |= _keys(module, name)
    keys |= _keys(load(root, "axolotl/utils/schemas/config.py"), "AxolotlInputConfig")
    for name, successor in _RENAMED.items():
        keys[name]["renamed"] = successor
    version = version_of(root)
    return {
        "consumer": CONSUMER,
        "version": version,
        "source": f"the class AxolotlInputConfig of axolotl {version}, and those of the arguments of its plug-ins",
        "unknown": "ignored",
        "keys": {name: row for name, row in keys.items() if name not in _REMOVED},
        "removed": {name: {"doc": doc} for name, doc in _REMOVED.items()},
    }


def _with_arguments(root: Path) -> Iterator[Module]:
    """The modules with the arguments of plug-ins."""
    for path in sorted((root / "axolotl" / "integrations").glob("*/args.py")):
        yield load(root, path.relative_to(root).as_posix())


def _keys(module: Module, name: str) -> dict[str, Row]:
    keys: dict[str, Row] = {}
    for field in fields(module, name):
        if field.name == "model_config":  # pydantic's own
            continue
        said = _said(field)
        row = _row(field.module, field.annotation)
        if {"int", "float", "bool"} & set(row.get("types", ())):
            row["coerced"] = True
        default = said.get("default", field.value if not said else None)
        if default is not None:
            with suppress(NotFixedError):
                row = with_default(row, fixed(field.module, default))
        if "deprecated" in said:
            row["deprecated"] = _DEPRECATED[field.name]
        keys[field.name] = row
        if "alias" in said:
            keys[str(fixed(field.module, said["alias"]))] = {**row, "same": field.name}
    return keys


def _said(field: Field) -> dict[str, ast.expr]:
    """The arguments of `Field(...)`."""
    value = field.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Field":
        return {keyword.arg: keyword.value for keyword in value.keywords if keyword.arg}
    return {}


def _row(module: Module, annotation: ast.expr) -> Row:
    """What an annotation of plain types says; nothing for one with classes, which take several forms each."""
    match annotation:
        case ast.Constant(value=None):
            return dict(PLAIN["None"])
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return union((_row(module, left), _row(module, right)))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return of_choices([fixed(module, part) for part in parts])
        case ast.Subscript(value=ast.Name(id="list" | "tuple" | "dict" as name)):
            return dict(PLAIN[name])
        case ast.Name(id=name) if name in PLAIN:
            return dict(PLAIN[name])
    return {}


def version_of(root: Path) -> str:
    """The version of the release in a folder: that of the metadata beside the package."""
    (metadata,) = root.glob("axolotl-*.dist-info")
    found = re.fullmatch(r"axolotl-(.+)\.dist-info", metadata.name)
    assert found is not None, metadata
    return found[1]


if __name__ == "__main__":
    write(table(Path(sys.argv[1])))
