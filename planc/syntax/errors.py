"""What to say about text that cannot be read, and where to go on reading."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.source import Source, Span
from planc.syntax import nodes, slips
from planc.syntax.faults import SYNTAX_ERROR
from planc.syntax.lexer import CLOSING, END, ERROR, OPENING, Token

#: Terminals by the words in which a message names them, in the order in which it lists them.
_WORDS: tuple[tuple[str, str], ...] = (
    ("KIND", "a block"), ("USE", "`use`"), ("KEY", "a field"), ("QUANTITY", "a value"), ("NAME", "a name"),
    ("EQUAL", "`=`"), ("LBRACE", "`{`"), ("RBRACE", "`}`"), ("RSQB", "`]`"), ("RPAR", "`)`"), ("COMMA", "`,`"),
    ("FROM", "`from`"), ("WHEN", "`when`"), ("BECAUSE", "`because`"), ("STRING", "a quoted string"),
    ("COMPARE", "a comparison"),
)  # fmt: skip


def unmatched_brace(source: Source, segment: list[Token]) -> Diagnostic | None:
    """The fault of a segment whose braces do not match, at the brace to blame; None if they match."""
    opened: list[tuple[Token, int]] = []
    suspect: Token | None = None
    closing: Token | None = None
    for at, token in enumerate(segment):
        if token.type == "LBRACE":
            opened.append((token, _indent(source, token)))
        elif token.type == "RBRACE":
            if not opened:
                return _surplus(source, closing, token)
            brace, indent = opened.pop()
            # The first `}` behind which a block ends although entries follow.
            if closing is None and not opened and any(rest.type != "RBRACE" for rest in segment[at + 1 :]):
                closing = token
            # A `}` at the start of its line, further left than the line of its `{`, was meant for another one.
            outdent = _indent(source, token) if _is_first_on_line(source, token) else indent
            if suspect is None and outdent < indent:
                suspect = brace
    if not opened:
        return None
    brace = suspect or opened[-1][0]
    return SYNTAX_ERROR.at(
        _span(source, brace),
        "`{` is never closed",
        "opened here",
        help=("add the missing `}`",),
        notes=("a block with unmatched braces is known by its name only",),
    )


def _surplus(source: Source, closing: Token | None, last: Token) -> Diagnostic:
    """The fault of a `}` too many: where it closes the block too early, or else the last one."""
    if closing is None:
        return SYNTAX_ERROR.at(_span(source, last), "`}` closes nothing", "every `{` before it is closed")
    related = (Label(_span(source, last), "this one then closes nothing"),)
    return SYNTAX_ERROR.at(_span(source, closing), "a `}` too many", "closes the block here", related=related)


def _indent(source: Source, token: Token) -> int:
    """Blanks before the first text on the token's line."""
    start = source.text.rfind("\n", 0, token.start) + 1
    before = source.text[start : token.start]
    return len(before) - len(before.lstrip(" \t"))


def _is_first_on_line(source: Source, token: Token) -> bool:
    start = source.text.rfind("\n", 0, token.start) + 1
    return not source.text[start : token.start].strip(" \t")


def unclosed_string(source: Source, segment: list[Token]) -> Diagnostic | None:
    """The fault of the first string in a segment that is not closed; None if each is."""
    return next((found for token in segment if (found := slips.unclosed_string(source, token)) is not None), None)


def next_entry(tokens: list[Token], at: int) -> int:
    """Index of the first token, from `at` on, at which reading may go on: an entry, a closing bracket or the end.

    Whole groups in brackets are passed over, so that their entries are not taken for those of the outer body.
    """
    while tokens[at].type != END:
        kind = tokens[at].type
        following = tokens[at + 1].type
        before = tokens[at - 1].type if at else ""
        torn = before == ERROR and tokens[at - 1].end == tokens[at].start  # the rest of a word that could not be read
        key = kind == "KEY" and following == "EQUAL" and not torn and before != "DOT"
        if kind in CLOSING or kind in ("VERB", "COMMA") or key:
            return at
        if kind == "NAME" and following in ("LBRACE", "IN") and before not in ("EQUAL", "COMMA", "LSQB", "DOT", ERROR):
            return at
        at = _closing(tokens, at) + 1 if kind in OPENING else at + 1
    return at


def _closing(tokens: list[Token], at: int) -> int:
    """Index of the bracket that closes the one at `at`; that of the bracket itself, or the end, if none does."""
    opening, closing, depth = tokens[at].type, OPENING[tokens[at].type], 0
    for index in range(at, len(tokens)):
        depth += (tokens[index].type == opening) - (tokens[index].type == closing)
        if opening != "LBRACE" and tokens[index].type == "RBRACE":
            return at  # a list ends with the body that it stands in
        if depth == 0:
            return index
    return len(tokens) - 2


