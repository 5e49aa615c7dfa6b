"""Megatron-LM's flags, read from its source: `python -m tests.tables.megatron [--scripts CHECKOUT] FOLDER [OLDER...]`.

FOLDER holds the package `megatron` with `training/arguments.py`: a checkout, or an unpacked wheel of megatron-core 0.17
or later. CHECKOUT holds the files of `_SCRIPTS`, whose flags come on top in the scripts that call them; without it,
those of the table in the repository are kept. OLDER are folders of earlier releases, the oldest first: flags that they
have and FOLDER lacks go under `removed`; without them, the table's are kept.

All values are words of a command line: where the program takes a text, a number will do.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.tables.common import Row, committed, versions_of, write
from tests.tables.source import (
    PLAIN,
    Field,
    Module,
    NotFixedError,
    Rules,
    default_of,
    fields,
    fixed,
    load,
    of_choices,
    row_of,
)

CONSUMER = "megatron"

_ARGUMENTS = "megatron/training/arguments.py"

_INTERVAL: Row = {"types": ["int", "string"], "doc": "an interval, or a list of 0 and 1, a value a layer"}
_PART: Row = {"types": ["string"]}

#: What the functions make of a word that stand as `type` of an argument.
_TYPES: dict[str, Row] = {
    **PLAIN,
    "bool": {"types": ["bool"], "doc": "any text but an empty one counts as true"},
    "la_freq_type": _INTERVAL,
    "moe_freq_type": _INTERVAL,
    "no_rope_freq_type": _INTERVAL,
    "tuple_type": {"types": ["string"], "doc": "numbers with commas between them"},
    "_parse_cuda_graph_modules_arg": _PART,
}

#: argparse: what it does not know stops it (`parse_args` allows no short forms).
_RULES = Rules(types={"Signals": {"types": ["string"]}}, unknown="rejected")

#: Files whose flags a script adds to the others, and how to call such a script.
_SCRIPTS = {
    "examples/inference/offline_inference.py": "a script of inference",
    "examples/mimo/train.py": "a script of examples/mimo",
    "examples/multimodal/multimodal_args.py": "a script of examples/multimodal",
    "megatron/elastification/arguments.py": "a script that takes the flags of megatron/elastification",
    "megatron/inference/utils.py": "a script of inference",
    "megatron/post_training/arguments.py": "a script that takes the flags of megatron/post_training",
    "pretrain_vlm.py": "pretrain_vlm.py",
}

#: Flags that are read still (`validate_args`) or are gone, and the ones to use.
_RENAMED = {
    "--cuda-graph-scope": "--cuda-graph-modules",
    "--enable-cuda-graph": "--cuda-graph-impl",
    "--external-cuda-graph": "--cuda-graph-impl",
    "--hybrid-override-pattern": "--hybrid-layer-pattern",
    "--muon-use-nesterov": "--muon-nesterov",
    "--no-weight-decay-cond-type": "--apply-wd-to-qk-layernorm",
    "--use-rotary-position-embeddings": "--position-embedding-type",
}

#: Flags that are read and have no effect (`validate_args`).
_IDLE = ("--ckpt-fully-parallel-save", "--disable-msc", "--dist-ckpt-format", "--use-dist-ckpt", "--use-mcore-models")

#: Flags that the parser takes and `validate_args` refuses, and the ones to use.
_REFUSED = {
    "--batch-size": "--micro-batch-size",
    "--checkpoint-activations": "--recompute-activations",
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--no-position-embedding": "--position-embedding-type",
    "--warmup": "--lr-warmup-fraction",
}


#: Words that releases before core 0.11 took (their megatron/training/tokenizer/tokenizer.py).
_REMOVED_WORDS = {"--tokenizer-type": ("Llama3Tokenizer", "MistralTokenizer")}


def table(root: Path, scripts: Path | None, older: list[Path]) -> Row:
    """The flags of the source in a folder, those that scripts add, and what became of earlier ones."""
    module = load(root, _ARGUMENTS)
    keys = dict(flags(module))
    version = version_of(root)
    held = committed(CONSUMER, version) if version in versions_of(CONSUMER) else {"keys": {}, "removed": {}}
    removed = _removed(set(keys), [*older, root]) if older else held["removed"]
    for name, successor in _REFUSED.items():
        removed[name] = {"renamed": successor}
        keys.pop(name)
    for name, successor in _RENAMED.items():
        for rows in (keys, removed):
            if name in rows:
                rows[name]["renamed"] = successor
    for name, words in _REMOVED_WORDS.items():
        if name in keys:
            keys[name]["removed_words"] = {word: {} for word in words}
    for name in _IDLE:
        if name in keys:
            keys[name]["deprecated"] = "it has no effect"
    more = {name: row for name, row in held["keys"].items() if "only" in row} if scripts is None else _added(scripts)
    return {
        "consumer": CONSUMER,
        "version": version,
        "source": f"{_ARGUMENTS} of megatron-core {version}, and the files that scripts take flags from",
        "unknown": _RULES.unknown,
        "keys": {**more, **keys},
        "removed": removed,
    }


def version_of(root: Path) -> str:
    """The version of the megatron-core in a folder."""
    module = load(root, "megatron/core/package_info.py")
    return ".".join(str(fixed(module, module.values[part])) for part in ("MAJOR", "MINOR", "PATCH"))


def flags(module: Module) -> Iterator[tuple[str, Row]]:
    """The flags that `add_megatron_arguments` adds, with their rows."""
    functions = {node.name: node for node in module.tree.body if isinstance(node, ast.FunctionDef)}
    for call in _calls(functions["add_megatron_arguments"]):
        if isinstance(call.func, ast.Name) and call.func.id in functions:
            yield from _of_function(module, functions[call.func.id])


def _calls(node: ast.AST) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _of_function(module: Module, function: ast.FunctionDef) -> Iterator[tuple[str, Row]]:
    for call in _calls(function):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            yield from _of_call(module, call)
        elif isinstance(call.func, ast.Name) and call.func.id == "ArgumentGroupFactory":
            yield from _of_class(module, function, call)


def _of_call(module: Module, call: ast.Call) -> Iterator[tuple[str, Row]]:
    names = [str(fixed(module, name)) for name in call.args]
    said: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg == "action":
            said["action"] = _action(keyword.value)
        elif keyword.arg == "type":
            said["row"] = _PART if isinstance(keyword.value, ast.Lambda) else _TYPES[_last(keyword.value)]
        elif keyword.arg in ("choices", "default", "dest", "nargs"):
            said.update(_if_fixed(module, keyword.arg, keyword.value))
    yield from _rows(names, said)


def _action(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else _last(node)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _if_fixed(module: Module, name: str, node: ast.expr) -> dict[str, Any]:
    try:
        return {name: fixed(module, node)}
    except NotFixedError:
        return {}


def _of_class(module: Module, function: ast.FunctionDef, call: ast.Call) -> Iterator[tuple[str, Row]]:
    """The flags that a factory makes of the fields of a dataclass."""
    excluded = next((keyword.value for keyword in call.keywords if keyword.arg == "exclude"), ast.List([]))
    if isinstance(excluded, ast.Name):
        given = excluded.id
        excluded = next(
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == given
        )
    without = fixed(module, excluded)
    for field in fields(module, _last(call.args[0])):
        init = field.said.get("init")
        if field.name not in without and not (isinstance(init, ast.Constant) and init.value is False):
            yield from _of_field(field)


def _of_field(field: Field) -> Iterator[tuple[str, Row]]:
    """The flags of a field, as `_build_argparse_kwargs_from_field` makes them of it."""
    meta = _meta(field)
    said: dict[str, Any] = {"dest": field.name}
    with contextlib.suppress(NotFixedError):
        said["default"] = default_of(field)
    names = [f"--{field.name.replace('_', '-')}"]
    row = {} if "type" in meta else _without_null(row_of(field.module, field.annotation, _RULES))
    if row.get("types") == ["bool"]:
        on = said.get("default") is not False
        said["action"] = "store_false" if on else "store_true"
        names = [f"--{prefix}-{names[0][2:]}" for prefix in ("no", "disable")] if on else names
    elif "items" in row:
        said |= {"nargs": "+", "row": row["items"]}
    else:
        said["row"] = row
    names = meta.pop("arg_names", names)
    if "type" in meta:
        meta["row"] = _TYPES[meta.pop("type")]
    yield from _rows(names, {**said, **meta})


def _meta(field: Field) -> dict[str, Any]:
    """What the metadata of a field say for argparse."""
    held = field.said.get("metadata")
    if not isinstance(held, ast.Dict):
        return {}
    by_name = {fixed(field.module, key): value for key, value in zip(held.keys, held.values, strict=True) if key}
    inner = by_name.get("argparse_meta")
    if not isinstance(inner, ast.Dict):
        return {}
    meta: dict[str, Any] = {}
    for key, value in zip(inner.keys, inner.values, strict=True):
        if key is not None:
            name = str(fixed(field.module, key))
            meta.update({name: _last(value)} if name == "type" else _if_fixed(field.module, name, value))
    return meta


def _without_null(row: Row) -> Row:
    """A row without the null that no word on a command line means."""
    return {**row, "types": [name for name in row["types"] if name != "null"]} if "types" in row else row


def _rows(names: list[str], said: dict[str, Any]) -> Iterator[tuple[str, Row]]:
    """The rows of an argument: one a name, and two where it can be denied."""
    dest = said.get("dest", names[0].lstrip("-").replace("-", "_"))
    action = said.get("action")
    for name in names:
        if action == "BooleanOptionalAction":
            yield name, _named(name, dest, {"types": ["bool"], "flag": True, **_default(said)})
            yield f"--no-{name[2:]}", _named(f"--no-{name[2:]}", dest, {"types": ["bool"], "flag": False})
        elif action in ("store_true", "store_false"):
            on = action == "store_true"
            row = {"types": ["bool"], "flag": on, "default": said.get("default", not on)}
            yield name, _named(name, dest, row)
        else:
            assert action is None, action
            yield name, _named(name, dest, {**_valued(said), **_default(said)})


def _default(said: dict[str, Any]) -> Row:
    return {"default": said["default"]} if "default" in said else {}


def _valued(said: dict[str, Any]) -> Row:
    """The row of a flag that values follow."""
    row: Row = {**said.get("row", PLAIN["str"])}
    if "choices" in said:
        row = {**row, **of_choices(said["choices"])}
    if {"int", "float"} & set(row["types"]):
        row["coerced"] = True
    elif "words" not in row:
        row["types"] = [*row["types"], "int", "float"]
    if "nargs" not in said:
        return row
    return {"types": list(dict.fromkeys(("list", "string", *row["types"]))), "each": row, "nargs": said["nargs"]}


def _named(name: str, dest: str, row: Row) -> Row:
    own = name.lstrip("-").replace("-", "_")
    return row if own == dest else {**row, "dest": dest}


def _added(scripts: Path) -> dict[str, Row]:
    """The flags that scripts add to those of Megatron; one that two of them add is the first one's."""
    found: dict[str, Row] = {}
    for file, only in _SCRIPTS.items():
        module = load(scripts, file)
        for call in _calls(module.tree):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                for name, row in _of_call(module, call):
                    if name not in found:
                        found[name] = {**row, "only": only}
                    elif only not in found[name]["only"]:
                        found[name] = _both(found[name], row, only)
    return found


def _both(one: Row, other: Row, only: str) -> Row:
    """The row of a flag that two scripts have: what they agree on."""
    row = {part: value for part, value in one.items() if part in other and other[part] == value}
    return {**row, "only": f"{one['only']} or {only}"}


def _removed(names: set[str], releases: list[Path]) -> Row:
    """The flags of earlier releases, each with the first one that lacks it."""
    held = [(version_of(release), set(dict(flags(load(release, _ARGUMENTS))))) for release in releases]
    removed: Row = {}
    for at, (_, own) in enumerate(held):
        for name in own - names:
            since = next(version for version, later in held[at + 1 :] if name not in later)
            removed[name] = {"since": since}
    return removed


def main() -> None:
    """Write the table of the folders that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scripts", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("older", type=Path, nargs="*")
    asked = parser.parse_args()
    write(table(asked.folder, asked.scripts, asked.older))


if __name__ == "__main__":
    main()
