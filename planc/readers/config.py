"""The keys of a configuration as entries of a `model` block, each at the place of its value."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.readers.faults import PARTLY_READ, UNCOUNTED, UNREADABLE
from planc.readers.json_text import Array, Member, Number, Object, String, Word
from planc.source import Span
from planc.syntax import nodes

#: Digits of a whole number; a model of more parameters than atoms is a slip.
MAX_DIGITS = 15

_KINDS = {String: "a text", Number: "a number", Word: "a flag", Array: "a list", Object: "an object"}


class Config:
    """What is read of one JSON object, and what is wrong with it.

    model_type: the kind of model that the object describes; written: fields that the plan sets, which are not read.
    entries: what has been read so far; faults: what is wrong; assumed: what was taken as transformers takes it.
    asked: the keys that were looked for; left_out: values that transformers takes for keys which are not there.
    """

    __slots__ = ("asked", "assumed", "entries", "faults", "left_out", "members", "model_type", "place", "written")

    def __init__(self, members: dict[str, Member], model_type: str, place: Span, written: frozenset[str]) -> None:
        self.members = members
        self.model_type = model_type
        self.place = place
        self.written = written
        self.entries: list[Any] = []
        self.faults: list[Diagnostic] = []
        self.assumed: list[str] = []
        self.asked: set[str] = set()
        self.left_out: list[tuple[nodes.Number, str]] = []

    def inside(self, field: str) -> Config:
        """A view of the same object for the entries of a section; of one that the plan sets, no fault is kept."""
        inner = Config(self.members, self.model_type, self.place, frozenset())
        inner.asked = self.asked
        if field not in self.written:
            inner.faults, inner.assumed, inner.left_out = self.faults, self.assumed, self.left_out
        return inner

    def get(self, key: str) -> Member | None:
        """The member with a key, null or not."""
        self.asked.add(key)
        return self.members.get(key)

    def find(self, *keys: str) -> Member | None:
        """The member with one of these keys, which all mean the same; None if there is none, or it is null."""
        found = [member for member in map(self.get, keys) if member is not None and not is_null(member)]
        for other in found[1:]:
            if other.value.span.text != found[0].value.span.text:
                message = f"`{other.key.value}` and `{found[0].key.value}` differ"
                related = (Label(found[0].span, "the same by another name"),)
                self.faults.append(UNREADABLE.at(other.span, message, "which of the two?", related=related))
        return found[0] if found else None

    def count(self, field: str, *keys: str, default: int | None = None, least: int = 1) -> int | None:
        """The whole number under one of the keys, entered as a field; None if it is not to be had.

        default: what transformers takes if the file has none of the keys.
        """
        if field in self.written:
            return None
        member = self.find(*keys)
        if member is not None:
            return self._counted(field, member, least)
        if default is None or any(self.get(key) is not None for key in keys):
            return None
        self.assumed.append(f"`{keys[0]}` is {default}")
        self.enter(field, self._for_want_of(keys[0], str(default)))
        return default

    def dimension(self, field: str, *keys: str, default: int | None = None) -> int | None:
        """As `count`, of a key that the file cannot do without."""
        value = self.count(field, *keys, default=default)
        if field not in self.written and self.find(*keys) is None and default is None:
            label = f"a `{self.model_type}` has it"
            help = (f"add it to the file, or write `{field} = ...` in the plan",)
            self.faults.append(UNREADABLE.at(self.place, f"the file lacks `{keys[0]}`", label, help=help))
            self.spoil(field, self.place)
        return value

    def whole(self, member: Member, least: int = 0) -> int | None:
        """The whole number of a member, or None with a report."""
        value = member.value
        if not isinstance(value, Number) or not value.text.removeprefix("-").isdigit():
            self.wrong(member, "a whole number")
        elif MAX_DIGITS < len(value.text):
            message = f"`{member.key.value}` has {len(value.text):,} digits"
            self.faults.append(UNREADABLE.at(value.span, message, f"no dimension has more than {MAX_DIGITS}"))
        elif int(value.text) < least:
            self.wrong(member, f"a whole number from {least} on")
        else:
            return int(value.text)
        return None

    def flag(self, key: str, default: bool, field: str = "") -> bool | None:
        """The flag under a key, of which a field is made; null is false, as in Python. None with a report if none."""
        member = self.get(key)
        if member is None or field in self.written:
            return default
        if isinstance(member.value, Word) and member.value.word in ("true", "false", "null"):
            return member.value.word == "true"
        self.wrong(member, "`true` or `false`")
        return None

    def share(self, key: str, default: str) -> tuple[float, Any]:
        """The share under a key, as a number to compare and as a node."""
        member = self.find(key)
        if member is None:
            return float(default), self._for_want_of(key, default)
        value = member.value
        if isinstance(value, Number) and len(value.text) <= MAX_DIGITS * 2 and 0 <= float(value.text) <= 1:
            return float(value.text), nodes.Number(value.span, value.text.removeprefix("-"))
        self.wrong(member, "a number from 0 to 1")
        return 0, nodes.Bad(value.span, ())

    def words(self, key: str) -> tuple[str, ...] | None:
        """The list of texts under a key; None if there is none, or with a report if it is something else."""
        member = self.find(key)
        if member is None:
            return None
        value = member.value
        if isinstance(value, Array) and all(isinstance(item, String) for item in value.items):
            return tuple(item.value for item in value.items if isinstance(item, String))
        self.wrong(member, "a list of texts")
        return None

    def numbers(self, key: str) -> tuple[int, ...] | None:
        """The list of whole numbers under a key; empty if there is none, None with a report if it is something else."""
        member = self.find(key)
        if member is None:
            return ()
        items = member.value.items if isinstance(member.value, Array) else (None,)
        texts = [item.text if isinstance(item, Number) else "" for item in items]
        if all(text.isdigit() and len(text) <= MAX_DIGITS for text in texts):
            return tuple(map(int, texts))
        self.wrong(member, "a list of whole numbers")
        return None

    def place_of(self, key: str) -> Span:
        """Where a key's value stands, or what stands for it if the file has none."""
        member = self.get(key)
        return self.place if member is None else member.value.span

    def enter(self, field: str, value: Any) -> None:
        """Sets a field to a node, unless the plan does."""
        if field not in self.written:
            self.entries.append(nodes.Field(value.span, nodes.Name(value.span, field), value, False))

    def say(self, field: str, word: str, place: Span | None = None) -> None:
        """Sets a field to a word, flag, or whole number of the type, shown at a place, else at the type."""
        self.enter(field, node(word, place or self.place))

    def add(self, field: str, inner: Config) -> None:
        """Adds what has been read for a section, unless the plan sets it."""
        if field not in self.written:
            body = nodes.Body(self.place, tuple(inner.entries))
            self.entries.append(nodes.Section(self.place, nodes.Name(self.place, field), body))

    def choose(self, field: str, word: str, inner: Config) -> None:
        """Sets a section to a variant with what has been read for it, unless the plan does."""
        body = nodes.Body(self.place, tuple(inner.entries))
        self.enter(field, nodes.Narrowed(self.place, nodes.Name(self.place, word), body))

    def spoil(self, field: str, place: Span) -> None:
        """Marks a field as written in a way that could not be read."""
        if field not in self.written:
            self.entries.append(nodes.Bad(place, (field,)))

    def wrong(self, member: Member, due: str) -> None:
        """Reports a value of the wrong kind."""
        value = member.value
        kind = _KINDS[type(value)]
        if isinstance(value, Number | Word) and len(value.span.text) <= MAX_DIGITS:
            kind = f"`{value.span.text}`"
        message = f"`{member.key.value}` is {kind}"
        self.faults.append(UNREADABLE.at(value.span, message, f"{due} is due here"))

    def uncounted(self, key: str, what: str, field: str = "") -> None:
        """Reports that a key asks for what no field says; the field, or the whole model, is then unknown."""
        if field and field in self.written:
            return
        place = self.place_of(key)
        help = (f"write `{field} = ...` or `{field} {{ ... }}` in the plan",) if field else ()
        self.faults.append(UNCOUNTED.at(place, f"`{key}` asks for {what}", "no field says so", help=help))
        self.entries.append(nodes.Bad(place, (field,) if field else ()))

    def partly(self, place: Span, message: str, label: str) -> None:
        """Reports that a part of the file is left out."""
        self.faults.append(PARTLY_READ.at(place, message, label))

    def _for_want_of(self, key: str, text: str) -> nodes.Number:
        """The number that stands for a key which is not there."""
        number = nodes.Number(self.place, text)
        self.left_out.append((number, key))
        return number

    def _counted(self, field: str, member: Member, least: int) -> int | None:
        number = self.whole(member, least)
        if number is None:
            self.spoil(field, member.value.span)
            return None
        key, value = member.key.span, nodes.Number(member.value.span, str(number))
        self.entries.append(nodes.Field(member.span, nodes.Name(key, field), value, False))
        return number


def node(word: str, place: Span) -> Any:
    """A word, flag or whole number as it would stand in a plan."""
    if word.isdigit():
        return nodes.Number(place, word)
    if word in ("true", "false", "none"):
        return nodes.Literal(place, word)
    return nodes.Path(place, (nodes.Name(place, word),))


def is_null(member: Member) -> bool:
    """Whether a member says `null`."""
    return isinstance(member.value, Word) and member.value.word == "null"
