"""What torchtitan can be told, read from the installed package.

`python -m tests.consumers.torchtitan_keys` writes `tests/targets/torchtitan/flags.txt` where torchtitan 0.3 is
installed, and `schemas/torchtitan.schema.json` where 0.2 is.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from importlib.metadata import version
from typing import Any

from tests.compiling import ROOT

FLAGS = ROOT / "tests" / "targets" / "torchtitan" / "flags.txt"
SCHEMA = ROOT / "schemas" / "torchtitan.schema.json"

_SCALARS: dict[Any, str] = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def is_old() -> bool:
    """Whether the installed torchtitan reads TOML."""
    return version("torchtitan").startswith("0.2.")


def flags() -> list[str]:
    """The keys of every flag of a run of Llama 3 8B, sorted; those of an activation checkpoint are subcommands."""
    from torchtitan.models.llama3.config_registry import llama3_8b

    found: list[str] = []

    def visit(value: Any, prefix: str) -> None:
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                if prefix + field.name not in ("model_spec", "activation_checkpoint"):
                    visit(getattr(value, field.name), f"{prefix}{field.name}.")
        elif isinstance(value, dict) and value:
            for name, item in value.items():
                visit(item, f"{prefix}{name}.")
        elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
            for at, item in enumerate(value):
                visit(item, f"{prefix}{at}.")
        else:
            found.append(prefix.removesuffix("."))

    visit(llama3_8b(), "")
    return sorted(found)


def schema() -> dict[str, Any]:
    """A JSON schema of the TOML file, made of the classes of JobConfig."""
    from torchtitan.config import JobConfig

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"torchtitan.toml, as torchtitan {version('torchtitan')} reads it",
        **_object(JobConfig),
    }


def _object(owner: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(owner)
    properties = {field.name: _type(hints[field.name]) for field in dataclasses.fields(owner)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _type(hint: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        return _object(hint)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is list:
        return {"type": "array", "items": _type(arguments[0])}
    if origin in (typing.Union, types.UnionType):
        kinds = [_type(argument) for argument in arguments if argument is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return {"type": _SCALARS[hint]}


def main() -> None:
    """Write the file of the installed version."""
    if is_old():
        SCHEMA.write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
    else:
        head = f"# Keys of the flags of torchtitan {version('torchtitan')}: python -m tests.consumers.torchtitan_keys"
        FLAGS.write_text("\n".join((head, *flags())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
