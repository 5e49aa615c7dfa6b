"""The hash by which GitHub's code scanning recognises a line, so that an alert stays one when its line moves.

Code scanning uses no other fingerprint than this one (`primaryLocationLineHash`), and the action that uploads a file
works it out again and complains of any other value. What is hashed: the first hundred UTF-16 units from the line's
start on, over line ends but without blanks and tabs, as a polynomial in 37 modulo 2^64; behind it stands how often the
same hundred units came up so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from planc.source import Source

_WINDOW = 200  # bytes: a hundred units
_FACTOR = 37
_END = "\uffff"  # stands after the last character


def line_hashes(source: Source, numbers: Iterable[int]) -> dict[int, str]:
    """The hash of each of the lines with these numbers (from 1), such as `39fa2ee980eb94b0:1`."""
    wanted = set(numbers)
    text = source.text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n") + _END
    coded = [line.encode("utf-16-be", "surrogatepass") for line in lines]
    units = b"".join(coded) + bytes(_WINDOW)
    seen: Counter[bytes] = Counter()
    hashes = {}
    start = 0
    for number, line in enumerate(coded, 1):
        window = units[start : start + _WINDOW]
        seen[window] += 1
        if number in wanted:
            hashes[number] = f"{_polynomial(window):x}:{seen[window]}"
        start += len(line)
    return hashes


def _polynomial(window: bytes) -> int:
    value = 0
    for high, low in zip(window[::2], window[1::2], strict=True):
        value = (value * _FACTOR + high * 256 + low) % 2**64
    return value
