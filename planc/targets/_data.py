"""JSON and YAML from Python data: numbers as they are meant, keys in the order in which they were put."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planc.targets._shell import HEADER


def real(value: Any) -> float:
    """An exact number as JSON and YAML write one that need not be whole: the float nearest to it."""
    return float(value)


def json_text(data: Mapping[str, Any]) -> str:
    """The data as JSON, indented, ending in a newline; floats in the shortest form that reads back the same."""
    import json

    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def yaml_text(data: Mapping[str, Any]) -> str:
    """The data as YAML below the header, ending in a newline; text that YAML would take for another type is quoted."""
    import yaml

    return f"# {HEADER}\n" + yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=False, width=1000)
