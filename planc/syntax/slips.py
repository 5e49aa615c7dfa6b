"""The slips that people make, told apart by the tokens around them; each with the words that help most.

A slip is a function of where reading stopped; it gives a diagnostic, or None if it is another one. They are tried in
the order of SLIPS, and the first that knows the place speaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.diagnostics.names import all_nearest
from planc.source import Source, Span
from planc.syntax.faults import SYNTAX_ERROR
from planc.syntax.lexer import END, ERROR, Token

KINDS = ("gpu", "cluster", "model", "policy", "plan", "template")


class Here(NamedTuple):
    """Where reading stopped: the token at `at` does not fit, `expected` would; `values` is the parser's stack."""

    source: Source
    tokens: list[Token]
    at: int
    values: list[Any]
    expected: frozenset[str]

    def token(self, step: int = 0) -> Token:
        """The token that many steps from the one that does not fit; an END outside the text."""
        index = self.at + step
        return self.tokens[index] if 0 <= index < len(self.tokens) else Token(END, 0, 0)

    def text(self, step: int = 0) -> str:
        """Its text."""
        token = self.token(step)
        return self.source.text[token.start : token.end]

    def span(self, first: int = 0, last: int = 0) -> Span:
        """The span from one token to another."""
        return Span(self.source, self.token(first).start, self.token(last).end)

    def at_top(self) -> bool:
        """Whether a block could begin here."""
        return "KIND" in self.expected

    def touches(self, step: int) -> bool:
        """Whether a token follows the one before it without a blank."""
        return self.token(step - 1).end == self.token(step).start


def slip(here: Here) -> Diagnostic | None:
    """What is said of a place that one of the slips explains."""
    return next((found for known in SLIPS if (found := known(here)) is not None), None)


def replacement(span: Span, message: str, text: str, *, label: str = "") -> Diagnostic:
    """A fault that one text in place of another mends."""
    fix = Fix(f"write `{text}`", (Edit(span, text),), safe=True)
    return SYNTAX_ERROR.at(span, message, label, help=(f"write `{text}`",), fixes=(fix,))


def guesses(span: Span, *texts: str) -> tuple[Fix, ...]:
    """A fix for each text that may be meant in place of a span."""
    return tuple(Fix(f"write `{text}`", (Edit(span, text),), safe=False) for text in texts)


def unclosed_string(source: Source, token: Token) -> Diagnostic | None:
    """The fault of a string that is not closed; None for any other token."""
    if token.type != ERROR or source.text[token.start] != '"':
        return None
    opening = Span(source, token.start, token.start + 1)
    help = ('a string ends with `"` on the same line',)
    word = re.match(r'"[\w./-]+(?=[ \t]*\r?$)', source.text[token.start :], re.M)
    fixes = guesses(Span(source, token.start, token.start + word.end()), f'{word[0]}"') if word else ()
    return SYNTAX_ERROR.at(opening, "the string is not closed", "opened here", help=help, fixes=fixes)


def _string(here: Here) -> Diagnostic | None:
    return unclosed_string(here.source, here.token())


def _other_format(here: Here) -> Diagnostic | None:
    """YAML, JSON, TOML or HCL at the place of a block."""
    if not here.at_top():
        return None
    text, following = here.text(), here.text(1)
    if text == "{":
        return _pasted(here, "JSON", '`{"model": {"layers": 8}}` is `model NAME { layers = 8 }`')
    if text == "[" and here.token(1).type in ("NAME", "KIND", "STRING"):
        return _pasted(here, "TOML", "`[model]` with `layers = 8` below it is `model NAME { layers = 8 }`")
    if following == ":" and here.token().type in ("NAME", "STRING"):
        return _pasted(here, "YAML", "`model:` with `layers: 8` below it is `model NAME { layers = 8 }`")
    if text == "-" and here.text(1) == "-":
        return _pasted(here, "YAML", "`---` begins no document here; remove it")
    if here.token().type == "NAME" and here.token(1).type == "STRING" and here.token(2).type in ("STRING", "LBRACE"):
        kinds = ", ".join(f"`{kind}`" for kind in KINDS)
        return _pasted(here, "HCL", f"a block is `KIND NAME {{ ... }}` with one of {kinds}")
    return None


def _pasted(here: Here, name: str, conversion: str) -> Diagnostic:
    return SYNTAX_ERROR.at(here.span(), f"this reads as {name}", "a block is due here", help=(conversion,))


