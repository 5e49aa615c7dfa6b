"""Files as an editor has them: what is open there hides what is on disk, and what changed on disk is read again."""

from __future__ import annotations

import os

from planc import resources
from planc.commands.files import ENDING, Files, Reading
from planc.source import CATALOGUE, Source


class Buffers(Files):
    """The files of one editor. A text that did not change stays one Source, however often it is asked for."""

    __slots__ = ("_open", "_stamps")

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, Source] = {}
        self._stamps: dict[str, object] = {}
        # planc's own files are what it was installed with, whatever an editor shows of them: they are read first.
        for name in resources.plan_files(ENDING):
            self.load(f"{CATALOGUE}{name}", None)

    def open(self, path: str, text: str) -> Source:
        """A file that is open with a text; `path` is its real path, or any name of a text that has no file."""
        self.close(path)
        shown = os.path.relpath(path) if os.path.isabs(path) else path
        source = self._open[path] = Source(shown, text)
        if os.path.isabs(path):
            self._real_paths[source] = path
        return source

    def close(self, path: str) -> Source | None:
        """The text that was open under a path, which is closed: from here on the disk counts."""
        source = self._open.pop(path, None)
        if source is not None:
            self._real_paths.pop(source, None)
        return source

    def is_current(self, source: Source) -> bool:
        """Whether a text is what its file holds now, as far as is known."""
        path = self._real_paths.get(source)
        return path is None or self._open.get(path, self._readings.get(path)) is source

    def _read(self, path: str, shown: str, real_path: str) -> Reading:
        source = self._open.get(real_path)
        if source is not None:
            return source
        stamp = _stamp(real_path)
        if self._stamps.get(real_path) != stamp:
            before = self._readings.pop(real_path, None)
            if isinstance(before, Source):
                self._real_paths.pop(before, None)
            self._stamps[real_path] = stamp
        return super()._read(path, shown, real_path)


def _stamp(path: str) -> object:
    """What changes with a file; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
