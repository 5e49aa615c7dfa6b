"""The manifest of a compiled plan: what was written, and from what. `schemas/manifest.schema.json` describes it.

It holds no clock, host, user or absolute path, so the same plan gives the same bytes everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any, NamedTuple

from planc.plan.model import Plan, Record, Unknown
from planc.targets.target import EmittedFile

NAME = "planc.manifest.json"
VERSION = 1  # of the form; a key that is removed or changes its meaning raises it, a new key does not


class Manifest(NamedTuple):
    """The hashes that a folder's files had when planc last wrote them.

    A file may have several while a new version is being put in its place: the old one, and the new one.
    """

    hashes: Mapping[str, tuple[str, ...]]


class Origin(NamedTuple):
    """What made the files beside the plan's own text: with the same again, the same files follow."""

    file: str  # of the plan, from the project's root
    settings: tuple[str, ...] = ()  # of `--set`, in their order
    targets: tuple[str, ...] = ()  # of `--target`; none if all that the plan emits were meant


class Contents(NamedTuple):
    """All that a manifest says."""

    version: str  # planc's
    plan: str
    sha256: str  # of the resolved plan
    origin: Origin
    hashes: Mapping[str, str]
    executable: frozenset[str]
    cut_short: bool


def text_of(
    plan: Plan, origin: Origin, files: Iterable[EmittedFile], version: str, replaced: Mapping[str, tuple[str, ...]]
) -> str:
    """The manifest as text; `version` is planc's.

    `replaced` are the hashes that files of the folder may still have while they are being replaced; a manifest that has
    some is the mark of a compilation that was cut short.
    """
    document: dict[str, Any] = {
        "version": VERSION,
        "planc": version,
        "plan": {"name": plan.name, "file": origin.file, "sha256": hash_of(plan)},
        "files": [
            {"path": file.path, "sha256": digest(file.text), "executable": file.executable}
            for file in sorted(files, key=lambda file: file.path)
        ],
    }
    if origin.settings:
        document["settings"] = list(origin.settings)
    if origin.targets:
        document["targets"] = list(origin.targets)
    if replaced:
        document["replaced"] = {path: list(hashes) for path, hashes in sorted(replaced.items())}
    return json.dumps(document, indent=2) + "\n"


def read(text: str) -> Manifest:
    """The manifest in a text; of a text that is none, one that knows no file, so that nothing is overwritten."""
    hashes: dict[str, tuple[str, ...]] = {}
    try:
        document = json.loads(text)
        for entry in document["files"]:
            hashes[str(entry["path"])] = (str(entry["sha256"]),)
        for path, old in document.get("replaced", {}).items():
            hashes[path] = (*hashes.get(path, ()), *map(str, old))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Manifest({})
    return Manifest(hashes)


def contents(text: str) -> Contents | str:
    """All that a manifest says, or why the text is none."""
    try:
        document = json.loads(text)
        form = canonical(document["version"])  # as text: `true` is no 1, but for Python
        if form != canonical(VERSION):
            return f"it has form {form}, and this planc knows form {VERSION}"
        plan, entries = document["plan"], document["files"]
        settings, targets = document.get("settings", []), document.get("targets", [])
        origin = Origin(_word(plan["file"]), tuple(map(_word, settings)), tuple(map(_word, targets)))
        hashes = {_word(entry["path"]): _word(entry["sha256"]) for entry in entries}
        executable = frozenset(entry["path"] for entry in entries if entry["executable"])
        name, sha256, cut_short = _word(plan["name"]), _word(plan["sha256"]), "replaced" in document
        return Contents(_word(document["planc"]), name, sha256, origin, hashes, executable, cut_short)
    except KeyError as error:
        return f"it lacks `{error.args[0]}`"
    except (ValueError, TypeError, AttributeError, RecursionError):
        return "it is not in the form that planc writes"


def resolved(plan: Plan) -> dict[str, Any]:
    """What a plan means as plain data: every field that has a value, and the targets with their options.

    No place and no file name is in it, nor how a value came about; nor the policies, which judge a plan and change
    nothing.
    """
    return {
        "plan": plan.name,
        "fields": {name: value for name, value in _fields(plan).items() if name not in ("emit", "policies")},
        "targets": [{"name": choice.name, "options": _fields(choice.options)} for choice in plan.targets],
    }


def hash_of(plan: Plan) -> str:
    """SHA-256 of what a plan means."""
    return digest(canonical(resolved(plan)))


def canonical(data: Any) -> str:
    """The one JSON text of plain data: keys sorted, no blanks, ASCII."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _fields(record: Record) -> dict[str, Any]:
    values = ((name, located.value) for name, located in record.fields.items())
    return {name: _value(value) for name, value in values if not isinstance(value, Unknown)}


def _value(value: Any) -> Any:
    if isinstance(value, Record):
        return {"kind": value.kind, "name": value.word, "fields": _fields(value)}
    if isinstance(value, Unknown):
        return {"unknown": True}
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if isinstance(value, Fraction):
        return {"fraction": [_value(value.numerator), _value(value.denominator)]}
    if isinstance(value, int) and 64 < value.bit_length():
        return {"integer": hex(value)}  # Python refuses to write more than 4300 decimal digits
    return value
