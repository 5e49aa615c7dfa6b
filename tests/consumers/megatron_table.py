"""Megatron-LM's flags as data, read from its source.

`python -m tests.consumers.megatron_table CHECKOUT` prints the table of `megatron_flags.json`: what
`megatron/training/arguments.py` adds to its parser, and what it makes of the fields of the dataclasses beside it. Of
megatron-core's TransformerConfig, whose fields become flags too, it holds only those that do not: the others are read
from the installed package.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What a row says of a flag, as `add_argument` takes it; types by their names.
Row = dict[str, Any]

_FILES = ("arguments.py", "training_config.py", "common_config.py", "resilience_config.py")
_KEPT = ("action", "choices", "dest", "nargs")


def table(checkout: Path) -> dict[str, Any]:
    """The flags of a checkout by name, and the fields of TransformerConfig that are none."""
    folder = checkout / "megatron" / "training"
    trees = [ast.parse((folder / name).read_text(encoding="utf-8")) for name in _FILES if (folder / name).exists()]
    classes = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    flags: dict[str, Row] = {}
    without: list[str] = []
    for call in (node for node in ast.walk(trees[0]) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            flags.update(_added(call))
        elif isinstance(call.func, ast.Name) and call.func.id == "ArgumentGroupFactory":
            made, excluded = _made(call, trees[0])
            if made in classes:
                flags.update(_fields(classes[made], excluded))
            else:
                without = excluded
    return {"flags": dict(sorted(flags.items())), "without": sorted(without)}


def _added(call: ast.Call) -> Iterator[tuple[str, Row]]:
    row: Row = {}
    for keyword in call.keywords:
        if keyword.arg in _KEPT:
            row[keyword.arg] = ast.literal_eval(keyword.value)
        elif keyword.arg == "type" and isinstance(keyword.value, ast.Name):
            row["type"] = keyword.value.id
    for name in call.args:
        yield ast.literal_eval(name), row


def _made(call: ast.Call, tree: ast.Module) -> tuple[str, list[str]]:
    assert isinstance(call.args[0], ast.Name)
    excluded: Any = next((keyword.value for keyword in call.keywords if keyword.arg == "exclude"), None)
    if isinstance(excluded, ast.Name):
        given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _names(node, excluded.id)]
        excluded = given[0].value
    return call.args[0].id, [] if excluded is None else ast.literal_eval(excluded)


def _names(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _fields(made: ast.ClassDef, excluded: list[str]) -> Iterator[tuple[str, Row]]:
    for node in made.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        said = _said(node.value)
        if node.target.id in excluded or said.get("init") is False:
            continue
        row: Row = {"dest": said.get("dest", node.target.id), **_typed(ast.unparse(node.annotation))}
        names = [f"--{node.target.id.replace('_', '-')}"]
        if row.get("type") == "bool":
            on = said["default"] is True
            row = {"dest": row["dest"], "action": "store_false" if on else "store_true"}
            names = [f"--{prefix}-{names[0][2:]}" for prefix in ("no", "disable")] if on else names
        for name in said.get("arg_names", names):
            yield name, {**row, **({"nargs": said["nargs"]} if "nargs" in said else {})}


def _said(value: ast.expr | None) -> dict[str, Any]:
    """The default of a field, and what its metadata say for the parser."""
    if not isinstance(value, ast.Call):
        return {"default": None if not isinstance(value, ast.Constant) else value.value}
    said: dict[str, Any] = {"default": None}
    for keyword in value.keywords:
        if keyword.arg == "metadata":
            said.update(ast.literal_eval(keyword.value)["argparse_meta"])
        elif keyword.arg in ("default", "init") and isinstance(keyword.value, ast.Constant):
            said[keyword.arg] = keyword.value.value
    return said


def _typed(annotation: str) -> Row:
    """Type, choices and number of values that an annotation stands for."""
    text = annotation.replace(" | None", "")
    if text.startswith(("list[", "List[")):
        return {**_typed(text[5:-1]), "nargs": "+"}
    if text.startswith("Literal["):
        choices = list(ast.literal_eval(f"({text[8:-1]},)"))
        return {"type": type(choices[0]).__name__, "choices": choices}
    return {"type": text}


if __name__ == "__main__":
    print(json.dumps(table(Path(sys.argv[1])), indent=0, sort_keys=True))