def _kind(here: Here) -> Diagnostic | None:
    """A kind in capitals, or before a name that is none."""
    text = here.text()
    if not here.at_top() or here.token().type not in ("NAME", "KEY"):
        return None
    if text.lower() in KINDS and text not in KINDS and here.token(1).type in ("NAME", "STRING"):
        return replacement(here.span(), f"`{text}` is no kind of block", text.lower())
    if text in KINDS and here.token(1).type == "QUANTITY":
        name = here.text(1)
        return replacement(here.span(1, 1), f"`{name}` is no name", f'"{name}"', label="a name begins with a letter")
    near = all_nearest(text, KINDS)
    if near and text not in KINDS and here.token().type == "NAME" and here.token(1).type in ("NAME", "STRING"):
        help, fixes = (f"did you mean `{near[0]}`?",), guesses(here.span(), *near)
        return SYNTAX_ERROR.at(here.span(), f"`{text}` is no kind of block", help=help, fixes=fixes)
    if here.token().type == "KEY":
        return SYNTAX_ERROR.at(here.span(), f"`{text}` is set outside a block", help=("put it into a `plan NAME { }`",))
    return None


def _use(here: Here) -> Diagnostic | None:
    """A path without quotes, or behind a colon or an equals sign."""
    if here.text() == "use" and here.token().type == "KEY":
        here = here._replace(at=here.at + 1)
    colon = here.text() in (":", "=")
    if here.text(-1) != "use" or not (colon or here.token().type == "NAME"):
        return None
    end = here.source.text.find("\n", here.token().start)
    line = here.source.text[here.token().start : end if 0 <= end else None].split("#")[0].rstrip()
    span = Span(here.source, here.token().start, here.token().start + len(line))
    path = line.lstrip(":= ").strip("\"'")
    if colon:
        span = span._replace(start=here.token(-1).start)
        return replacement(span, f"`{here.text()}` behind `use`", f'use "{path}"')
    return replacement(span, "`use` takes a quoted path", f'"{path}"')


def _derivation(here: Here) -> Diagnostic | None:
    if "FROM" not in here.expected or here.token(-2).type != "KIND":
        return None
    between = here.source.text[here.token().end : here.token(1).start]
    if here.text() == ":" and (here.token(1).type == END or "\n" in between):
        help = (f"`{here.text(-2)} {here.text(-1)} {{ ... }}` holds its entries in braces",)
        return SYNTAX_ERROR.at(here.span(), "this reads as YAML", "`{` is due here", help=help)
    if here.token(1).type != "NAME":
        return None
    if here.text() in (":", "extends", "inherits", "is", "<", "of"):
        return replacement(here.span(), f"`{here.text()}` derives no block", "from")
    return None


def _colon(here: Here) -> Diagnostic | None:
    """`:` for `=`, in a time of day, or after a JSON key."""
    if here.text() != ":":
        return None
    before = here.token(-1).type
    if before == "QUANTITY" and here.token(1).type == "QUANTITY":
        parts = re.match(r"(\d{1,4}):(\d\d)(?::(\d\d))?", here.source.text[here.token(-1).start :])
        help = ("write it as in `90 min`",)
        fixes: tuple[Fix, ...] = ()
        if parts is not None:
            seconds = int(parts[1]) * 3600 + int(parts[2]) * 60 + int(parts[3] or 0)
            whole = f"{seconds // 3600} h" if seconds % 3600 == 0 else f"{seconds // 60} min"
            text = whole if seconds % 60 == 0 else f"{seconds} s"
            place = here.span(-1)._replace(end=here.token(-1).start + parts.end())
            help, fixes = (f"write `{text}`",), guesses(place, text)
        return SYNTAX_ERROR.at(here.span(), "a time is a number with a unit", help=help, fixes=fixes)
    if before == "STRING":
        key = here.text(-1)
        help = (f"a key stands without quotes: `{key[1:-1]} = ...`",)
        text = key[1:-1] if here.text(1) == "{" else f"{key[1:-1]} ="
        fixes = guesses(here.span(-1), text) if re.fullmatch(r'"[A-Za-z_]\w*"', key) else ()
        return SYNTAX_ERROR.at(here.span(-1), "`:` after a quoted key reads as JSON", help=help, fixes=fixes)
    if before in ("NAME", "KIND"):
        return replacement(here.span(), "`:` in place of `=`", "=")
    return None


