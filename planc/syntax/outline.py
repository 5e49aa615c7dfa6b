"""The blocks of a text that is known to be sound, each read when it is first asked for.

For the catalogue, which tests hold to its form: every block begins a line with its kind, and nothing else does. Finding
these lines takes a thousandth of the time that reading the blocks would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planc.source import Source
from planc.syntax.nodes import Block
from planc.syntax.parse import parse_block

_HEADER = re.compile(r"^(gpu|cluster|model|policy|plan|template) (\S+)", re.MULTILINE)


class Outline(Mapping[tuple[str, str], Block]):
    """The blocks of a text by kind and name."""

    __slots__ = ("_places", "_read", "_source")

    def __init__(self, source: Source) -> None:
        headers = list(_HEADER.finditer(source.text))
        ends = [header.start() for header in headers[1:]] + [len(source.text)]
        self._source = source
        self._places = {
            (header[1], header[2]): (header.start(), end) for header, end in zip(headers, ends, strict=True)
        }
        self._read: dict[tuple[str, str], Block] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: tuple[str, str]) -> Block:
        if key not in self._read:
            self._read[key] = parse_block(self._source, *self._places[key])
        return self._read[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
