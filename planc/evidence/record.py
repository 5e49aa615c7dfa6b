"""A record as it is read, of which nothing is believed: size, depth, form and names are looked at first.

No name in a record is ever opened: names are compared with those that are found in the folders that the user names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from planc import resources
from planc.evidence import canonical, folder
from planc.evidence.canonical import Unreadable
from planc.evidence.envelope import Envelope, opened
from planc.evidence.names import fault_of
from planc.evidence.statement import PREDICATE, STATEMENT, checkpoint_of

#: Bytes of a record: a million files have room in it.
MOST_BYTES = 256 << 20

_SCHEMA = "schemas/evidence.schema.json"

_SHA256 = re.compile("[0-9a-f]{64}")


class Record(NamedTuple):
    """The text of a statement, unread, and the envelope that it came in, if it did."""

    payload: bytes
    envelope: Envelope | None


def read(content: bytes) -> Record:
    """The record in the content of a file; Unreadable if it is none."""
    if MOST_BYTES < len(content):
        raise Unreadable(f"it is larger than {MOST_BYTES >> 20} MiB")
    text = content.removesuffix(b"\n")
    document = canonical.read(text)
    if not isinstance(document, dict):
        raise Unreadable("it is no record")
    if "payload" not in document:
        return Record(text, None)
    envelope = opened(document)
    return Record(envelope.payload, envelope)


def statement_in(record: Record) -> dict[str, Any]:
    """The statement of a record, which has the right form and does not contradict itself; else Unreadable."""
    statement = canonical.read(record.payload)
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT:
        raise Unreadable(f"it is no in-toto Statement: its `_type` is not `{STATEMENT}`")
    kind = statement.get("predicateType")
    if kind != PREDICATE:
        raise Unreadable(f"its `predicateType` is not `{PREDICATE}`, the form that this planc knows")
    _check_form(statement)
    _check_names(statement)
    _check_sums(statement)
    return statement


def _check_form(statement: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(resources.read_text(_SCHEMA))
    error = next(Draft202012Validator(schema).iter_errors(_shortened(statement)), None)
    if error is not None:
        raise Unreadable(f"`{error.json_path.removeprefix('$.')}` is not in the form of a record")


def _shortened(statement: dict[str, Any]) -> dict[str, Any]:
    """A statement with one file where all plainly have the form: with a million of them a schema takes minutes."""
    short = dict(statement)
    if _are_files(short.get("subject"), _of_subject):
        short["subject"] = short["subject"][:1]
    try:
        data = short["predicate"]["dataset"]["folder"]
        if _are_files(data["files"], _of_file):
            few = {**data, "files": data["files"][:1]}
            short["predicate"] = {**short["predicate"], "dataset": {**short["predicate"]["dataset"], "folder": few}}
    except (TypeError, LookupError):  # the schema says what is wrong
        return short
    return short


def _are_files(entries: Any, parts_of: Callable[[Any], tuple[Any, ...]]) -> bool:
    try:
        return isinstance(entries, list) and all(_is_file(*parts_of(entry)) for entry in entries)
    except (TypeError, LookupError):
        return False


def _of_subject(entry: Any) -> tuple[Any, ...]:
    parts = len(entry), len(entry["digest"]), len(entry["annotations"])
    return entry["name"], entry["digest"]["sha256"], entry["annotations"]["size"], parts == (3, 1, 1)


def _of_file(entry: Any) -> tuple[Any, ...]:
    return entry["name"], entry["sha256"], entry["size"], len(entry) == 3


def _is_file(name: Any, sha256: Any, size: Any, is_whole: bool) -> bool:
    texts = isinstance(name, str) and name != "" and isinstance(sha256, str) and _SHA256.fullmatch(sha256) is not None
    return texts and type(size) is int and 0 <= size <= canonical.MOST_INTEGER and is_whole


def _check_names(statement: dict[str, Any]) -> None:
    predicate = statement["predicate"]
    data = predicate["dataset"].get("folder", {"files": [], "links": []})
    for names in (
        [each["name"] for each in (*statement["subject"], *predicate["checkpoint"]["links"])],
        [each["name"] for each in (*data["files"], *data["links"])],
        [each["path"].replace("%", "%25") for each in predicate["emitted"]],  # which planc names, and not a disk
    ):
        for name in names:
            fault = fault_of(name)
            if fault:
                raise Unreadable(f"the name `{name}` in it cannot be: {fault}")
        if len(set(names)) < len(names):
            raise Unreadable("it has a name twice")


def _check_sums(statement: dict[str, Any]) -> None:
    predicate = statement["predicate"]
    checkpoint = checkpoint_of(statement)
    stated = predicate["checkpoint"]
    if (stated["num_files"], stated["size"]) != (len(checkpoint.files), checkpoint.size):
        raise Unreadable("its number of files, or their size, is not that of the files that it lists")
    data = predicate["dataset"].get("folder")
    if data is not None and folder.digest_of(folder.folder_of(data["files"], data["links"])) != data["sha256"]:
        raise Unreadable("the digest of its dataset is not that of the files that it lists")
