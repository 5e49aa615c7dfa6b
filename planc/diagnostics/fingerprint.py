"""What a fault is known by from one run to the next, when lines have moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256

from planc.diagnostics.diagnostic import Diagnostic
from planc.source import Source


def _name(source: Source) -> str:
    return source.name


def fingerprints(diagnostics: Iterable[Diagnostic], name_of: Callable[[Source], str] = _name) -> tuple[str, ...]:
    """A fingerprint for each diagnostic of one run, in their order: 32 hexadecimal digits, each of them once.

    It is made of the file's name (that under which it is shown, or what `name_of` gives), the code, the text of the
    place and its whole line, both without blanks. So it stays when other lines come or go and when the file is laid out
    anew, and it changes when the line is rewritten.

    The message is left out: it holds numbers that are written elsewhere (`does not divide the world size 64`), and a
    cluster with more nodes would make an old fault a new one. Faults that are alike in all of this are counted, from
    the top of the file; when the first of two is repaired, it is the second one's fingerprint that is gone.
    """
    seen: Counter[str] = Counter()
    lines: dict[tuple[Source, int], str] = {}  # a line of a megabyte may hold a thousand faults
    found = []
    for diagnostic in diagnostics:
        source = diagnostic.primary.span.source
        number = diagnostic.primary.span.line
        if (source, number) not in lines:
            lines[source, number] = _digest(_without_blanks(source.line(number)))
        place = _digest(_without_blanks(diagnostic.primary.span.text))
        fault = _digest("\0".join((name_of(source), diagnostic.code, place, lines[source, number])))
        found.append(_digest(f"{fault}\0{seen[fault]}")[:32])
        seen[fault] += 1
    return tuple(found)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
