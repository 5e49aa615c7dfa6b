"""Settings as torchtitan reads them: flags of tyro, or TOML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planc.targets._shell import HEADER

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def flags(settings: Iterable[tuple[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """The words of every flag; a flag of several values is followed by all of them."""
    return tuple(_flag(key, value) for key, value in settings)


def toml_text(settings: Iterable[tuple[str, Any]]) -> str:
    """The settings as TOML below the header, a table a section in the order in which each begins."""
    tables: dict[str, list[str]] = {}
    for key, value in settings:
        section, _, name = key.rpartition(".")
        tables.setdefault(section, []).append(f"{name} = {_literal(value)}\n")
    return f"# {HEADER}\n" + "".join(f"\n[{section}]\n{''.join(lines)}" for section, lines in tables.items())


def _flag(key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, bool):
        section, _, name = f"--{key}".rpartition(".")
        return (f"--{key}",) if value else (f"{section}.no_{name}",)
    if isinstance(value, tuple):
        return (f"--{key}", *(item if isinstance(item, str) else ",".join(item) for item in value))
    return (f"--{key}={value}",) if isinstance(value, str) else (f"--{key}", str(value))


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(map(_character, value)) + '"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return str(value)


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if " " <= character <= "~" else f"\\U{ord(character):08x}"