def _equals(here: Here) -> Diagnostic | None:
    """`==` for `=`, `=` before a section, `+=`."""
    if here.text() == "==" and here.token(-1).type == "NAME":
        start = here.source.text.rfind("\n", 0, here.token(-1).start) + 1
        apart = here.token(-2).type in ("LBRACE", "COMMA") or not here.source.text[start : here.token(-1).start].strip()
        found = replacement(here.span(), "`==` compares, it does not set", "=")
        return found if apart else found._replace(fixes=guesses(here.span(), "="))
    if here.text() == "{" and here.token(-1).type == "EQUAL":
        name = here.text(-2)
        help = (f"write `{name} {{ ... }}`, or `{name} = WORD {{ ... }}`",)
        fix = Fix("remove the `=`", (Edit(here.span(-1, -1), ""),), safe=True)
        return SYNTAX_ERROR.at(here.span(-1, -1), f"`{name}` is opened with `=`", help=help, fixes=(fix,))
    if here.text() in ("+", "-", "*", "/") and here.token(1).type == "EQUAL":
        help = ("write the whole value after `=`",)
        return SYNTAX_ERROR.at(here.span(0, 1), f"`{here.text()}=` is no operator", "nothing appends", help=help)
    return None


def _chained(here: Here) -> Diagnostic | None:
    """`1 < x < 8`: both comparisons in the user's words."""
    at = next(
        (
            len(here.values) - back
            for back in (2, 3)
            if back < len(here.values)
            and isinstance(here.values[-back], Token)
            and here.values[-back].type == "COMPARE"
        ),
        None,
    )
    if here.token().type != "COMPARE" or at is None:
        return None
    first, left = here.values[at], here.values[at - 1]
    middle = here.source.text[first.end : here.token().start].strip()
    end = 1
    while here.token(end).type in _OPERAND and not (_new_entry(here, end) and 1 < end):
        end += 1
    begin = left.start if isinstance(left, Token) else left.span.start
    right = here.source.text[here.token().start : here.token(end - 1).end]
    meant = f"{here.source.text[begin : first.end]} {middle} and {middle} {right}"
    if "\n" in meant or _LONGEST < len(meant):
        return SYNTAX_ERROR.at(here.span(), "comparisons do not chain", help=("join two comparisons with `and`",))
    edit = Edit(Span(here.source, here.token().start, here.token().start), f"and {middle} ")
    negated = here.source.text[:begin].rstrip("( \t").endswith("not")
    fixes = () if negated else (Fix(f"write `{meant}`", (edit,), safe=True),)
    return SYNTAX_ERROR.at(here.span(), "comparisons do not chain", help=(f"write `{meant}`",), fixes=fixes)


#: Characters of a condition that a help quotes.
_LONGEST = 80
_OPERAND = ("NAME", "DOT", "QUANTITY", "STRING", "LITERAL", "SIGN", "STAR", "SLASH")


def _new_entry(here: Here, step: int) -> bool:
    """Whether an operand follows another one, so that it is no part of the same."""
    before = here.token(step - 1).type
    return before not in ("DOT", "SIGN", "STAR", "SLASH") and here.token(step).type not in (
        "DOT", "SIGN", "STAR", "SLASH",
    )  # fmt: skip


def _dotted(here: Here) -> Diagnostic | None:
    if here.text() != "." or here.token(-1).type != "NAME" or here.token(1).type not in ("KEY", "NAME"):
        return None
    if not here.expected.isdisjoint(("LBRACE", "IN")) and "DOT" not in here.expected:
        section, field = here.text(-1), here.text(1)
        return SYNTAX_ERROR.at(
            here.span(-1, 1),
            "a path is read, not set",
            help=(f"write `{section} {{ {field} = ... }}`",),
            fixes=_braced(here, section, field),
        )
    return None


def _braced(here: Here, section: str, field: str) -> tuple[Fix, ...]:
    """`parallel.tensor = 8` as a section, where one word is the whole value."""
    entry = tuple(here.token(step).type for step in (1, 2, 3))
    if entry not in (("KEY", "EQUAL", "QUANTITY"), ("KEY", "EQUAL", "STRING"), ("KEY", "EQUAL", "NAME")):
        return ()
    if here.token(4).type not in ("KEY", "RBRACE", "COMMA", END) and here.token(5).type not in ("LBRACE", "DOT"):
        return ()
    end = Span(here.source, here.token(3).end, here.token(3).end)
    title = f"write `{section} {{ {field} = {here.text(3)} }}`"
    return (Fix(title, (Edit(here.span(), " { "), Edit(end, " }")), safe=False),)


