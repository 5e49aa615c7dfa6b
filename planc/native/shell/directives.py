"""Options for a scheduler that a script has in its comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.native.shell.model import Directive
from planc.source import Source, Span

_SCHEDULERS = {"#SBATCH": "slurm", "#PBS": "pbs", "#BSUB": "lsf", "#$": "sge"}
_LINE = re.compile(r"(?m)^(#SBATCH|#PBS|#BSUB|#\$)(?=[ \t-])([^\n]*)")
_NEAR = re.compile(r"(?m)^[ \t]*(#[ \t]*([A-Za-z]{3,8}))(?=[ \t]+--?[A-Za-z])([^\n]*)")
_WORD = re.compile(r"""(?:"[^"\n]*"?|'[^'\n]*'?|\\.|[^\s"'\\])+""")
_QUOTES = re.compile(r"""["']|\\(?=.)""")


class _Word(NamedTuple):
    text: str
    start: int
    end: int


def directives_of(source: Source, first: int, bodies: Sequence[Span]) -> tuple[Directive, ...]:
    """The options in comments; `first` is where the first command starts. Texts of heredocs are other scripts."""
    starts = [body.start for body in bodies]
    found: list[Directive] = []
    for match, mark, misspelt in _lines(source.text):
        index = bisect_right(starts, match.start()) - 1
        if 0 <= index and match.start() < bodies[index].end:
            continue
        line = Span(source, match.start(), match.start() + len(match[0].rstrip()))
        late = first < match.start()
        found += _options(source, mark, match[1], match.start(match.lastindex or 0), line, late, misspelt)
    return tuple(found)


def _lines(text: str) -> Iterator[tuple[re.Match[str], str, bool]]:
    """Lines with options, by what they are meant to start with, and whether they do not."""
    found = [(match, match[1], False) for match in _LINE.finditer(text)]
    taken = {match.start() for match, _, _ in found}
    for match in _NEAR.finditer(text):
        mark = f"#{match[2].upper()}"
        meant = mark if mark in _SCHEDULERS else next((known for known in _SCHEDULERS if _is_slip(mark, known)), None)
        if meant is not None and match.start() not in taken:
            found.append((match, meant, True))
    return iter(sorted(found, key=lambda each: each[0].start()))


def _is_slip(mark: str, known: str) -> bool:
    """Whether two neighbouring letters are swapped."""
    return len(known) == len(mark) and 5 < len(known) and sorted(mark) == sorted(known)


def _options(
    source: Source, mark: str, written: str, start: int, line: Span, late: bool, misspelt: bool
) -> Iterator[Directive]:
    """The options of a line, in which a comment may follow."""
    scheduler = _SCHEDULERS[mark]
    words: list[_Word] = []
    for match in _WORD.finditer(source.text, start, line.end):
        if match[0].startswith("#"):
            break
        words.append(_Word(_QUOTES.sub("", match[0]), match.start(), match.end()))
    index = 0
    while index < len(words):
        name, value, span = words[index], None, Span(source, words[index].start, words[index].end)
        index += 1
        option, place = name.text, None
        if option.startswith("--") and "=" in option:
            option, _, value = option.partition("=")
            place = Span(source, min(name.start + len(option) + 1, name.end), name.end)
            span = Span(source, name.start, name.start + len(option))
        else:
            last = index
            while last < len(words) and not words[last].text.startswith("-"):
                last += 1
            if (
                option.startswith("-")
                and not option.startswith("--")
                and 2 < len(option)
                and scheduler in ("slurm", "pbs")
            ):
                option, value = option[:2], option[2:].removeprefix("=")
                place, last = Span(source, name.start + 2, name.end), index
            elif index < last:
                value = " ".join(word.text for word in words[index:last])
                place = Span(source, words[index].start, words[last - 1].end)
            index = last
        yield Directive(
            scheduler, written, option, value, span, place, line,
            late=late, variable=value is not None and "$" in value, misspelt=misspelt,
        )  # fmt: skip
