"""Files of measurements, read line by line: a log may be gigabytes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from planc.commands import output
from planc.commands.files import reason_of
from planc.commands.output import CannotWork
from planc.diagnostics.text import visible

if TYPE_CHECKING:
    from planc.measuring.series import Series

_LONGEST = 1 << 16  # bytes of a line; no line that says something is longer
_HEAD = 1 << 12  # bytes at the beginning in which a zero byte makes a file binary


def read_measurements(name: str) -> tuple[Series, ...]:
    """What a file measured; the name's ending says whether it is a table, `-` is a log on standard input."""
    from planc.measuring.logs import MARKS, read_log
    from planc.measuring.series import Faulty
    from planc.measuring.tables import read_csv, read_jsonl

    shown = output.quoted(name)
    try:
        with _opened(name) as file:
            if name.endswith(".csv"):
                return read_csv(name, texts(file))
            if name.endswith((".jsonl", ".ndjson")):
                return read_jsonl(name, texts(file))
            found = read_log(name, _marked(file, MARKS))
    except Faulty as fault:
        place = f":{fault.line}" if fault.line else ""
        raise CannotWork(f"{output.quoted(f'{name}{place}')}: {visible(str(fault))}") from None
    except OSError as error:
        raise CannotWork(f"cannot read {shown}: {reason_of(error)}") from error
    except ValueError:  # a path with a zero byte
        raise CannotWork(f"cannot read {shown}: no such file") from None
    if found is None:
        raise CannotWork(
            f"{shown} has no line in which Megatron-LM, torchtitan or DeepSpeed gives the time of a step or the memory "
            "of a card"
        )
    return (found,)


def _opened(name: str) -> IO[bytes]:
    if name != "-":
        return open(name, "rb")
    if sys.stdin is None:
        raise OSError(0, "standard input is closed")
    return sys.stdin.buffer


def texts(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    """The lines of a table, all of which count."""
    from planc.measuring.series import Faulty

    for number, line in lines(file):
        if _LONGEST <= len(line):
            raise Faulty(number, "the line is longer than 64 KiB")
        if b"\0" in line:
            raise Faulty(number, "the file is binary, not text")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Faulty(number, f"the line is not text in UTF-8: byte 0x{line[error.start]:02x}") from None
        yield number, text.removeprefix("\ufeff") if number == 1 else text


def _marked(file: IO[bytes], marks: tuple[bytes, ...]) -> Iterator[tuple[int, str]]:
    """The lines of a log that hold one of the marks; what is around numbers may be in any encoding."""
    for number, line in lines(file):
        if any(mark in line for mark in marks):
            yield number, line.decode("utf-8", "replace")


def lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers and ends; of a line that is too long the first part."""
    from planc.measuring.series import Faulty

    number, goes_on = 0, False
    seen = 0
    while line := file.readline(_LONGEST):
        if not seen and line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise Faulty(0, "the file looks like UTF-16; save it as UTF-8")
        if seen < _HEAD and b"\0" in line[: _HEAD - seen]:
            raise Faulty(0, "the file is binary, not text")
        seen += len(line)
        if not goes_on:
            number += 1
            yield number, line
        goes_on = not line.endswith(b"\n")