class Commas(NamedTuple):
    """Indices of the tokens of a list before which a comma is missing, and the fault."""

    places: tuple[int, ...]
    fault: Diagnostic


def missing_commas(source: Source, tokens: list[Token], at: int, values: list[Any]) -> Commas | None:
    """The commas that are missing in a closed list from the token on that does not fit; None if it is not that."""
    bracket = _unclosed_bracket(values)
    if bracket is None or bracket.type != "LSQB":
        return None
    places, depth = [], 0
    for index in range(at, len(tokens)):
        kind, before = tokens[index].type, tokens[index - 1].type
        if depth == 0 and kind in _BEGINS_ITEM and before in _ENDS_ITEM:
            places.append(index)
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0:
            closed = kind == "RSQB" and places[:1] == [at]
            return _commas(source, tokens, tuple(places)) if closed else None
        if kind == END or (depth == 0 and kind == "KEY"):
            return None
    return None


_BEGINS_ITEM = ("NAME", "QUANTITY", "STRING", "LITERAL")
_ENDS_ITEM = (*_BEGINS_ITEM, "RBRACE", "RPAR")


def _commas(source: Source, tokens: list[Token], places: tuple[int, ...]) -> Commas | None:
    first, last = tokens[places[0] - 1], tokens[places[-1]]
    texts = [source.text[token.start : token.end] for place in places for token in tokens[place - 1 : place + 1]]
    if "%" in texts[0] or any(re.fullmatch(r"\d+[ \t]*(d|h|min|s)|\d{3}", text) for text in texts[1::2]):
        return None  # a modulo, a time in parts, or a number in groups of digits
    edits = tuple(Edit(Span(source, tokens[place - 1].end, tokens[place - 1].end), ",") for place in places)
    commas = "the comma" if len(places) == 1 else f"the {len(places)} commas"
    message = "a comma is missing" if len(places) == 1 else f"{len(places)} commas are missing"
    help = (f"write `{texts[0]}, {texts[1]}`" if first.type in _BEGINS_ITEM else f"a comma before `{texts[1]}`",)
    fixes = (Fix(f"write {commas}", edits, safe=True),)
    span = Span(source, first.start, last.end)
    return Commas(places, SYNTAX_ERROR.at(span, message, "items of a list", help=help, fixes=fixes))


def written_names(source: Source, dropped: list[Any]) -> tuple[str, ...]:
    """The fields that skipped text may have been meant to write: the first name in it, and every key."""
    names: list[str] = []
    for value in dropped:
        if isinstance(value, Token) and value.type in ("KEY", "NAME") and (value.type == "KEY" or not names):
            names.append(source.text[value.start : value.end])
        elif isinstance(value, nodes.Path) and not names:
            names.append(value.names[0].text)
    return tuple(names)


def unexpected(source: Source, tokens: list[Token], at: int, values: list[Any], expected: frozenset[str]) -> Diagnostic:
    """The fault of a token that does not fit where it stands."""
    token = tokens[at]
    span, text = _span(source, token), source.text[token.start : token.end]
    opens_entry = token.type in ("RBRACE", END, "KEY", "VERB") or (
        token.type == "NAME" and tokens[at + 1].type == "LBRACE"
    )
    unclosed = _unclosed_bracket(values) if opens_entry else None
    if unclosed is not None:
        bracket = source.text[unclosed.start : unclosed.end]
        return SYNTAX_ERROR.at(
            _span(source, unclosed),
            f"`{bracket}` is never closed",
            "opened here",
            related=(Label(span, "met this first"),),
        )
    known = slips.slip(slips.Here(source, tokens, at, values, expected))
    if known is not None:
        return known
    words = [word for kind, word in _WORDS if kind in expected]
    found = "the end" if token.type == END or not text else f"`{_short(text)}`"
    return SYNTAX_ERROR.at(span, f"found {found}, expected {_listed(words[:3])}", "does not fit here")


def else_for_because(span: Span) -> Diagnostic:
    """The fault of an `else` where a reason is due."""
    return slips.replacement(span, "`else` in place of `because`", "because")


def _unclosed_bracket(values: list[Any]) -> Token | None:
    """The innermost `[` or `(` that is still open on the parser's stack, if no brace was opened inside it."""
    for value in reversed(values):
        if isinstance(value, Token) and value.type in OPENING:
            return value if value.type != "LBRACE" else None
    return None


def _short(text: str) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= 24 else text[:21] + "..."


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words) or "nothing more"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _span(source: Source, token: Token) -> Span:
    return Span(source, token.start, token.end)
