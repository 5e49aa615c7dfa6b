"""Which data a run saw: what the plan calls it, the digest that is stated, and the files, where their folder is there.

A folder's digest is that of the canonical list of its files (`folder.digest_of`), which planc shows when it makes a
record. A stated SHA-256 has to be that, or of a folder with a single file its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from planc.evidence.dataset_info import Info, of_version
from planc.evidence.dataset_info import as_data as info_data
from planc.evidence.folder import Folder, as_data, digest_of
from planc.plan.model import Plan, Unknown

_SHA256 = re.compile("(?:sha256:)?([0-9a-fA-F]{64})")

#: What was meant to be one: its name, or digits of which some were lost or came twice; no digest of another kind is
#: nearly as long.
_MEANT = re.compile("sha-?256.*|[0-9a-f]{57,71}", re.IGNORECASE | re.DOTALL)


def identity(
    plan: Plan, given: str | None, folder: Folder | None, described: Iterable[Info] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What the record says of a plan's dataset, and what about it does not agree.

    given: a digest that the command line states. described: what the folder says of the data.
    """
    found: dict[str, Any] = {part: value for part in ("name", "version") if (value := _field(plan, part)) is not None}
    faults = []
    planned = _field(plan, "digest")
    stated = planned if given is None else given
    for told, what in ((planned, "the plan's `dataset.digest`"), (given, "the digest of `--dataset-digest`")):
        fault = "" if told is None else _fault(told)
        if fault:
            faults.append(f"{what} {fault}: it is `{told}`")
    if planned is not None and given is not None and _bare(planned) != _bare(given):
        faults.append(f"the plan's `dataset.digest` is {planned}, and `--dataset-digest` {given}")
    if stated is not None:
        found["digest"] = stated
    if folder is not None:
        sha256 = digest_of(folder)
        found["folder"] = {"sha256": sha256, **as_data(folder)}
        if stated is not None:
            found["compared"] = _SHA256.fullmatch(stated) is not None
            if found["compared"] and _bare(stated) not in _digests(folder, sha256):
                faults.append(f"the digest that is stated of the dataset is {stated}, and its files give {sha256}")
    infos = tuple(described)
    if infos:
        found["described"] = [info_data(info) for info in infos]
        faults.extend(filter(None, (of_version(info, found.get("version")) for info in infos)))
    return found, tuple(faults)


def not_compared(data: Mapping[str, Any]) -> str:
    """Why the digest that is stated was compared with nothing; empty if it was compared, or if none is stated."""
    if "digest" not in data or data.get("compared"):
        return ""
    return "it is no SHA-256" if "folder" in data else "no folder of the data was given"


def holds(digest: str, folder: Folder) -> bool | None:
    """Whether a stated digest is that of a folder; None if it is of a kind that is not compared."""
    return _bare(digest) in _digests(folder, digest_of(folder)) if _SHA256.fullmatch(digest) else None


def _fault(digest: str) -> str:
    if not digest.strip() or not digest.isprintable():
        return "is no digest"
    is_misspelt = _MEANT.fullmatch(digest) and not _SHA256.fullmatch(digest)
    return "is no SHA-256, which is written `sha256:` and 64 hexadecimal digits" if is_misspelt else ""


def _digests(folder: Folder, sha256: str) -> tuple[str, ...]:
    alone = tuple(file.sha256 for file in folder.files) if len(folder.files) == 1 else ()
    return (sha256, *alone)


def _field(plan: Plan, name: str) -> str | None:
    value = plan.value(f"dataset.{name}") if f"dataset.{name}" in plan else None
    return None if value is None or isinstance(value, Unknown) else str(value)


def _bare(digest: str) -> str:
    match = _SHA256.fullmatch(digest)
    return match[1].lower() if match is not None else digest
