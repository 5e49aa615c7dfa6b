"""Files in which a run reported metrics, read line by line and hashed on the way: both are of the same bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import IO, cast

from planc.commands.files import reason_of
from planc.commands.measurements import lines, texts
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.text import visible
from planc.evidence.metric_files import is_cut_short, read_csv, read_jsonl, read_trainer_state
from planc.evidence.metric_logs import values_in
from planc.evidence.metrics import Value, summed_up
from planc.evidence.names import text_of
from planc.evidence.software import versions_in
from planc.evidence.statement import Report
from planc.measuring.series import Faulty

#: Bytes of a trainer_state.json, which cannot be read line by line.
_MOST_STATE = 256 << 20

_FORMS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "trainer_state"}


def read_metrics(name: str) -> Report:
    """What a file of metrics says, in the form that its ending names; without one of these it is a log."""
    report = read_log(name)
    if not report.metrics:
        raise CannotWork(f"{quoted(name)} reports no metric")
    return report


def read_log(name: str) -> Report:
    """What a log says, perhaps nothing; its ending may name a form too, as that of a log in lines of JSON does."""
    return _read(name, _FORMS.get(os.path.splitext(name)[1].lower(), "log"))


def read_as(name: str, form: str) -> Report:
    """What a file says in the form in which a record has it, perhaps nothing."""
    return _read(name, form)


def hash_of(name: str) -> str:
    """SHA-256 of a file."""
    with _opened(name) as file:
        hashed = _Hashed(file)
        while hashed.read(1 << 20):
            pass
    return hashed.state.hexdigest()


class _Hashed:
    """A file that hashes what is read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.state = sha256()
        self.size = 0
        self.last = b""  # what was read last: of a file that is read line by line its last line

    def readline(self, limit: int) -> bytes:
        return self._noted(self._file.readline(limit))

    def read(self, limit: int) -> bytes:
        return self._noted(self._file.read(limit))

    def _noted(self, content: bytes) -> bytes:
        self.state.update(content)
        self.size += len(content)
        self.last = content or self.last
        return content


def _read(name: str, form: str) -> Report:
    software: dict[str, set[str]] = {}
    try:
        with _opened(name) as file:
            before = os.fstat(file.fileno())
            hashed = _Hashed(file)
            metrics = summed_up(_values(cast("IO[bytes]", hashed), form, software))
            after = os.fstat(file.fileno())
    except Faulty as fault:
        place = f":{fault.line}" if fault.line else ""
        raise CannotWork(f"{quoted(f'{name}{place}')}: {visible(str(fault))}") from None
    if (before.st_size, before.st_mtime_ns) != (hashed.size, after.st_mtime_ns):
        raise CannotWork(f"{quoted(name)} changed while it was read; wait until the run has ended")
    versions = {name: tuple(sorted(found)) for name, found in sorted(software.items())}
    shown = text_of(os.fsencode(os.path.basename(name)))
    is_cut = form == "jsonl" and is_cut_short(hashed.last.decode("utf-8", "replace"))
    return Report(shown, form, hashed.size, hashed.state.hexdigest(), metrics, versions, is_cut)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """A regular file, opened; what goes wrong until it is closed is told by its name."""
    try:
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise CannotWork(f"cannot read {quoted(name)}: it is no file")
            yield file
    except OSError as error:
        raise CannotWork(f"cannot read {quoted(name)}: {reason_of(error)}") from error
    except ValueError:  # a path with a zero byte
        raise CannotWork(f"cannot read {quoted(name)}: no such file or directory") from None


def _values(file: IO[bytes], form: str, software: dict[str, set[str]]) -> Iterator[Value]:
    if form == "csv":
        return read_csv(_noted(texts(file), software))
    if form == "jsonl":
        return read_jsonl(_noted(texts(file), software))
    if form == "trainer_state":
        return read_trainer_state(_whole(file))
    return _of_log(file, software)


def _whole(file: IO[bytes]) -> str:
    content = file.read(_MOST_STATE + 1)
    if _MOST_STATE < len(content):
        raise Faulty(0, f"it is larger than {_MOST_STATE >> 20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Faulty(0, "it is not text in UTF-8") from None


def _of_log(file: IO[bytes], software: dict[str, set[str]]) -> Iterator[Value]:
    decoded = ((number, line.decode("utf-8", "replace")) for number, line in lines(file))
    for _, text in _noted(decoded, software):
        yield from values_in(text)


def _noted(read: Iterable[tuple[int, str]], software: dict[str, set[str]]) -> Iterator[tuple[int, str]]:
    for number, text in read:
        for name, version in versions_in(text):
            software.setdefault(name, set()).add(version)
        yield number, text
