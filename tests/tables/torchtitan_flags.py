"""The flags of torchtitan 0.3, read from its source: `python -m tests.tables.torchtitan_flags FOLDER`.

FOLDER holds the package `torchtitan` of a release that is told by flags, such as an unpacked wheel. The flags are the
fields of the configuration that a function of a registry returns. Most sections are of one class; what a section of
several may be is open. tyro makes flags of them: a switch takes no value, and each value is one word.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.tables.common import Row, write
from tests.tables.source import Field, Module, Rules, load, row_of_field
from tests.tables.torchtitan import version_of

CONSUMER = "torchtitan-flags"

_TRAINER = "torchtitan/trainer.py"

#: What it does not know stops it: `tyro.cli`.
_RULES = Rules(types={}, unknown="rejected")

#: Sections of which a function of a registry chooses the class, with those whose keys are listed.
_OPEN = {
    "activation_checkpoint": (), "loss": (), "override": (), "tokenizer": (),
    "checkpoint": (
        ("torchtitan/components/checkpointer/dcp.py", "CheckpointManager"),
        ("torchtitan/components/checkpointer/torch_checkpointing.py", "TorchCheckpointingManager"),
    ),
    "dataloader": (("torchtitan/hf_datasets/text_datasets.py", "HuggingFaceTextDataLoader"),),
    "validator": (("torchtitan/components/validate.py", "Validator"),),
}  # fmt: skip

#: Arguments of AdamW, which the groups of most configurations have.
_ADAMW: dict[str, Row] = {
    **{name: {"types": ["float"]} for name in ("lr", "eps", "weight_decay")},
    "betas": {"types": ["list", "string"], "nargs": "+", "each": {"types": ["float"]}},
}


def table(root: Path) -> Row:
    """The flags of the release in a folder."""
    keys: dict[str, Row] = {}
    for field in _fields(*_nested(load(root, _TRAINER), "Trainer")):
        if field.name == "model_spec":
            continue
        if field.name in _OPEN:
            keys[field.name] = {"types": ["object"], "unknown": "open", **_listed(root, _OPEN[field.name])}
        else:
            keys[field.name] = _row(field)
    group = {"optimizer_kwargs": {"types": ["object"], "unknown": "open", "keys": _ADAMW}}
    groups = {"types": ["object"], "unknown": "open", "values": {"types": ["object"], "unknown": "open", "keys": group}}
    keys["optimizer"]["keys"]["param_groups"] = groups
    keys["loss"] = {"types": ["object"], "unknown": "open"}  # a function of a registry adds it
    keys["module"] = {"types": ["string"]}
    keys["config"] = {"types": ["string"], "words": sorted(_functions(root))}
    version = version_of(root)
    return {
        "consumer": CONSUMER,
        "version": version,
        "source": f"the classes of Trainer.Config in torchtitan {version}, and the functions of its registries",
        "unknown": _RULES.unknown,
        "keys": keys,
        "removed": {},
    }


def _functions(root: Path) -> Iterator[str]:
    """The functions that a configuration can be named by."""
    for path in sorted((root / "torchtitan").rglob("config_registry.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield node.name


def _listed(root: Path, classes: tuple[tuple[str, str], ...]) -> Row:
    """The keys that the classes of a section have, of whichever."""
    keys: dict[str, Row] = {}
    for path, outer in classes:
        for field in _fields(*_nested(load(root, path), outer)):
            keys.setdefault(field.name, _row(field))
    return {"keys": keys} if keys else {}


def _nested(module: Module, outer: str) -> tuple[Module, ast.ClassDef]:
    """The class `Config` within another one."""
    found = module.class_of(outer)
    assert found is not None, f"no class {outer} in {module.path}"
    home, node = found
    config = next(each for each in node.body if isinstance(each, ast.ClassDef) and each.name == "Config")
    return home, config


def _fields(module: Module, node: ast.ClassDef) -> tuple[Field, ...]:
    """The fields of a configuration and of those that it inherits from."""
    own: dict[str, Field] = {}
    for base in node.bases:
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            found = module.class_of(base.value.id)
            if found is not None and any(isinstance(each, ast.ClassDef) for each in found[1].body):
                own.update({field.name: field for field in _fields(*_nested(module, base.value.id))})
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id[0] != "_":
            own[each.target.id] = Field(each.target.id, module, each.annotation, each.value)
    return tuple(own.values())


def _row(field: Field) -> Row:
    """The row of a field: of a section its keys, and of what no word tells nothing."""
    annotation = field.annotation
    if isinstance(annotation, ast.Attribute) and annotation.attr == "Config" and isinstance(annotation.value, ast.Name):
        inner = _fields(*_nested(field.module, annotation.value.id))
        unknown = "open" if field.name in _OPEN else "rejected"
        return {"types": ["object"], "unknown": unknown, "keys": dict(_rows(inner))}
    try:
        row = row_of_field(field, _RULES)
    except ValueError:
        return {}
    return _as_words(row)


def _rows(fields: tuple[Field, ...]) -> Iterator[tuple[str, Row]]:
    return ((field.name, _row(field)) for field in fields)


def _as_words(row: Row) -> Row:
    """A row as words of a command line fill it: a switch is its name alone, a list of texts one word."""
    if "keys" in row:
        return {**row, "keys": {name: _as_words(each) for name, each in row["keys"].items()}}
    types = row.get("types", [])
    if types == ["bool"]:
        return {**row, "flag": True}
    if "list" in types:
        return {"types": ["string", "null"]} if row.get("items") == {"types": ["string"]} else {}
    return {} if "object" in types else row


def main() -> None:
    """Write the table of the folder that the command line names."""
    write(table(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
