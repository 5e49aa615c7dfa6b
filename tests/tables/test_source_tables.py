"""The tables that are made of sources: their defaults, and whether they know what real files hold."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compiling import ROOT
from tests.tables.common import Row, committed, versions_of
from tests.tables.fitting import fits

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CORPUS = ROOT.parent / "shared" / "corpus"
TABLES = [
    (name, version) for name in ("gpt-neox", "megatron", "nanotron", "torchtitan") for version in versions_of(name)
]


def inner(keys: dict[str, Row], path: str = "") -> Iterator[tuple[str, Row]]:
    """Every row of a table, by its whole name."""
    for name, row in keys.items():
        yield path + name, row
        for held in (row, row.get("items", {})):
            yield from inner(held.get("keys", {}), f"{path}{name}.")


def test_there_is_a_table_of_each() -> None:
    assert {name for name, _ in TABLES} == {"gpt-neox", "megatron", "nanotron", "torchtitan"}


@pytest.mark.parametrize(("consumer", "version"), TABLES)
def test_a_default_is_a_value_that_its_key_takes(consumer: str, version: str) -> None:
    asked = 0
    for name, row in inner(committed(consumer, version)["keys"]):
        if row.get("default") is not None and "nargs" not in row:
            assert fits(row["default"], row), name
            asked += 1
    assert 100 < asked


def unknown(value: Any, row: Row, path: str) -> Iterator[str]:
    """What of a value its row does not know, by whole names; what does not fit with its value."""
    if not fits(value, row):
        yield f"{path} = {value!r}"
    elif isinstance(value, dict) and "keys" in row:
        for name, held in value.items():
            if name in row["keys"]:
                yield from unknown(held, row["keys"][name], f"{path}.{name}".lstrip("."))
            else:
                yield f"{path}.{name}".lstrip(".")
    elif isinstance(value, list) and "items" in row:
        for held in value:
            yield from unknown(held, row["items"], path)


def files(folder: str, ending: str) -> list[Path]:
    """Real files of one tool, without those that are written for none of its releases."""
    found = sorted((CORPUS / folder).glob(f"*{ending}"))
    if not found:
        pytest.skip("the corpus of real files is not here")
    return found


def whole(consumer: str) -> tuple[Row, Row]:
    """The row of a whole file, and what is gone."""
    table = committed(consumer, versions_of(consumer)[-1])
    return {"types": ["object"], "keys": table["keys"]}, table["removed"]


def test_gpt_neox_knows_all_keys_of_real_files() -> None:
    row, _ = whole("gpt-neox")
    for path in files("gpt-neox", ".yml"):
        data = {
            key.replace("-", "_"): value for key, value in yaml.load(path.read_text(encoding="utf-8"), LOADER).items()
        }
        assert list(unknown(data, row, "")) == [], path.name


@pytest.mark.parametrize(("consumer", "ending"), [("nanotron", ".yaml"), ("torchtitan", ".toml")])
def test_what_is_not_known_of_real_files_is_known_to_be_gone(consumer: str, ending: str) -> None:
    row, removed = whole(consumer)
    clean = 0
    for path in files(consumer, ending):
        text = path.read_text(encoding="utf-8")
        found = list(unknown(yaml.load(text, LOADER) if ending == ".yaml" else tomllib.loads(text), row, ""))
        assert [name for name in found if name not in removed] == [], path.name
        clean += not found
    assert 17 <= clean


#: Flags of the files of Megatron's development that no release up to 0.19.2 has.
_LATER = {"--ckpt-drop-redundant-extra-state", "--ckpt-fully-parallel-load-per-rank-objects"}


def test_megatron_knows_all_flags_of_real_files() -> None:
    row, _ = whole("megatron")
    seen = set()
    for path in files("megatron", ".yaml"):
        arguments = yaml.load(path.read_text(encoding="utf-8"), LOADER)["MODEL_ARGS"]
        data = {name: value for name, value in arguments.items() if name.startswith("--") and "$" not in str(value)}
        seen |= set(data)
        assert [name for name in unknown(data, row, "") if name not in _LATER] == [], path.name
    assert 350 < len(seen)


def test_torchtitan_agrees_with_the_schema_that_its_classes_made() -> None:
    schema = json.loads((ROOT / "schemas" / "torchtitan.schema.json").read_text(encoding="utf-8"))
    table = committed("torchtitan", "0.2.2")
    names = {"integer": "int", "number": "float", "string": "string", "boolean": "bool", "array": "list"}
    asked = 0

    def compare(held: dict[str, Any], keys: dict[str, Row], path: str) -> None:
        nonlocal asked
        assert set(held["properties"]) == {name for name, row in keys.items() if "only" not in row}, path
        for name, said in held["properties"].items():
            row = keys[name]
            if said.get("type") == "object":
                compare(said, row["keys"], f"{path}.{name}")
            elif "enum" in said:
                assert row["words"] == said["enum"], name
            elif "type" in said:
                assert [kind for kind in row["types"] if kind != "null"] == [names[said["type"]]], name
            asked += 1

    compare(schema, table["keys"], "")
    assert 150 < asked
