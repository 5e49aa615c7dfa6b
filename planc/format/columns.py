"""Words to lines, and what lines that follow each other have in common to columns: names, clauses, comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planc.format.layout import Word
from planc.syntax.lexer import CLOSING, OPENING

_INDENT = "  "
_BEFORE_COMMENT = "  "
_ENDS_NAME = frozenset(("EQUAL", "LBRACE", "IN"))
_CLAUSES = frozenset(("WHEN", "BECAUSE"))
_NOWHERE = -1

#: A line that is longer than this where a column would begin takes no part in it.
_WIDEST = 120


class Line(NamedTuple):
    """A line of the result, without what its columns add.

    kind: of the entries or items that it is made of, empty if it is anything else; lines of one kind share a column.
    column: where in the text it begins, clause: where the reason or condition of a rule begins, or -1.
    """

    text: str
    comment: str
    blank_above: bool
    kind: str = ""
    column: int = _NOWHERE
    clause: int = _NOWHERE


def text_of(words: Sequence[Word]) -> str:
    """The text that the words make up."""
    out: list[str] = []
    for run in _runs(_lines(words)):
        if run[0].blank_above and out:
            out.append("")
        out.extend(_set_in_columns(run))
    return "".join(f"{line}\n" for line in out)


def _lines(words: Iterable[Word]) -> Iterator[Line]:
    """The lines of the words, and those of the comments between them."""
    line: list[Word] = []
    opened = True
    blank = False
    for word in words:
        if word.breaks:
            comments = list(word.comments)
            trailing = comments.pop(0).text if comments and comments[0].trails else ""
            if line:
                yield _line(line, word, trailing, blank)
                opened = line[-1].type in OPENING
            for comment in comments:
                text = _INDENT * word.comment_indent + comment.text
                yield Line("", text, comment.blank and word.edge and not opened)
                opened = False
            line, blank = [], word.blank and not opened
        line.append(word)


def _line(words: list[Word], following: Word, comment: str, blank: bool) -> Line:
    """A line of these words, before a line that begins with `following`."""
    first, depth = words[0], words[0].depth
    text = _INDENT * first.indent
    num_entries, column, clause = 0, _NOWHERE, _NOWHERE
    for word in words:
        text += word.before
        if word.depth == depth:
            num_entries += bool(word.starts)
            if column < 0 and num_entries < 2 and (word.type in _ENDS_NAME or words[0] is not word is words[1]):
                column = len(text) if word.type in _ENDS_NAME or first.type == "VERB" else column
            if clause < 0 and word.type in _CLAUSES:
                clause = len(text)
        text += word.text
    ends = following.depth + (following.type in CLOSING)
    if not first.starts or not following.edge or ends != depth or any(word.depth < depth for word in words):
        return Line(text, comment, blank)
    if first.starts != "LBRACE":
        return Line(text, comment, blank, first.starts)
    kind = f"{'rule' if first.type == 'VERB' else 'entry'} {min(num_entries, 2)}"
    return Line(text, comment, blank, kind, column, clause if num_entries == 1 else _NOWHERE)


def _runs(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines in groups that share columns: a blank line ends one, and so does an entry of several lines."""
    run: list[Line] = []
    for line in lines:
        joins = line.kind or not line.text
        if run and (line.blank_above or not joins or not (run[-1].kind or not run[-1].text)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _set_in_columns(run: list[Line]) -> Iterator[str]:
    rows = [line for line in run if line.text]
    for start, end in _stretches(rows):
        width = _width(line.column for line in rows[start:end])
        rows[start:end] = [_widened(line, line.column, width) for line in rows[start:end]]
    width = _width(line.clause for line in rows)
    rows = [_widened(line, line.clause, width) for line in rows]
    width = max(0, _width(len(line.text) for line in rows if line.comment))
    following = iter(rows)
    for line in run:
        if not line.text:
            yield line.comment
            continue
        row = next(following)
        yield f"{row.text:<{width}}{_BEFORE_COMMENT}{row.comment}" if row.comment else row.text


def _width(offsets: Iterable[int]) -> int:
    return max((offset for offset in offsets if offset <= _WIDEST), default=_NOWHERE)


def _stretches(rows: list[Line]) -> Iterator[tuple[int, int]]:
    """From where up to where rows of one kind follow each other."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end].kind != rows[start].kind:
            yield start, end
            start = end


def _widened(line: Line, at: int, width: int) -> Line:
    """A line with blanks put in at an offset, so that what stands there begins at `width`, if it begins before."""
    if at < 0 or width <= at:
        return line
    blanks = width - at
    text = line.text[:at] + " " * blanks + line.text[at:]
    return line._replace(text=text, clause=line.clause + blanks if at < line.clause else line.clause)
