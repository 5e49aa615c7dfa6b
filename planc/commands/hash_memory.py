"""Hashes of large files, kept from one `planc attest` to the next in the user's cache folder; `verify` never asks here.

A file is known by its path, device, inode, size and both of its times, and only if these were a while ago when it was
read: of a file that was changed within the same tick of the clock in which it was read they say nothing. There is an
entry for each folder that was measured, beside those of what `lint` keeps.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from typing import Any

from planc.commands import cache
from planc.commands.hashing import Found, Memory

#: Seconds for which a file was left alone before it was read; clocks of file systems may be as coarse as two.
_SETTLED = 5

#: Files of a folder beyond which reading the entry would take as long as it saves.
_MOST_FILES = 200_000

_SHA256 = re.compile("[0-9a-f]{64}")

#: What is kept of a folder: by path all of `Found` but the path, and the hash.
_Kept = dict[str, tuple[Any, ...]]


def memory_of(folder: str) -> Memory | None:
    """What is remembered of a folder; None where nothing can be kept."""
    where = cache.own_folder()
    if where is None:
        return None
    path = os.path.join(where, cache.key_of(f"hashes 1\0{os.path.realpath(folder)}"))
    kept, before = _read(path), time.time_ns() - _SETTLED * 10**9

    def known(found: Found) -> str | None:
        entry = kept.get(os.fsdecode(found.path))
        return str(entry[5]) if entry is not None and entry[:5] == found[1:] else None

    def keep(hashes: dict[Found, str]) -> None:
        settled = {
            os.fsdecode(found.path): (*found[1:], digest)
            for found, digest in hashes.items()
            if max(found.modified, found.changed) < before
        }
        if settled != kept and len(settled) <= _MOST_FILES:
            cache.put(path, settled)

    return Memory(known, keep)


def _read(path: str) -> _Kept:
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return {name: tuple(entry) for name, entry in found.items() if _SHA256.fullmatch(entry[5])}
    return {}
