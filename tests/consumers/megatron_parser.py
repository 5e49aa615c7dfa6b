"""Megatron-LM's parser, made of the table of its flags and of the fields of the installed megatron-core."""

from __future__ import annotations

import argparse
import dataclasses
import json
import types
import typing
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("megatron_flags.json")


def parsed(words: list[str]) -> argparse.Namespace:
    """What Megatron's parser makes of the words; a SystemExit for a flag or value that it does not have."""
    return _parser().parse_args(words)


def flags_of_fields() -> dict[str, dict[str, Any]]:
    """The flags that megatron-core's TransformerConfig becomes, as the table has them."""
    from megatron.core.transformer.transformer_config import TransformerConfig

    without, found = set(_table()["without"]), {}
    for field in dataclasses.fields(TransformerConfig):
        if field.name in without:
            continue
        said = {**_typed(field.type), "dest": field.name, "default": None, **field.metadata.get("argparse_meta", {})}
        names = said.pop("arg_names", [f"--{field.name.replace('_', '-')}"])
        if said.get("type") == "bool":
            on = field.default is True
            said = {"dest": field.name, "action": "store_false" if on else "store_true"}
            if on and "argparse_meta" not in field.metadata:
                names = [f"--{prefix}-{names[0][2:]}" for prefix in ("no", "disable")]
        for name in names:
            found[name] = said
    return found


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name, row in {**_table()["flags"], **flags_of_fields()}.items():
        kept = {key: value for key, value in row.items() if key in ("action", "choices", "dest", "nargs", "default")}
        if "type" in row:
            kept["type"] = _TYPES.get(row["type"], str)
        parser.add_argument(name, **kept)
    return parser


def _frequency(text: str) -> Any:
    """An interval, or a pattern of which layers have something."""
    return json.loads(text)


_TYPES: dict[str, Any] = {
    "int": int, "float": float, "moe_freq_type": _frequency,
    "tuple_type": lambda text: tuple(int(part) for part in text.strip("()").split(",")),
}  # fmt: skip


def _typed(annotation: Any) -> dict[str, Any]:
    """Type, choices and number of values of a field's annotation."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _typed(inner[0])
    if origin is list:
        return {**_typed(inner[0]), "nargs": "+"}
    if origin is typing.Literal:
        return {"type": type(inner[0]).__name__, "choices": list(inner)}
    return {"type": getattr(annotation, "__name__", "str")}
