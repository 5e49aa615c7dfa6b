"""What a folder of data says of itself where the `datasets` of Hugging Face wrote it.

`dataset_info.json` names dataset, configuration, version and splits, and the checksums of what was downloaded;
`state.json`, beside it where `save_to_disk` wrote it, the split and the fingerprint of all that was done to it.

Source: datasets 5.2.0: info.py (DatasetInfo), utils/info_utils.py (SHA-256), arrow_dataset.py (save_to_disk).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from planc.diagnostics.text import visible
from planc.evidence.checkpoints.found import Opener, Unreadable

INFO, STATE = "dataset_info.json", "state.json"

#: Bytes of a file that is read; one with a list of 100,000 downloads is smaller.
_MOST_BYTES = 32 << 20

_VERSION = re.compile(r"\d+\.\d+\.\d+")

#: What a dataset without a version of its own has.
_NO_VERSION = "0.0.0"


class Info(NamedTuple):
    """What is said of the data in one folder; `path` is that folder from the one that was looked into.

    splits: number of samples by the name of the split.
    checksums: SHA-256 of what was downloaded, by its address.
    """

    path: str
    name: str | None
    config: str | None
    version: str | None
    split: str | None
    fingerprint: str | None
    splits: Mapping[str, int]
    checksums: Mapping[str, str]


def described_in(sizes: Mapping[str, int], opened: Opener) -> tuple[Info, ...]:
    """What is said of the data in each folder, in the order of their paths; what cannot be read says nothing."""
    found = []
    for name in sorted(sizes):
        folder, _, file = name.rpartition("/")
        if file == INFO:
            state = f"{folder}/{STATE}".lstrip("/")
            info = _info(folder, _object(opened, name), _object(opened, state) if state in sizes else {})
            found += [info] if any(info[1:]) else []
    return tuple(found)


def faults_in(sizes: Mapping[str, int], opened: Opener) -> tuple[str, ...]:
    """What was not taken from a folder's descriptions, and why, a sentence each."""
    return tuple(
        f"`{visible(name)}` {fault}" for name in sorted(sizes) if name.rpartition("/")[2] == INFO
        if (fault := _fault(opened, name))
    )  # fmt: skip


def as_data(info: Info) -> dict[str, Any]:
    """What is said, as plain data: what is not said is not there."""
    data = {name: value for name, value in info._asdict().items() if value}
    return {"path": info.path, **data}


def of_version(info: Info, version: str | None) -> str:
    """Why a version of the data is not that of the plan; empty if it is, or if either is none of this kind."""
    known = info.version is not None and version is not None and _VERSION.fullmatch(version)
    if not known or info.version in (_NO_VERSION, version) or not _VERSION.fullmatch(info.version or ""):
        return ""
    return f"the plan's `dataset.version` is {version}, and {f'{info.path}/{INFO}'.lstrip('/')} says {info.version}"


def _info(folder: str, info: Mapping[str, Any], state: Mapping[str, Any]) -> Info:
    version = info.get("version")
    splits = info.get("splits")
    sums = info.get("download_checksums")
    return Info(
        folder,
        _text(info.get("dataset_name")) or _text(info.get("builder_name")),
        _text(info.get("config_name")),
        _text(version.get("version_str") if isinstance(version, dict) else version),
        _text(state.get("_split")),
        _text(state.get("_fingerprint")),
        {
            name: split["num_examples"]
            for name, split in (splits.items() if isinstance(splits, dict) else ())
            if isinstance(split, dict) and type(split.get("num_examples")) is int and 0 <= split["num_examples"]
        },
        {
            address: download["checksum"]
            for address, download in (sums.items() if isinstance(sums, dict) else ())
            if isinstance(download, dict) and _text(download.get("checksum"))
        },
    )


def _object(opened: Opener, name: str) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    try:
        return _read(opened, name)
    except (Unreadable, OSError):
        return {}


def _fault(opened: Opener, name: str) -> str:
    try:
        version = _read(opened, name).get("version")
    except Unreadable as reason:
        return f"is not read: {reason}"
    except OSError as error:
        return f"is not read: {str(error.strerror or error).lower()}"
    text = version.get("version_str") if isinstance(version, dict) else version
    return "" if text is None or isinstance(text, str) else "states a version that is no text, and was not recorded"


def _read(opened: Opener, name: str) -> Mapping[str, Any]:
    with opened(name) as file:
        content = file.read(_MOST_BYTES + 1)
    if _MOST_BYTES < len(content):
        raise Unreadable(f"it is larger than {_MOST_BYTES >> 20} MiB")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise Unreadable("it is no JSON") from None
    if not isinstance(document, dict):
        raise Unreadable("it is no object of JSON")
    return document


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
