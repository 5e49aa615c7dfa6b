"""What the words of a script expand to: variables, defaults, lists, quotes, arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from planc.native.shell import arithmetic
from planc.native.shell.nodes import Node
from planc.native.shell.scopes import Scope
from planc.native.shell.values import Array, Literal, Piece, Scalar, Unknown, Unset, Value, Word
from planc.source import Source, Span

#: Pieces that all words of a script together may have; what comes after is unknown.
MOST_PIECES = 100_000

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {
    "": _ESCAPE,
    '"': re.compile(r'\\([$`"\\\n])'),
    "<<": re.compile(r"\\([$`\\\n])"),
}
_PATTERN = re.compile(r"[*?]|\[[^\]]+\]")
_BRACES = re.compile(r"\{[^{}]*(,|\.\.)[^{}]*\}")
_BLANK = re.compile(r"[ \t\n]+")
_PLAIN = re.compile(r"[\w./:=@%+,^-]*")
_EXPANSIONS = {"simple_expansion", "expansion"}
# What the grammar lets begin with the blanks before it.
_BLANKS = re.compile(r"(?:\s|\\\n)+")
_INDENTED = {*_EXPANSIONS, "arithmetic_expansion", "command_substitution", "string"}
_C_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v", "\\": "\\",
    "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_DEFAULTS = {":-", "-", ":=", "="}
_ALTERNATIVES = {":+", "+"}
_REQUIRED = {":?", "?"}


class Part(NamedTuple):
    """A piece of what is to become words.

    split: blanks in it end a word; glob: it may be a pattern of file names; quoted: it is a word even if it is empty.
    """

    piece: Piece
    split: bool = False
    glob: bool = False


class Break(NamedTuple):
    """The end of a word between two items of a list."""


class Whole(NamedTuple):
    """Any number of words."""

    unknown: Unknown


_Part = Part | Break | Whole


class Words:
    """The expansion of words, which counts its work."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._left = MOST_PIECES

    def span(self, node: Node) -> Span:
        """The place of a node."""
        return Span(self.source, node.start, node.end)

    def text_between(self, before: Node, after: Node) -> str:
        """The text between two nodes."""
        return self.source.text[before.end : after.start]

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.source.text[node.start : node.end]

    def expand(self, node: Node, scope: Scope) -> list[Word]:
        """The words that an argument becomes."""
        span = self.span(node)
        if self._braces(node):
            return [Word(span, (Unknown("braces", span.text),), many=True)]
        parts = [*self._parts(node, scope, quoted="")]
        if scope.get("IFS") is not None:
            parts = [_unsplit(part) for part in parts]
        words = self._split(span, parts)
        if span.text.startswith("~") and words:
            words[0] = Word(span, (Unknown("a home folder", span.text),))
        self._left -= sum(len(word.pieces) + 1 for word in words)
        return words if 0 <= self._left else [Word(span, (Unknown("too long", span.text),), many=True)]

    def scalar(self, node: Node | None, scope: Scope, span: Span) -> Word:
        """The one word that a variable is set to."""
        if node is None:
            return Word(span, ())
        place = self.span(node)
        pieces: list[Piece] = []
        for part in self._parts(node, scope, quoted=""):
            if isinstance(part, Part):
                pieces.append(part.piece)
            elif isinstance(part, Whole):
                pieces.append(part.unknown)
            else:
                pieces.append(Literal(" ", place))
        if re.match(r"~|.*:~", place.text):
            pieces = [Unknown("a home folder", place.text)]
        pieces = [piece for piece in pieces if piece.text]
        self._left -= len(pieces) + 1
        return Word(place, tuple(pieces) if 0 <= self._left else (Unknown("too long", place.text),))

    def body(self, nodes: tuple[Node, ...], start: int, end: int, scope: Scope) -> tuple[Piece, ...]:
        """The pieces of text between two places in which expansions take place as in a heredoc."""
        parts = self._mixed(nodes, start, end, scope, quoted="<<")
        return tuple(
            part.piece if isinstance(part, Part) else part.unknown for part in parts if not isinstance(part, Break)
        )

    def number(self, node: Node, scope: Scope) -> Piece:
        """What `$((...))` gives."""
        inner = [*node.named_children()]
        text = self.text(node)
        if len(inner) == 1 and not _changes(text):
            value = arithmetic.evaluate(inner[0], self.source.text, lambda part: self._operand(part, scope))
            if value is not None:
                return Literal(str(value), self.span(node))
        return Unknown("arithmetic", text)

    def _operand(self, node: Node, scope: Scope) -> str | None:
        """The text that a name or an expansion holds within arithmetic."""
        if node.type in ("word", "variable_name"):
            held = scope.get(self.text(node))
            return Word(self.span(node), held.pieces).known if isinstance(held, Scalar) else None
        return self.scalar(node, scope, self.span(node)).known

    def _braces(self, node: Node) -> bool:
        """Whether braces outside of quotes may make several words of one."""
        if node.type == "brace_expression":
            return True
        if node.type not in ("word", "concatenation"):
            return False
        parts = node.children or (node,)
        unquoted = "".join(
            _ESCAPE.sub("", self.text(part)) if part.type == "word" else _BRACE_PARTS.get(part.type, "q")
            for part in parts
        )
        return _BRACES.search(unquoted) is not None

    def _split(self, span: Span, parts: list[_Part]) -> list[Word]:
        """Words of parts."""
        words: list[Word] = []
        pieces: list[Piece] = []
        state = {"word": False, "many": False, "pattern": ""}

        def close() -> None:
            if state["word"]:
                found = tuple(pieces)
                pattern = str(state["pattern"])
                if _PATTERN.search(pattern):
                    found = (Unknown("a pattern of file names", span.text),)
                words.append(Word(span, found, many=bool(state["many"]) or found != tuple(pieces)))
            pieces.clear()
            state.update(word=False, many=False, pattern="")

        for part in parts:
            if isinstance(part, Break):
                close()
            elif isinstance(part, Whole):
                state.update(word=True, many=True)
                pieces.append(part.unknown)
            elif isinstance(part.piece, Unknown):
                state["many"] = state["many"] or (part.split and not state["word"])
                state["word"] = True
                pieces.append(part.piece)
            elif not part.split:
                state["word"] = True
                state["pattern"] = f"{state['pattern']}{part.piece.text if part.glob else '.'}"
                if part.piece.text:
                    pieces.append(part.piece)
            else:
                at = 0
                for blank in [*_BLANK.finditer(part.piece.text), None]:
                    end = blank.start() if blank else len(part.piece.text)
                    if at < end:
                        pieces.append(part.piece.part(at, end))
                        state["word"] = True
                        state["pattern"] = f"{state['pattern']}{part.piece.text[at:end]}"
                    if blank:
                        close()
                        at = blank.end()
        close()
        return words

    def _parts(self, node: Node, scope: Scope, quoted: str) -> Iterator[_Part]:
        """The parts of a word; `quoted` within double quotes."""
        kind, text, span = node.type, self.text(node), self.span(node)
        if kind in ("command_name", "concatenation"):
            yield from self._mixed(node.children, node.start, node.end, scope, quoted)
        elif kind == "string":
            start = node.start + (2 if text.startswith("$") else 1)
            closed = text.endswith('"') and start < node.end
            inner = tuple(child for child in node.children if child.named and child.type != "string_content")
            parts = [*self._mixed(inner, start, node.end - closed, scope, quoted='"')]
            if parts or not any(self._is_list(child) for child in inner):
                yield Part(Literal("", Span(self.source, start, start)))
            yield from parts
        elif kind == "raw_string":
            if quoted:
                yield Part(Unknown("quotes in a default", text))
            else:
                yield Part(Literal(text[1:-1], Span(self.source, node.start + 1, max(node.start + 1, node.end - 1))))
        elif kind == "ansi_c_string":
            plain = _c_string(text[2:-1])
            yield Part(Literal(plain, span) if plain is not None else Unknown("escapes", text))
        elif kind in _EXPANSIONS:
            yield from self._expansion(node, scope, quoted)
        elif kind == "arithmetic_expansion":
            yield Part(self.number(node, scope), split=not quoted)
        elif kind == "command_substitution":
            yield Part(Unknown("the output of a command", text), split=not quoted)
        elif kind == "process_substitution":
            yield Part(Unknown("a file that the shell makes", text))
        elif kind == "variable_name":
            yield Part(Literal(text, span), glob=not quoted)
        elif kind in ("word", "number", "test_operator", "string_content", "regex", "extglob_pattern") or _plain(text):
            yield from self._literal(node.start, node.end, quoted)
        else:
            yield Part(Unknown("no plain text", text))

    def _mixed(self, nodes: tuple[Node, ...], start: int, end: int, scope: Scope, quoted: str) -> Iterator[_Part]:
        """The parts of nodes and of the text between them."""
        at = start
        for node in (self._trimmed(node) if quoted else node for node in nodes):
            if end <= node.start:
                break
            if at < node.start:
                yield from self._literal(at, node.start, quoted)
            yield from self._parts(node, scope, quoted)
            at = max(at, node.end)
        if at < end:
            yield from self._literal(at, end, quoted)

    def _trimmed(self, node: Node) -> Node:
        """A node within quotes without the blanks before it, which the grammar counts in."""
        blanks = _BLANKS.match(self.text(node)) if node.type in _INDENTED else None
        return node._replace(start=node.start + blanks.end()) if blanks else node

    def _literal(self, start: int, end: int, quoted: str) -> Iterator[Part]:
        """Text without expansions, in which a backslash takes the meaning from what follows."""
        text = self.source.text[start:end]
        at = 0
        for found in _ESCAPES[quoted].finditer(text):
            if at < found.start():
                yield self._plain(start + at, start + found.start(), quoted)
            if found[1] != "\n":
                yield Part(Literal(found[1], Span(self.source, start + found.start(1), start + found.end(1))))
            at = found.end()
        if at < len(text):
            yield self._plain(start + at, end, quoted)

    def _plain(self, start: int, end: int, quoted: str) -> Part:
        text = self.source.text[start:end].replace("\r\n", "\n")
        return Part(Literal(text, Span(self.source, start, end)), glob=not quoted)

    def _expansion(self, node: Node, scope: Scope, quoted: str) -> Iterator[_Part]:
        """The parts of `$X` and `${X...}`."""
        text = self.text(node)
        target = node.first("variable_name", "special_variable_name", "subscript")
        operators = [child for child in node.children if child.field == "operator"]
        if target is None or node.broken:
            yield Part(Unknown("no variable", text), split=not quoted)
            return
        name, index = self._named(target)
        held = scope.get(name)
        if operators and operators[0].end <= target.start:
            yield Part(self._length(held, index, operators[0].type, self.span(node)), split=not quoted)
        elif not operators:
            yield from self._held(held, name, index, self.span(node), quoted)
        elif len(operators) == 1 and index is None:
            yield from self._operated(node, operators[0], held, name, scope, quoted)
        else:
            yield Part(Unknown("not followed", text), split=not quoted)

    def _named(self, target: Node) -> tuple[str, str | None]:
        """The variable of an expansion, and which item of it is meant."""
        if target.type != "subscript":
            text = self.text(target)
            return (text, None) if text not in ("@", "*") else ("@", text)
        name, index = target.of("name"), target.of("index")
        return (self.text(name) if name else "", self.text(index) if index else "?")

    def _is_list(self, node: Node) -> bool:
        """Whether an expansion may be no word at all, even between quotes."""
        return re.fullmatch(r"\$@|\$\{(@|\w+\[@\])\}", self.text(self._trimmed(node))) is not None

    def _length(self, held: Value | None, index: str | None, operator: str, span: Span) -> Piece:
        """What `${#X}` gives."""
        if operator == "#" and isinstance(held, Array) and index in ("@", "*"):
            if not any(word.many for word in held.items):
                return Literal(str(len(held.items)), span)
        elif operator == "#" and isinstance(held, Scalar) and index is None:
            known = Word(span, held.pieces).known
            if known is not None and known.isascii():  # of others, the locale decides
                return Literal(str(len(known)), span)
        return Unknown("not followed", span.text)

    def _held(self, held: Value | None, name: str, index: str | None, span: Span, quoted: str) -> Iterator[_Part]:
        """What a variable holds, as parts."""
        if isinstance(held, Array):
            yield from self._items(held, index, span, quoted)
        elif isinstance(held, Scalar) and index in (None, "0", "@", "*"):
            yield from (Part(piece, split=not quoted) for piece in held.pieces)
        elif isinstance(held, Unset):
            return
        elif held is None and index in ("@", "*"):
            yield Whole(Unknown(*_outside(name, span)))
        else:
            yield Part(Unknown(*_outside(name, span)), split=not quoted)

    def _items(self, held: Array, index: str | None, span: Span, quoted: str) -> Iterator[_Part]:
        if index in ("@", "*"):
            together = bool(quoted) and index == "*"
            for position, word in enumerate(held.items):
                if position:
                    yield Part(Literal(" ", span)) if together else Break()
                yield from _as_parts(word, split=not quoted)
                if quoted and not word.pieces:
                    yield Part(Literal("", span))
            return
        number = arithmetic.number(index or "0")
        before = held.items[: number + 1] if number is not None and 0 <= number else ()
        if number is None or number < 0 or any(word.many for word in before):
            yield Part(Unknown("an item of a list", span.text), split=not quoted)
        elif number < len(held.items):
            yield from _as_parts(held.items[number], split=not quoted)

    def _operated(
        self, node: Node, operator: Node, held: Value | None, name: str, scope: Scope, quoted: str
    ) -> Iterator[_Part]:
        """What `${X:-d}` and its like give."""
        span = self.span(node)
        empty = _is_empty(held, operator.type.startswith(":"))
        if operator.type in _REQUIRED or (operator.type in _DEFAULTS and empty is False):
            yield from self._held(held, name, None, span, quoted)
            return
        if operator.type in _ALTERNATIVES and empty is True and held is not None:
            return
        chosen = operator.type in _DEFAULTS or (operator.type in _ALTERNATIVES and empty is False)
        if not chosen or (empty is None and held is not None) or isinstance(held, Array):
            yield Part(Unknown("not followed", span.text), split=not quoted)
            return
        default_of = name if held is None else ""
        rest = tuple(child for child in node.children if operator.end <= child.start and child.named)
        parts = [*self._mixed(rest, operator.end, node.end - 1, scope, quoted)]
        if operator.type in ("=", ":="):
            pieces = tuple(part.piece for part in parts if isinstance(part, Part))
            scope.set(name, Scalar(tuple(_as_default(piece, default_of) for piece in pieces)))
        for part in parts:
            if isinstance(part, Part):
                split = not quoted and part.glob
                yield Part(_as_default(part.piece, default_of), split=split or part.split, glob=part.glob)
            else:
                yield part


