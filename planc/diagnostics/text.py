"""Diagnostics as text for people: the source line, a caret under the place, the numbers, and what would work.

Whatever a plan's text holds, the terminal stays as it was: control characters, bidirectional overrides and other
characters that do not print are shown as escapes, tabs as four blanks, and wide characters count for two columns, in
the source line and in the line of carets alike. A very long line is cut around the place.
"""

from __future__ import annotations

from collections.abc import Iterable

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.source import Source, Span

_TAB = "    "
_LONGEST_LINE = 120  # code points of a source line that are shown
_BEFORE = 60  # of which so many stand before the place, if the line is longer
_LONGEST_TEXT = 1000  # of a message or note; what a plan wrote may be quoted in it

_RESET = "\033[0m"
_BOLD = "\033[1m"
_GUTTER = "\033[1;34m"
_MARKS = {Severity.ERROR: "\033[1;31m", Severity.WARNING: "\033[1;33m", Severity.INFO: "\033[1;36m"}


def render(diagnostic: Diagnostic, color: bool) -> str:
    """The diagnostic as lines of text, each ending in a newline."""
    labels = (diagnostic.primary, *diagnostic.related)
    gutter = " " * len(str(max(label.span.line for label in labels)))
    lines = [_head(diagnostic, color)]
    for source in dict.fromkeys(label.span.source for label in labels):
        here = [label for label in labels if label.span.source is source]
        lines.append(f"{_painted(gutter + '-->', _GUTTER, color)} {visible(source.name)}:{_place(here[0].span)}")
        for number in sorted({label.span.line for label in here}):
            on_line = [label for label in here if label.span.line == number]
            lines.extend(_excerpt(source, number, on_line, diagnostic, gutter, color))
    bullet = _painted(f"{gutter} =", _GUTTER, color)
    lines.extend(f"{bullet} {_painted('help:', _BOLD, color)} {visible(text)}" for text in diagnostic.help)
    lines.extend(f"{bullet} {_painted('note:', _BOLD, color)} {visible(text)}" for text in diagnostic.notes)
    return "\n".join(lines) + "\n"


def visible(text: str) -> str:
    """The text on one line, each character that does not print as an escape, its middle left out if it is huge."""
    if _LONGEST_TEXT < len(text):
        text = f"{text[: _LONGEST_TEXT // 2]}...{text[-_LONGEST_TEXT // 2 :]}"
    return text if text.isprintable() else "".join(_shown(character) for character in text)


def _head(diagnostic: Diagnostic, color: bool) -> str:
    kind = f"{diagnostic.severity.value}[{diagnostic.code}]"
    message = _painted(f": {visible(diagnostic.message)}", _BOLD, color)
    return _painted(kind, _MARKS[diagnostic.severity], color) + message


def _place(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{line}:{column}"


def _excerpt(
    source: Source, number: int, labels: list[Label], diagnostic: Diagnostic, gutter: str, color: bool
) -> Iterable[str]:
    """The rows of one source line: the line, and one row of marks for each label; a long line is cut for each anew."""
    text = source.line(number)
    labels = sorted(labels, key=lambda label: (label.span.start, label.span.end))
    groups = [labels] if len(text) <= _LONGEST_LINE else [[label] for label in labels]
    bar = _painted(f"{gutter} |", _GUTTER, color)
    numbered = _painted(f"{number:>{len(gutter)}} |", _GUTTER, color)
    for group in groups:
        start, end = _window(text, group[0].span.column - 1)
        before, after = "..." if 0 < start else "", "..." if end < len(text) else ""
        yield f"{numbered} {before}{_cells(text[start:end])}{after}".rstrip()
        for label in group:
            sign, style = ("^", _MARKS[diagnostic.severity]) if label is diagnostic.primary else ("-", _GUTTER)
            first = label.span.column - 1
            last = min(first + label.span.end - label.span.start, end)
            indent = " " * (len(before) + _width(text[start:first]))
            marks = sign * max(1, _width(text[first:last]))
            yield f"{bar} {indent}{_painted(f'{marks} {visible(label.text)}'.rstrip(), style, color)}"


def _window(text: str, column: int) -> tuple[int, int]:
    """First and last code point of the part of a line that is shown."""
    if len(text) <= _LONGEST_LINE:
        return 0, len(text)
    start = max(0, min(column, len(text)) - _BEFORE)
    return start, min(start + _LONGEST_LINE, len(text))


def _cells(text: str) -> str:
    return text if text.isprintable() else "".join(_TAB if c == "\t" else _shown(c) for c in text)


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _width(text: str) -> int:
    """Terminal columns that a text takes once it is shown."""
    text = _cells(text)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # a megabyte of tables, and most plans are ASCII

    return sum(0 if combining(c) else 2 if east_asian_width(c) in ("W", "F") else 1 for c in text)


def _painted(text: str, style: str, color: bool) -> str:
    return f"{style}{text}{_RESET}" if color else text
