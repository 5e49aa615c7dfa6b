"""Overrides as Megatron-Bridge reads them: words of Hydra's grammar, or YAML of OmegaConf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from planc.targets._data import yaml_text
from planc.targets._megatron_bridge_config import Override

#: A text that Hydra's grammar takes for itself without quotes, and that stands for nothing else.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[./-][A-Za-z0-9_]+)*")
_WORDS = frozenset(("true", "false", "null", "nan", "inf"))


def words(found: Iterable[Override]) -> tuple[str, ...]:
    """`name=value` for each override; `+` adds what Bridge does not show Hydra, because it can be called."""
    return tuple(
        f"{'+' * override.name.startswith('peft.')}{override.name}={_value(override.value)}" for override in found
    )


def yaml_of(found: Iterable[Override]) -> str:
    """The overrides as YAML below the header, nested by their names."""
    data: dict[str, Any] = {}
    for override in found:
        section, _, name = override.name.rpartition(".")
        (data.setdefault(section, {}) if section else data)[name] = override.value
    return yaml_text(data)


def texts(value: Any) -> Iterable[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{name}:{_value(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_value, value)) + "]"
    return str(value) if isinstance(value, int) else repr(value)


def _quoted(text: str) -> str:
    """In a quoted text of Hydra a backslash is itself, unless a quote comes behind it."""
    doubled = re.sub(r"(\\+)(?='|\Z)", lambda match: match[1] * 2, text)
    return "'" + doubled.replace("'", "\\'") + "'"