_BRACE_PARTS = {"{": "{", "}": "}", "brace_expression": "{,}", "number": "1"}


def _is_empty(held: Value | None, or_empty: bool) -> bool | None:
    """Whether `${X:-d}` takes the default; None if only the run knows. What the script does not set is unset."""
    if held is None or isinstance(held, Unset):
        return True
    if isinstance(held, Array):
        return None
    if not or_empty or any(isinstance(piece, Literal) and piece.text for piece in held.pieces):
        return False if not _may_be_unset(held) else None
    return None if held.pieces else True


def _may_be_unset(held: Scalar) -> bool:
    """Whether a variable may not be set at all, after a branch that sets it."""
    return all(isinstance(piece, Unknown) for piece in held.pieces) and bool(held.pieces)


def _unsplit(part: _Part) -> _Part:
    """A part where the script has changed what splits words."""
    if isinstance(part, Part) and part.split and isinstance(part.piece, Literal):
        return part._replace(piece=Unknown("split by IFS", part.piece.text))
    return part


def _as_parts(word: Word, split: bool) -> Iterator[_Part]:
    for piece in word.pieces:
        if word.many and isinstance(piece, Unknown):
            yield Whole(piece)
        else:
            yield Part(piece, split=split)


def _as_default(piece: Piece, name: str) -> Piece:
    return piece._replace(default_of=piece.default_of or name) if isinstance(piece, Literal) else piece


def _outside(name: str, span: Span) -> tuple[str, str, str]:
    """Reason, text and name of what the script does not set."""
    if name.isdigit() or name in "@*#":
        return "an argument of the script", span.text, name
    if not name.isidentifier():
        return "known to the run alone", span.text, ""
    return "set by the environment", span.text, name


def _changes(text: str) -> bool:
    """Whether arithmetic sets a variable."""
    return re.search(r"\+\+|--|(?<![=<>!])=(?!=)", text) is not None


def _plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None


def _c_string(text: str) -> str | None:
    """What stands in `$'...'`; None if it has an escape by number."""
    if not all(found[1] in _C_ESCAPES for found in _ESCAPE.finditer(text)):
        return None
    return _ESCAPE.sub(lambda found: _C_ESCAPES[found[1]], text)
