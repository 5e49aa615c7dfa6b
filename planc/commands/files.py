"""Plan files: read, searched for in folders, and found for `use`. Each real file is read once and is one Source."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from planc import resources
from planc.diagnostics.diagnostic import Diagnostic
from planc.source import CATALOGUE, MAX_BYTES, STDIN, Source, Span

ENDING = ".plan"

#: Milliseconds for which a writer of a pipe is waited for.
_PIPE_MS = 2000

_PROJECT_MARKS = ("pyproject.toml", "planc.toml", ".git")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

#: A file that was read; or what is wrong with its content; or why it could not be read.
Reading = Source | Diagnostic | str


class Revision(NamedTuple):
    """The state of files other than that on disk; `content` gives the bytes at a real path, as many as are wanted."""

    name: str
    content: Callable[[str], bytes]


class Files:
    """The files of one run, by real path. `stdin_name` is the path that standard input stands for, if it does.

    A file of a revision lies where it lies on disk, if it still does, and what it uses is of the same revision.
    """

    __slots__ = ("_known", "_readings", "_real_paths", "_revisions", "_stdin_name")

    def __init__(self, stdin_name: str | None = None) -> None:
        self._stdin_name = stdin_name
        self._readings: dict[str | tuple[str, str], Reading] = {}
        self._revisions: dict[Source, Revision] = {}
        self._known: dict[str, Source | str] = {}
        self._real_paths: dict[Source, str] = {}

    def read(self, path: str) -> Reading:
        """The file at a path, shown under that path; `-` is standard input."""
        if path == "-":
            return self._read(path, self._stdin_name or STDIN, "-")
        return self.read_as(path, path.removeprefix("./"))

    def read_as(self, path: str, shown: str) -> Reading:
        """The file at a path, shown under another name."""
        return self._read(path, shown, os.path.realpath(path))

    def read_from(self, revision: Revision, path: str) -> Reading:
        """The file at a path as it is in a revision."""
        return self._read_from(revision, path.removeprefix("./"), os.path.realpath(path))

    def replace(self, source: Source, text: str) -> Source:
        """A file with another text in place of what was read, from here on; the disk stays as it is."""
        real_path = self._real_paths[source]
        replaced = Source(source.name, text)
        self._readings[real_path] = replaced
        self._real_paths[replaced] = real_path
        return replaced

    def load(self, name: str, importer: Source | None) -> Source | str:
        """The file that `use "name"` in another file means, or the reason why it cannot be had."""
        if name.startswith(CATALOGUE):
            if name not in self._known:
                self._known[name] = self._catalogue(name)
            return self._known[name]
        if "\0" in name:
            return "a path holds no zero byte"
        if os.path.isabs(name):
            return "the path is absolute; it has to be relative to this file"
        importer_path = self._real_paths.get(importer, "-") if importer is not None else "-"
        folder = os.path.realpath("." if importer_path == "-" else os.path.dirname(importer_path))
        real_path = os.path.realpath(os.path.join(folder, name))
        if not _is_inside(real_path, project_root(folder)):
            marks = ", ".join(f"`{mark}`" for mark in _PROJECT_MARKS)
            return f"it lies outside the project, whose root is the nearest folder with one of {marks}"
        shown = real_path if importer is not None and os.path.isabs(importer.name) else os.path.relpath(real_path)
        revision = self._revisions.get(importer) if importer is not None else None
        if revision is not None:
            return _source_or_reason(self._read_from(revision, os.path.relpath(real_path), real_path))
        if os.path.exists(real_path) and not os.path.isfile(real_path):
            return "it is not a file"
        return _source_or_reason(self._read(real_path, shown, real_path))

    def real_path(self, source: Source) -> str | None:
        """Where a source lies; None for standard input."""
        path = self._real_paths.get(source, "-")
        return None if path == "-" else path

    def paths(self) -> tuple[str, ...]:
        """The real paths of all files that were read."""
        return tuple(path for path in self._real_paths.values() if path != "-")

    def place(self, source: Source) -> str:
        """Where a source lies, for what is looked up beside it; standard input without a name is in this folder."""
        path = self._real_paths.get(source, "-")
        return os.path.realpath(STDIN) if path == "-" else path

    def project_path(self, source: Source) -> str:
        """Path of a source from its project's root, with `/`; standard input's is `-`."""
        real_path = self._real_paths[source]
        if real_path == "-":
            return "-"
        return os.path.relpath(real_path, project_root(os.path.dirname(real_path))).replace(os.sep, "/")

    def _catalogue(self, name: str) -> Source | str:
        known = resources.plan_files(ENDING)
        if name.removeprefix(CATALOGUE) not in known:
            return "the catalogue has " + ", ".join(f"`{CATALOGUE}{entry}`" for entry in known)
        path = resources.find(known[name.removeprefix(CATALOGUE)])
        return _source_or_reason(self._read(path, name, os.path.realpath(path)))

    def _read(self, path: str, shown: str, real_path: str) -> Reading:
        if real_path not in self._readings:
            try:
                reading: Reading = _text(shown, _content(path))
            except OSError as error:
                reading = reason_of(error)
            except ValueError:  # a path with a zero byte
                reading = "no such file"
            self._readings[real_path] = reading
            if isinstance(reading, Source):
                named = real_path == "-" and self._stdin_name is not None
                self._real_paths[reading] = os.path.realpath(self._stdin_name or "") if named else real_path
        return self._readings[real_path]

    def _read_from(self, revision: Revision, shown: str, real_path: str) -> Reading:
        key = (revision.name, real_path)
        if key not in self._readings:
            try:
                reading: Reading = _text(f"{shown}@{revision.name}", revision.content(real_path))
            except OSError as error:
                reading = reason_of(error)
            self._readings[key] = reading
            if isinstance(reading, Source):
                self._real_paths[reading] = real_path
                self._revisions[reading] = revision
        return self._readings[key]


def project_root(folder: str) -> str:
    """The nearest folder upward that holds a mark of a project, else the folder itself."""
    at = folder
    while True:
        if any(os.path.exists(os.path.join(at, mark)) for mark in _PROJECT_MARKS):
            return at
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above


def reason_of(error: OSError) -> str:
    """Why the system refused, in lower case: `no such file or directory`."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def _content(path: str) -> bytes:
    """As many bytes as a plan may have, and one more if there is one."""
    if path == "-":
        if sys.stdin is None:
            raise OSError(0, "standard input is closed")
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    if stat.S_ISFIFO(os.stat(path).st_mode):
        return _piped(path)
    with open(path, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _piped(path: str) -> bytes:
    """What comes out of a pipe with a name, which is not waited for where nobody writes into it."""
    import select

    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    content = b""
    try:
        waiting = select.poll()
        waiting.register(number, select.POLLIN)
        while len(content) <= MAX_BYTES:
            came = waiting.poll(_PIPE_MS)
            try:
                piece = os.read(number, MAX_BYTES + 1 - len(content))
            except BlockingIOError:  # a writer that takes its time
                continue
            if not piece and not came and not content:
                raise OSError(0, "nobody writes into this pipe")
            if not piece:
                break
            content += piece
    finally:
        os.close(number)
    return content


def _text(shown: str, content: bytes) -> Source | Diagnostic:
    """The text of a file, or the diagnostic that says why it is none."""
    if len(content) <= MAX_BYTES and b"\0" not in content:
        with suppress(UnicodeDecodeError):
            return Source(shown, content.decode("utf-8").removeprefix("\ufeff"))
    return _no_text(shown, content)


def _no_text(shown: str, content: bytes) -> Diagnostic:
    from planc.syntax.faults import FILE_TOO_LARGE, NOT_TEXT  # most files are text

    if MAX_BYTES < len(content):
        source = Source(shown, content[:MAX_BYTES].decode("utf-8", "replace"))
        label = f"the limit is {MAX_BYTES:,} bytes"
        return FILE_TOO_LARGE.at(Span(source, 0, 0), "the file is larger than 1 MiB", label)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        at = len(content[: error.start].decode("utf-8"))
        source = Source(shown, content.decode("utf-8", "replace"))
        label = f"byte 0x{content[error.start]:02x} at offset {error.start}"
        looks = "it looks like UTF-16; " if content.startswith(_UTF_16) else ""
        help = (f"{looks}save the file as UTF-8",)
        return NOT_TEXT.at(Span(source, at, at + 1), "the file is not text in UTF-8", label, help=help)
    zero = text.find("\0")
    return NOT_TEXT.at(Span(Source(shown, text), zero, zero + 1), "the file is binary, not text", "a zero byte")


def _source_or_reason(reading: Reading) -> Source | str:
    return reading.message if isinstance(reading, Diagnostic) else reading


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
