"""The keys of nanotron's YAML, read from its source: `python -m tests.tables.nanotron CHECKOUT [OLDER]`.

OLDER is a folder that holds the package `nanotron` of an earlier release: keys that it has and the checkout lacks go
under `removed`; without it, those of the table in the repository are kept. The checkout may hold a file NOTE, whose
line says what it is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.tables.common import Row, committed, write
from tests.tables.source import Module, Rules, fixed, gone, load, object_of, of_choices, row_of, union

CONSUMER = "nanotron"

_CONFIG = "nanotron/config/config.py"
_MODELS = "nanotron/config/models_config.py"

#: Configurations of models and sections that the examples bring: file, class, and the object whose keys they are.
_EXAMPLES = (
    ("mamba/config.py", "MambaModelConfig", ("model", "model_config")),
    ("mamba/config.py", "MambaInit", ("model", "init_method")),
    ("doremi/doremi/config.py", "DoReMiArgs", ("doremi",)),
)

#: Names that keys of 0.4 have now.
_RENAMED = {
    "data": "data_stages",
    "optimizer.adam_beta1": "optimizer.optimizer_factory.adam_beta1",
    "optimizer.adam_beta2": "optimizer.optimizer_factory.adam_beta2",
    "optimizer.adam_eps": "optimizer.optimizer_factory.adam_eps",
    "optimizer.torch_adam_is_fused": "optimizer.optimizer_factory.torch_adam_is_fused",
}


def table(root: Path, older: Path | None) -> Row:
    """The keys of a checkout, and what became of those of an earlier release."""
    source = root / "src"
    row = _whole(source)
    keys = row["keys"]
    for file, name, place in _EXAMPLES:
        _add(keys, place, object_of(load(root, f"examples/{file}"), name, _rules(source)), f"examples/{file}")
    note = root / "NOTE"
    return {
        "consumer": CONSUMER,
        "version": "main",
        "source": note.read_text(encoding="utf-8").strip() if note.exists() else "src/nanotron/config of a checkout",
        "unknown": row["unknown"],
        "keys": keys,
        "required": row["required"],
        "removed": committed(CONSUMER, "main")["removed"] if older is None else _removed(_whole(older)["keys"], keys),
    }


def _whole(source: Path) -> Row:
    """The object that a whole file is, with the configurations of all models in one."""
    rules, module, models = _rules(source), load(source, _CONFIG), load(source, _MODELS)
    row = object_of(module, "Config", rules)
    held = models.values["NanotronConfigs"]
    assert isinstance(held, ast.Subscript) and isinstance(held.slice, ast.Tuple)
    known = [part for part in held.slice.elts if ast.unparse(part) != "Any"]
    row["keys"]["model"]["keys"]["model_config"] = union([row_of(models, part, rules) for part in known])
    _check(row["keys"], module, "Config")
    return row


def _rules(source: Path) -> Rules:
    """dacite's, strict: a key that it does not know stops it, and `type_hooks` take a member's name in any case."""
    dtypes = _names(load(source, "nanotron/config/utils_config.py"), "str_to_dtype")
    types: dict[str, Row] = {
        "PipelineEngine": {"types": ["string"], "words": ["afab", "1f1b"]},
        "dtype": {"types": ["string"], "words": dtypes},
        "xPath": {"types": ["string"]},
    }
    if (source / "nanotron/nn/attention.py").exists():
        words = _names(load(source, "nanotron/nn/attention.py"), "ALL_ATTENTION_FUNCTIONS")
        types["AttentionImplementation"] = {"types": ["string"], "words": words}
    return Rules(types=types, unknown="rejected", folds=True)


def _names(module: Module, name: str) -> list[str]:
    held = module.values[name]
    assert isinstance(held, ast.Dict)
    return [str(fixed(module, key)) for key in held.keys if key is not None]


def _add(keys: dict[str, Row], place: tuple[str, ...], added: Row, file: str) -> None:
    """Puts the keys of an example where they belong, as such that only it reads."""
    only = f"the trainer of {file.rpartition('/')[0]}"
    *parents, name = place
    for parent in parents:
        keys = keys[parent]["keys"]
    if name not in keys:
        keys[name] = {**added, "only": only}
        return
    for own, row in added["keys"].items():
        if own not in keys[name]["keys"]:
            keys[name]["keys"][own] = {**row, "only": only}


def _check(keys: dict[str, Row], module: Module, name: str) -> None:
    """Adds the words and bounds that the classes themselves check to the rows of their fields, all the way down."""
    found = module.class_of(name)
    assert found is not None
    home, node = found
    for field, said in _checked(home, node):
        if field in keys:
            keys[field] = {**keys[field], **{part: said[part] for part in said if part != "types"}}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            row = keys.get(each.target.id, {})
            inner = row.get("keys") or row.get("items", {}).get("keys")
            for kind in (part.id for part in ast.walk(each.annotation) if isinstance(part, ast.Name)):
                for owner, own in _kinds(home, kind):
                    if inner is not None:
                        _check(inner, owner, own)


def _kinds(module: Module, name: str) -> list[tuple[Module, str]]:
    """The classes that a name of an annotation stands for, each with a module that knows it."""
    if module.class_of(name) is not None:
        return [(module, name)]
    found = module.value_of(name)
    if found is None:
        return []
    owner, value = found
    parts = [part.id for part in ast.walk(value) if isinstance(part, ast.Name)]
    return [(owner, part) for part in parts if owner.class_of(part) is not None]


def _checked(module: Module, node: ast.ClassDef) -> Iterator[tuple[str, Row]]:
    """What `__post_init__` compares fields with: lists of values, and bounds below which it raises."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__post_init__":
            for each in ast.walk(method):
                match each:
                    case ast.Compare(
                        left=ast.Attribute(value=ast.Name(id="self"), attr=attr),
                        ops=[ast.In() | ast.NotIn()],
                        comparators=[ast.List() as values],
                    ):
                        yield attr, of_choices(fixed(module, values))
                    case ast.If(
                        test=ast.Compare(
                            left=ast.Attribute(value=ast.Name(id="self"), attr=attr),
                            ops=[ast.Lt() | ast.LtE() as sign],
                            comparators=[ast.Constant(value=int() as bound)],
                        ),
                        body=[ast.Raise()],
                    ):
                        yield attr, {"minimum" if isinstance(sign, ast.Lt) else "above": bound}


def _removed(old: dict[str, Row], new: dict[str, Row]) -> Row:
    return {name: {"renamed": _RENAMED[name]} if name in _RENAMED else {} for name in gone(old, new)}


if __name__ == "__main__":
    write(table(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None))