def _commas(here: Here) -> Diagnostic | None:
    """A comma in a number, or one too many."""
    if here.token().type == "QUANTITY" and here.text(-1) == "," and here.token(-2).type == "QUANTITY":
        number = re.match(r"\d{1,3}(?:,\d{3})+", here.source.text[here.token(-2).start :])
        if number is not None and here.touches(0) and here.touches(-1):
            start = here.token(-2).start
            span = Span(here.source, start, start + number.end())
            return replacement(span, "`,` between digits", number[0].replace(",", "_"))
    if here.text() == "," and _is_tuple(here):
        help, fixes = ("a list is written `[a, b]`",), _in_square_brackets(here)
        return SYNTAX_ERROR.at(here.span(), "a list in round brackets", help=help, fixes=fixes)
    if here.text() == ",":
        fix = Fix("remove the comma", (Edit(here.span(), ""),), safe=True)
        return SYNTAX_ERROR.at(here.span(), "a comma too many", help=("remove it",), fixes=(fix,))
    return None


def _is_tuple(here: Here) -> bool:
    """Whether the innermost open bracket is a `(` that follows an `=`: `betas = (0.9, 0.95)`."""
    return _opening(here) is not None


def _opening(here: Here) -> int | None:
    """Steps back to the `(` of such a list."""
    depth = 0
    for step in range(-1, -here.at - 1, -1):
        kind = here.token(step).type
        depth += (kind in ("RPAR", "RSQB")) - (kind in ("LPAR", "LSQB"))
        if depth < 0:
            return step if kind == "LPAR" and here.token(step - 1).type == "EQUAL" else None
        if kind in ("LBRACE", "RBRACE"):
            return None
    return None


def _in_square_brackets(here: Here) -> tuple[Fix, ...]:
    opening, step = _opening(here), 1
    while here.token(step).type in ("QUANTITY", "STRING", "NAME", "COMMA"):
        step += 1
    if opening is None or here.token(step).type != "RPAR":
        return ()
    edits = (Edit(here.span(opening, opening), "["), Edit(here.span(step, step), "]"))
    return (Fix("write it in square brackets", edits, safe=True),)


def _quantities(here: Here) -> Diagnostic | None:
    """Two numbers in a row: a time in parts, a modulo, a name with a blank."""
    if here.token().type != "QUANTITY":
        return None
    before = here.token(-1)
    if before.type == "QUANTITY" and here.text(-1).rstrip().endswith("%"):
        number = here.text(-1).rstrip("% \t")
        help = (f"`divides({here.text()}, {number})` asks whether nothing is left over",)
        return SYNTAX_ERROR.at(here.span(-1), "`%` is a share, no modulo", help=help)
    if before.type == "QUANTITY":
        meant: tuple[str, ...] = ("write one number with one unit",)
        fixes: tuple[Fix, ...] = ()
        parts = [re.fullmatch(r"(\d+)[ \t]*(d|h|min|s)", here.text(step).strip()) for step in (-1, 0)]
        if parts[0] is not None and parts[1] is not None:
            factor = {"d": 86400, "h": 3600, "min": 60, "s": 1}
            seconds = sum(int(part[1]) * factor[part[2]] for part in parts if part is not None)
            text = f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"
            meant, fixes = (f"write `{text}`",), guesses(here.span(-1), text)
        return SYNTAX_ERROR.at(here.span(-1), "two numbers in a row", help=meant, fixes=fixes)
    if before.type == "NAME" and here.token(-2).type == "EQUAL":
        name = here.source.text[before.start : here.token().end]
        return replacement(here.span(-1), "a name with a blank", f'"{name}"')
    return None


def _operators(here: Here) -> Diagnostic | None:
    text = here.text()
    for step in (0, 1):  # behind a number the first of the two divides
        if here.text(step - 1) == here.text(step) == "/" and here.touches(step):
            place = here.span(step - 1, step)
            fixes = guesses(place, "#")
            return SYNTAX_ERROR.at(place, "`//` opens no comment", help=("a comment begins with `#`",), fixes=fixes)
    if here.token().type == ERROR and text in _CHARACTERS:
        message, advice = _CHARACTERS[text]
        place = here.span(0, 1 if here.text(1) == text and here.touches(1) else 0)
        return SYNTAX_ERROR.at(place, message, help=(advice,), fixes=_spelled(place, text))
    return None


