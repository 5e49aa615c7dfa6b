"""Rows of a table, made of pydantic's models as DeepSpeed defines them."""

from __future__ import annotations

import inspect
import json
import typing
from typing import Any

from tests.tables.common import Row, of_hint

#: Bounds of pydantic's fields, by the names that a row has for them.
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "above", "lt": "below"}


def of_model(model: Any, section: str) -> Row:
    """The row of an object that a model reads; a deprecated key names its successor by the path from the section on."""
    keys: dict[str, Row] = {}
    for name, field in model.model_fields.items():
        row = _of_field(model, name, field, section)
        if field.alias and field.alias != name:
            keys[name] = {**row, "same": field.alias}
        keys[field.alias or name] = row
    unknown = {"forbid": "rejected", "ignore": "ignored", "allow": "open"}[model.model_config.get("extra", "ignore")]
    # DeepSpeed's models leave out what is "auto" before pydantic sees it, so that the default holds.
    return {"types": ["object"], "keys": keys, "unknown": unknown, "auto_dropped": True}


def _of_field(model: Any, name: str, field: Any, section: str) -> Row:
    inner = nested(field.annotation)
    if inner is None:
        row = of_hint(field.annotation)
    else:
        row = of_model(inner, f"{section}.{field.alias or name}")
        if type(None) in typing.get_args(field.annotation):
            row["types"] = ["object", "null"]
    if {"int", "float", "bool"} & set(row.get("types", ())):
        row["coerced"] = True
    for mark in field.metadata:
        row |= {new: getattr(mark, old) for old, new in _BOUNDS.items() if hasattr(mark, old)}
    if not field.is_required() and _is_data(default := field.get_default(call_default_factory=True)):
        row["default"] = default
    return row | _deprecated(model, field, section)


def nested(hint: Any) -> Any:
    """The model of a field, if its value is one."""
    candidates = (hint, *typing.get_args(hint))
    return next((kind for kind in candidates if inspect.isclass(kind) and hasattr(kind, "model_fields")), None)


def _is_data(value: Any) -> bool:
    """Whether a default says something as JSON: an empty object would only hide what stands in its rows."""
    if isinstance(value, dict):
        return False
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def _deprecated(model: Any, field: Any, section: str) -> Row:
    said = field.json_schema_extra or {}
    if not said.get("deprecated"):
        return {}
    new = said.get("new_param", "")
    if new in model.model_fields:
        row: Row = {"renamed": f"{section}.{model.model_fields[new].alias or new}"}
        made = said.get("new_param_fn")
        if made is not None:
            row["becomes"] = json.loads(made(True).model_dump_json(exclude_unset=True))
        return row
    return {"deprecated": f"use {new}" if new else "has no effect"}
