"""The syntax tree: what stands in a file, with the place of everything, and no meaning yet."""

from __future__ import annotations

from typing import NamedTuple

from planc.source import Span


class Name(NamedTuple):
    """A name or a quoted string where a name is due."""

    span: Span
    text: str


class Number(NamedTuple):
    """A number as it is written, with its suffix and unit: `80`, `8Ki`, `400 Gbit/s`."""

    span: Span
    text: str


class String(NamedTuple):
    """A quoted string; `value` is without quotes and escapes."""

    span: Span
    value: str


class Literal(NamedTuple):
    """`true`, `false`, `none` or `auto`."""

    span: Span
    word: str


class Path(NamedTuple):
    """A dotted path; a single name may be a word, a reference or a field."""

    span: Span
    names: tuple[Name, ...]


class List(NamedTuple):
    """`[a, b]`."""

    span: Span
    items: tuple[Value, ...]


class Call(NamedTuple):
    """`divides(a, b)`."""

    span: Span
    function: Name
    arguments: tuple[Expr, ...]


class Binary(NamedTuple):
    """Two operands and an operator: `or and < <= == != > >= + - * /`."""

    span: Span
    operator: str
    left: Expr
    right: Expr


class Unary(NamedTuple):
    """An operand after `not`, `+` or `-`."""

    span: Span
    operator: str
    operand: Expr


class Member(NamedTuple):
    """`x in [..]`, `x in 1..8`, or with `not in`."""

    span: Span
    item: Expr
    container: Value
    negated: bool


class Range(NamedTuple):
    """`1..8`, both ends included."""

    span: Span
    low: Expr
    high: Expr


class Narrowed(NamedTuple):
    """`adamw { clip = 1.0 }`: the thing of that name, with these fields set."""

    span: Span
    head: Name
    body: Body


class Bad(NamedTuple):
    """Text that could not be read; a diagnostic says so. `names` are fields that it may have been meant to write."""

    span: Span
    names: tuple[str, ...]


class Rule(NamedTuple):
    """`require c when g because "..."`; without a name where it stands by itself in a policy."""

    span: Span
    verb: str
    condition: Expr
    guard: Expr | None
    because: String | None


class Field(NamedTuple):
    """`key = value`; `quoted` if the key is a string, as in maps."""

    span: Span
    key: Name
    value: Value | Rule
    quoted: bool


class Section(NamedTuple):
    """`name { ... }`, which adds to what is there."""

    span: Span
    name: Name
    body: Body


class Candidates(NamedTuple):
    """`name in [..]`: a field left open for a search."""

    span: Span
    name: Name
    set: Value


class Body(NamedTuple):
    """The entries between two braces."""

    span: Span
    entries: tuple[Entry, ...]


class Use(NamedTuple):
    """`use "file.plan"`."""

    span: Span
    path: String


class Setting(NamedTuple):
    """`language = 1`."""

    span: Span
    value: Number


class Block(NamedTuple):
    """A block of one of the six kinds; `parent` after `from`. `broken`: braces do not match, known by name only."""

    span: Span
    kind: str
    name: Name
    parent: Name | Call | None
    body: Body | None
    broken: bool


class File(NamedTuple):
    """A file: its `use` lines and blocks in the order in which they stand.

    complete: every line at top level could be read; else a name that is not found may be in what was not.
    """

    span: Span
    settings: tuple[Setting, ...]
    uses: tuple[Use, ...]
    blocks: tuple[Block, ...]
    complete: bool


Expr = Number | String | Literal | Path | List | Call | Binary | Unary | Member | Bad
Value = Expr | Narrowed | Range
Entry = Field | Section | Candidates | Rule | Bad