def _spelled(place: Span, character: str) -> tuple[Fix, ...]:
    """A word in place of an operator of other languages, apart from its neighbours; nothing in place of a `;`."""
    if character == ";":
        return (Fix("remove the `;`", (Edit(place, ""),), safe=True),)
    word = {"&": "and", "|": "or", "!": "not"}.get(character)
    text = place.source.text
    torn = text[place.end : place.end + 1] == "=" or (character == "!" and text[place.start - 1].isalnum())
    if word is None or torn:
        return ()
    before = "" if text[place.start - 1 : place.start] in (" ", "\t", "\n", "(", "") else " "
    after = "" if text[place.end : place.end + 1] in (" ", "\t", "\n") else " "
    return (Fix(f"write `{word}`", (Edit(place, f"{before}{word}{after}"),), safe=True),)


#: Characters of other languages, and what this one writes.
_CHARACTERS: dict[str, tuple[str, str]] = {
    ";": ("`;` between entries", "a new line or a comma separates entries"),
    "&": ("`&` is no operator", "write `and`"),
    "|": ("`|` is no operator", "write `or`"),
    "!": ("`!` is no operator", "write `not`"),
    "%": ("`%` is no operator", "write `divides(a, b)` for a whole division, or a share as `8 %`"),
    "$": ("`$` is not expanded", "write the value, or a quoted string that the shell never sees"),
}


def _characters(here: Here) -> Diagnostic | None:
    if here.token().type != ERROR:
        return None
    text = here.text()
    if text.startswith("'"):
        inner = text.strip("'")
        if '"' in inner or "\\" in inner or len(text) < 2 or not text.endswith("'"):
            return SYNTAX_ERROR.at(here.span(), "single quotes around text", help=("text stands in double quotes",))
        return replacement(here.span(), "single quotes around text", f'"{inner}"')
    if ord(text[0]) < 32 or ord(text[0]) == 127:
        help = ("text holds printable characters only",)
        return SYNTAX_ERROR.at(here.span(), f"control character U+{ord(text[0]):04X}", help=help)
    if 127 < ord(text[0]):
        known = _quoted(here) or _blanks(here) or _sign(here)
        if known is not None:
            return known
        help = ("put it into a quoted string or a comment",)
        return SYNTAX_ERROR.at(here.span(), "character outside ASCII", f"U+{ord(text[0]):04X}", help=help)
    return None


#: What word processors make of characters of the language, and what it writes.
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b"
_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_NOTHING = "\u200b\u200c\u200d\u2060\ufeff"
_SIGNS = {
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00d7": "*",
    "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2026": "..",
}  # fmt: skip


def _quoted(here: Here) -> Diagnostic | None:
    """Text in typographic quotes."""
    text, start = here.source.text, here.token().start
    if text[start] not in _QUOTES:
        return None
    match = re.compile(rf'[{_QUOTES}]([^{_QUOTES}"\\\n]*)[{_QUOTES}"]').match(text, start)
    message = f"typographic quote U+{ord(text[start]):04X}"
    if match is None:
        return SYNTAX_ERROR.at(here.span(), message, help=('text stands in plain quotes: `"`',))
    return replacement(Span(here.source, start, match.end()), message, f'"{match[1]}"')


def _blanks(here: Here) -> Diagnostic | None:
    """A blank that only looks like one, with all others of the block in the repair."""
    if here.text().strip(_BLANKS + _NOTHING):
        return None
    edits = tuple(
        Edit(Span(here.source, token.start, token.end), " " * any(each in _BLANKS for each in odd))
        for token in here.tokens
        if token.type == ERROR
        and (odd := here.source.text[token.start : token.end])
        and not odd.strip(_BLANKS + _NOTHING)
    )
    fix = Fix("write plain blanks", edits, safe=True)
    message = f"U+{ord(here.text()[0]):04X} in place of a plain blank"
    return SYNTAX_ERROR.at(here.span(), message, help=("write a plain blank",), fixes=(fix,))


def _sign(here: Here) -> Diagnostic | None:
    meant = _SIGNS.get(here.text())
    return replacement(here.span(), f"U+{ord(here.text()[0]):04X} in place of `{meant}`", meant) if meant else None


SLIPS: tuple[Callable[[Here], Diagnostic | None], ...] = (
    _string, _other_format, _use, _kind, _derivation, _colon, _chained, _equals, _dotted, _commas, _quantities,
    _operators, _characters,
)  # fmt: skip
