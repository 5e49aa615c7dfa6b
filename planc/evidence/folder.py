"""What a folder holds, as a value: its files with size and hash, its links, and what could be measured of neither."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

from planc.evidence.canonical import canonical


class File(NamedTuple):
    """A file of a folder; `name` is its path from there, as text."""

    name: str
    size: int
    sha256: str


class Link(NamedTuple):
    """A link to something in the same folder; `target` is where it says that it leads."""

    name: str
    target: str


class Problem(NamedTuple):
    """What was found and is neither; `reason` goes on after its name."""

    name: str
    reason: str


#: How the reason begins where something could not be read, which says nothing of what it holds.
UNREAD = "it cannot be read: "


class Folder(NamedTuple):
    """The content of a folder, each part in the order of the names."""

    files: tuple[File, ...]
    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def as_data(folder: Folder) -> dict[str, Any]:
    """Files and links as plain data."""
    return {"files": [file._asdict() for file in folder.files], "links": [link._asdict() for link in folder.links]}


def digest_of(folder: Folder) -> str:
    """SHA-256 of the canonical text of `as_data`: one number for a whole folder."""
    return sha256(canonical(as_data(folder))).hexdigest()


def folder_of(files: Iterable[dict[str, Any]], links: Iterable[dict[str, Any]]) -> Folder:
    """The folder of plain data that was found to have the right form."""
    return Folder(
        tuple(File(each["name"], each["size"], each["sha256"]) for each in files),
        tuple(Link(each["name"], each["target"]) for each in links),
    )
