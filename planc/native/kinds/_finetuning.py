"""What files of fine-tuning tools have in common: numbers as their loaders read them, and settings that exclude each
other.
"""

from __future__ import annotations

import re

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.saying import Sayer, quoted, written
from planc.native.tree import PLACEHOLDER, Entry, Map, Scalar, Seq

#: `1e-4`, which YAML 1.1 takes for a text; OmegaConf reads a number, and pydantic makes one of it.
_EXPONENT = re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?[eE][-+]?[0-9]+")


def as_read(root: Map) -> Map:
    """The entries of a file that are not null, with numbers for texts like `1e-4`, and gaps for `${...}`."""
    return root._replace(entries=tuple(_entry(entry) for entry in root.entries if not _is_null(entry)))


def _is_null(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is None


def _entry(entry: Entry) -> Entry:
    value = entry.value
    if not isinstance(value, Scalar) or not isinstance(value.value, str):
        return entry
    if "${" in value.value:
        return entry._replace(value=value._replace(value=PLACEHOLDER))
    if value.span.text == value.value and _EXPONENT.fullmatch(value.value):
        return entry._replace(value=value._replace(value=float(value.value)))
    return entry


def say_number(sayer: Sayer, path: str, entry: Entry | None, unit: str = "", least: float = 0) -> bool:
    """Says a number that is no flag and not below `least`; whether there was one."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < float("inf"):
        return False
    sayer.say(path, entry, unit=unit)
    return True


def say_count(sayer: Sayer, path: str, entry: Entry | None, unit: str = "") -> bool:
    """Says a whole number from 1 on; whether there was one."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    return isinstance(value, int) and say_number(sayer, path, entry, unit, 1)


def say_modules(sayer: Sayer, entry: Entry | None) -> None:
    """Says which modules are adapted: a list of names, or names by commas; `all` is none."""
    value = None if entry is None else entry.value
    names: list[object] = []
    if isinstance(value, Seq):
        names = [item.value if isinstance(item, Scalar) else None for item in value.items]
    elif isinstance(value, Scalar) and isinstance(value.value, str) and value.value != "all":
        names = [name.strip() for name in value.value.split(",")]
    texts = [written(name) if isinstance(name, str) and name else None for name in names]
    if texts and None not in texts:
        sayer.say("adapter.modules", entry, f"[{', '.join(text for text in texts if text)}]")


def say_text(sayer: Sayer, path: str, entry: Entry | None) -> None:
    """Says a text that is not empty."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if isinstance(value, str) and value and value.isprintable():
        sayer.say(path, entry, quoted(value))


def both(first: Entry, second: Entry, message: str, label: str, *help: str) -> Diagnostic:
    """Two settings that exclude each other."""
    related = (Label(first.span, "beside this"),)
    return faults.CONFLICTING_SETTINGS.at(second.span, message, label, related=related, help=help)


def truthy(root: Map, name: str) -> Entry | None:
    """The entry of a name, if its value counts as true in Python."""
    entry = root.find(name)
    if entry is None:
        return None
    value = entry.value
    if isinstance(value, Scalar):
        return entry if value.is_placeholder or value.value else None
    return entry if (value.entries if isinstance(value, Map) else value.items) else None


def on(root: Map, name: str) -> Entry | None:
    """The entry of a name whose value counts as true in Python, and is no gap of a template."""
    entry = truthy(root, name)
    return None if entry is None or is_open(root, name) else entry


def is_open(root: Map, name: str) -> bool:
    """Whether the value of a name is a gap of a template."""
    entry = root.find(name)
    return entry is not None and isinstance(entry.value, Scalar) and entry.value.is_placeholder
