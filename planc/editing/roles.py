"""What each token of a text stands for, found without a parser, so that it is known in a line that is half typed.

A walker goes over the tokens of one part and keeps the bodies and lists that are open. Where an entry cannot belong to
the section that is open, the section is taken as left unclosed, as its indentation says.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from planc.plan.policies import field_at
from planc.plan.schema import Field, Type
from planc.plan.shape import fields_of
from planc.source import Source
from planc.syntax.lexer import Token
from planc.syntax.parse import unquoted
from planc.targets import load_target, target_names

#: Types that hold fields of their own.
_SECTIONED = ("record", "variant", "reference", "map")

#: What a single name is where a value of a type is due.
_SINGLE = {"word": "word", "variant": "word", "reference": "reference", "target": "target"}

_JOINS = ("SIGN", "STAR", "SLASH", "COMPARE", "AND", "OR", "NOT", "WHEN", "IN", "__ANON_0")


class Role(NamedTuple):
    """What a token stands for.

    type: `kind`, `definition`, `parent`, `reference`, `field`, `key` (of a map), `rule`, `word`, `target`, `path`,
        `function`, `text`, `quantity`, `literal`, `use` or `import`.
    kinds: of the block that a name means, or of the block or section that has the field; path: of the field, from the
        block in which it stands, or up to this name; None in the items of a list. word: what the section was made from.
    """

    type: str
    start: int
    end: int
    text: str
    kinds: tuple[str, ...] = ()
    path: tuple[str, ...] | None = ()
    field: Field | None = None
    word: str | None = None


class Frame:
    """A body, list or pair of parentheses that is open, and how far its current entry has come.

    kind: what its fields belong to: a section, `policy`, `map`, `target`, or nothing that is known.
    state: `entry` (one may begin), `key` (`=` is due), `value` (an operand is due), `operand` (one was read).
    field: that of the current entry; due: what its next operand is; head: the word that was read as its value; names:
        of the path that is being read. item: what a map holds.
    """

    __slots__ = (
        "bracket", "due", "field", "fields", "head", "indent", "is_rule", "item", "kind", "names", "path", "state",
        "word",
    )  # fmt: skip

    def __init__(
        self,
        bracket: str,
        kind: str,
        *,
        path: tuple[str, ...] | None = (),
        word: str | None = None,
        indent: int = 0,
        item: Type | None = None,
    ) -> None:
        self.bracket = bracket
        self.kind = kind
        self.fields = fields_in(kind, word)
        self.path = path
        self.word = word
        self.indent = indent
        self.item = item
        self.state = "entry"
        self.field: Field | None = None
        self.due: Type | None = None
        self.head: str | None = None
        self.names: tuple[str, ...] = ()
        self.is_rule = False

    def named(self, name: str) -> Field | None:
        """The field of that name; in a map every name is one."""
        return Field(name, self.item) if self.item is not None else self.fields.get(name)

    def below(self, name: str | None) -> tuple[str, ...] | None:
        """The path of a field of this body."""
        return None if self.path is None or name is None else (*self.path, name)


class Walker:
    """Goes over the tokens of one part. `frames` are open, the innermost last; `roles` were found.

    header: `kind`, `name`, `from`, `parent`, `body` in a block, or `use`, or `` where the part is neither.
    """

    __slots__ = ("_at", "_source", "_tokens", "block", "frames", "header", "kind", "name", "roles")

    def __init__(self, source: Source, tokens: tuple[Token, ...]) -> None:
        self._source = source
        self._tokens = tokens
        self._at = 0
        self.frames: list[Frame] = []
        self.roles: list[Role] = []
        self.header = ""
        self.kind = ""
        self.name = ""
        self.block = ""
        for self._at, token in enumerate(tokens):
            self._read(token)

    @property
    def frame(self) -> Frame | None:
        """The innermost body, list or parentheses; None in the header and behind the block."""
        return self.frames[-1] if self.frames else None

    def _read(self, token: Token) -> None:
        if self.frames:
            self._in_body(token)
        else:
            self._in_header(token)

    def _in_header(self, token: Token) -> None:
        kind, text = token.type, self._text(token)
        if kind == "USE":
            self.header = "use"
        elif kind == "KIND" or (self._at == 0 and kind == "NAME" and self._is_header()):
            self.header, self.kind = "kind", text
            self._add("kind", token, (text,))
        elif self.header == "kind" and kind in ("NAME", "STRING", "KEY"):
            self.header, self.name = "name", unquoted(text) if kind == "STRING" else text
            self._add("definition", token, (self.kind,))
        elif kind == "FROM":
            self.header = "from"
        elif self.header == "from" and kind in ("NAME", "STRING"):
            call = self._next() == "LPAR"
            self.header = "call" if call else "parent"
            self._add("function" if call else "parent", token, () if call else parent_kinds(self.kind))
        elif kind == "STRING" and self.header in ("use", "call"):
            self._add("use" if self.header == "use" else "import", token)
            self.header = "parent" if self.header == "call" else ""
        elif kind == "LBRACE" and self.kind and self.header != "closed":
            self.header, self.block = "body", self.kind
            kind = "plan" if self.kind == "template" else self.kind
            self.frames.append(Frame("{", kind, indent=self._indent(token)))

    def _is_header(self) -> bool:
        """Whether the part begins like a block whose kind is mistyped."""
        return len(self._tokens) < 2 or self._next() in ("NAME", "STRING")

    def _in_body(self, token: Token) -> None:
        kind, frame = token.type, self.frames[-1]
        if kind == "RBRACE":
            self._close("{")
        elif kind in ("RSQB", "RPAR"):
            self._close("[" if kind == "RSQB" else "(")
        elif kind == "KEY" or (kind == "STRING" and self._next() == "EQUAL") or self._is_section(token):
            self._entry(token)
        elif kind == "VERB":
            self._rule()
        elif kind == "EQUAL":
            frame.state = "value"
        elif kind == "LBRACE":
            self._open_body(token)
        elif kind == "LSQB":
            self._open_list("[", item_of(frame.due))
        elif kind == "LPAR":
            self._open_list("(", frame.due)
        elif kind == "COMMA":
            frame.state = "entry" if frame.bracket == "{" else "value"
            frame.names = ()
        elif kind == "DOT":
            frame.state = "value"
        elif kind == "BECAUSE":
            frame.state, frame.due, frame.names = "value", Type("text"), ()
        elif kind in _JOINS:
            self._join(kind)
        else:
            self._operand(token)

    def _is_section(self, token: Token) -> bool:
        """Whether a name opens `name { ... }` or `name in ...`, rather than being a value."""
        if token.type != "NAME" or self._next() not in ("LBRACE", "IN"):
            return False
        body = self._body()
        if body is self.frames[-1] and body.state in ("entry", "operand") and not body.is_rule:
            return True
        if body.kind == "policy" or self._next() == "IN":
            return False
        # In the next line after `field =`, the name of a section is an entry, if it is not what is due there.
        known = self._text(token) in body.fields and body.fields[self._text(token)].type.form in _SECTIONED
        due = self.frames[-1].due
        return known and self._is_first_on_line(token) and not (due and self._text(token) in due.words)

    def _body(self) -> Frame:
        return next((frame for frame in reversed(self.frames) if frame.bracket == "{"), self.frames[0])

    def _close(self, bracket: str) -> None:
        """Closes what the bracket belongs to, and what was left open inside it."""
        at = next((at for at in range(len(self.frames) - 1, -1, -1) if self.frames[at].bracket == bracket), None)
        if at is None or (bracket != "{" and any(frame.bracket == "{" for frame in self.frames[at:])):
            return
        del self.frames[at:]
        if self.frames:
            frame = self.frames[-1]
            frame.state = "operand" if frame.bracket != "{" or frame.field or frame.is_rule else "entry"
            frame.names = ()
        else:
            self.header = "closed"

    def _entry(self, token: Token) -> None:
        """Begins an entry in the body that it belongs to."""
        while self.frames[-1].bracket != "{":
            self.frames.pop()
        name = unquoted(self._text(token)) if token.type == "STRING" else self._text(token)
        self._leave_unclosed(token, name)
        body = self.frames[-1]
        body.field, body.names, body.head, body.is_rule = body.named(name), (), None, False
        body.due = body.field.type if body.field is not None else None
        body.state = "operand" if self._next() == "LBRACE" else "key"
        type = "key" if body.item is not None else "rule" if body.kind == "policy" else "field"
        self._add(type, token, (body.kind,), body.below(name), body.field, body.word)

    def _leave_unclosed(self, token: Token, name: str) -> None:
        """Leaves sections that were not closed: the entry stands as far left, and is a field of an outer one."""
        inner = self.frames[-1]
        if (name in inner.fields and inner.item is None) or not self._is_first_on_line(token):
            return
        if inner.indent < self._indent(token):
            return
        for at in range(len(self.frames) - 2, -1, -1):
            if self.frames[at].bracket == "{" and name in self.frames[at].fields:
                del self.frames[at + 1 :]
                return

    def _rule(self) -> None:
        frame = self._body()
        if frame.kind == "policy":
            del self.frames[self.frames.index(frame) + 1 :]
            frame.is_rule, frame.state, frame.due, frame.names, frame.field = True, "value", None, (), None

    def _open_body(self, token: Token) -> None:
        frame, kind, item = self.frames[-1], "", None
        due = frame.due
        if due is not None and due.form == "map":
            kind, item = "map", due.item
        elif due is not None and due.form in (*_SECTIONED, "target"):
            kind = due.of or due.form
        path = frame.below(frame.field.name) if frame.bracket == "{" and frame.field is not None else None
        word = frame.head if frame.state == "operand" else None
        self.frames.append(Frame("{", kind, path=path, word=word, indent=self._indent(token), item=item))

    def _open_list(self, bracket: str, item: Type | None) -> None:
        outer = self.frames[-1]
        frame = Frame(bracket, outer.kind, path=outer.path, word=outer.word, indent=outer.indent)
        frame.state, frame.due, frame.field, frame.is_rule = "value", item, outer.field, outer.is_rule
        self.frames.append(frame)

    def _join(self, kind: str) -> None:
        """An operator: another operand follows; beside a comparison it is what the other side is."""
        frame = self.frames[-1]
        if kind in ("COMPARE", "IN") and frame.names:
            found = field_at(self._root(), frame.names)
            if frame.is_rule:
                frame.field, frame.due = found, found.type if found is not None else None
        elif frame.is_rule and kind != "NOT":
            frame.field, frame.due = None, None
        frame.state, frame.names = "value", ()

    def _operand(self, token: Token) -> None:
        frame, kind, due = self.frames[-1], token.type, self.frames[-1].due
        if frame.bracket == "{" and frame.state != "value" and kind in ("NAME", "KIND", "ERROR"):
            self._half_typed(token)
            return
        text = self._text(token)
        frame.state, frame.head = "operand", unquoted(text) if kind == "STRING" else text
        if kind == "STRING" and due is not None and due.form == "reference":
            self._value("reference", token, reference_kinds(due))
        elif kind == "QUANTITY":
            self._value("word" if due is not None and text in due.words else "quantity", token)
        elif kind in ("STRING", "LITERAL"):
            self._value("text" if kind == "STRING" else "literal", token)
        elif kind in ("NAME", "KIND"):
            self._name(token, due)

    def _value(self, type: str, token: Token, kinds: tuple[str, ...] = ()) -> None:
        frame = self.frames[-1]
        path = frame.below(frame.field.name) if frame.field is not None and not frame.is_rule else None
        self._add(type, token, kinds, path, frame.field)

    def _half_typed(self, token: Token) -> None:
        body = self.frames[-1]
        if token.type != "ERROR":
            name = self._text(token)
            self._add("field", token, (body.kind,), body.below(name), body.named(name), body.word)
        body.state, body.field, body.due, body.head, body.is_rule = "entry", None, None, None, False

    def _name(self, token: Token, due: Type | None) -> None:
        frame, text = self.frames[-1], self._text(token)
        if self._tokens[self._at - 1].type == "DOT" and frame.names:
            frame.names = (*frame.names, text)
        elif self._next() == "LPAR":
            self._add("function", token)
            return
        elif self._next() != "DOT" and (type := self._word_type(due)):
            self._value(type, token, reference_kinds(due) if type == "reference" else ())
            return
        else:
            frame.names = (text,)
        self._add("path", token, (self._root(),), frame.names, field_at(self._root(), frame.names))

    def _word_type(self, due: Type | None) -> str:
        """The role of a single name that is no path: a word, a target, or the name of a block; else empty."""
        if due is None and self.frames[-1].is_rule and self._next() in ("IN", "NOT"):
            due = self._container()
        due = item_of(due)
        return _SINGLE.get(due.form, "") if due is not None else ""

    def _container(self) -> Type | None:
        """What the items of the list are that stands behind `in` or `not in`."""
        at, names = self._at + (2 if self._next() == "IN" else 3), []
        while at < len(self._tokens) and self._tokens[at].type == "NAME":
            names.append(self._text(self._tokens[at]))
            at += 2 if at + 1 < len(self._tokens) and self._tokens[at + 1].type == "DOT" else len(self._tokens)
        field = field_at("plan", tuple(names))
        return field.type.item if field is not None and field.type.form == "list" else None

    def _root(self) -> str:
        return "plan" if self.kind in ("template", "policy") else self.kind

    def _next(self) -> str:
        return self._tokens[self._at + 1].type if self._at + 1 < len(self._tokens) else ""

    def _text(self, token: Token) -> str:
        return self._source.text[token.start : token.end]

    def _indent(self, token: Token) -> int:
        start = self._source.text.rfind("\n", 0, token.start) + 1
        line = self._source.text[start : token.start + 1]
        return len(line) - len(line.lstrip(" \t"))

    def _is_first_on_line(self, token: Token) -> bool:
        start = self._source.text.rfind("\n", 0, token.start) + 1
        return not self._source.text[start : token.start].strip(" \t")

    def _add(
        self,
        type: str,
        token: Token,
        kinds: tuple[str, ...] = (),
        path: tuple[str, ...] | None = (),
        field: Field | None = None,
        word: str | None = None,
    ) -> None:
        text = self._text(token)
        text = unquoted(text) if token.type == "STRING" else text
        self.roles.append(Role(type, token.start, token.end, text, kinds, path, field, word))


def roles_of(source: Source, tokens: tuple[Token, ...]) -> tuple[Role, ...]:
    """The roles of the tokens of one part."""
    return tuple(Walker(source, tokens).roles)


def fields_in(kind: str, word: str | None) -> dict[str, Field]:
    """The fields that may stand in a body; of a target, whose name is `word`, its options."""
    if kind == "target":
        return options_of(word) if word in target_names() else {}
    return fields_of(kind)


@cache
def options_of(name: str) -> dict[str, Field]:
    """The options of a target."""
    return {option.name: option for option in load_target(name).options}


def parent_kinds(kind: str) -> tuple[str, ...]:
    """Kinds of block from which a block may be derived."""
    return ("plan", "template") if kind in ("plan", "template") else (kind,)


def reference_kinds(due: Type | None) -> tuple[str, ...]:
    """Kinds of block that a field, or each of its items, refers to."""
    due = item_of(due)
    return () if due is None or due.form != "reference" else parent_kinds(due.of)


def item_of(due: Type | None) -> Type | None:
    """The type of the items of a list; any other type as it is."""
    while due is not None and due.form == "list":
        due = due.item
    return due
