"""Flags of Megatron-LM by name, and their values as far as they can be known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planc.native.saying import Sayer, number, quoted
from planc.native.tree import Entry, Scalar, Seq
from planc.source import Span

#: Texts that the runner of Megatron's tests, and YAML, take for a flag that is given.
_ON = ("true", "True")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of one run.

    entries: by name, without dashes before it: `micro-batch-size`; place: where a flag would stand that is left out.
    whole: whether these are all flags of the run, so that one that is left out has Megatron's own default.
    """

    entries: Mapping[str, Entry]
    place: Span
    whole: bool

    def find(self, *names: str) -> Entry | None:
        """The entry of the first of these flags that is there."""
        return next((self.entries[name] for name in names if name in self.entries), None)

    def has(self, *names: str) -> bool:
        """Whether one of these flags is there, with whatever value."""
        return any(name in self.entries for name in names)

    def lacks(self, *names: str) -> bool:
        """Whether it is certain that none of these flags is given."""
        return self.whole and not self.has(*names)

    def is_on(self, *names: str) -> bool:
        """Whether one of these flags, which take no value, is given for certain."""
        return any(value_of(self.entries[name]) in (True, *_ON) for name in names if name in self.entries)

    def text(self, name: str) -> str | None:
        """The value as the program reads it; None if there is none, or it cannot be known."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        value = value_of(entry)
        return value if isinstance(value, str) else None if value is None or isinstance(value, bool) else str(value)

    def number(self, name: str) -> int | float | None:
        """The number that the program reads; None if there is none, or it cannot be known."""
        entry = self.entries.get(name)
        return None if entry is None else number_of(entry)

    def count(self, name: str) -> int | None:
        """The whole number that the program reads; None if there is none."""
        found = self.number(name)
        return found if isinstance(found, int) else None


class Teller:
    """Says fields of a plan of flags: those that are given, the defaults of those that are not, and what is unknown."""

    __slots__ = ("_sayer", "_withheld", "flags")

    def __init__(self, flags: Flags, sayer: Sayer) -> None:
        self.flags = flags
        self._sayer = sayer

    def number(self, path: str, name: str, default: float | None = None, unit: str = "") -> None:
        """A number. A flag whose value cannot be known leaves its field unknown; so does one that may be elsewhere."""
        entry = self.flags.find(name)
        if entry is None:
            if not self.flags.whole:
                self._sayer.withhold(path)
            elif default is not None:
                self.assume(path, f"{number(default)} {unit}".rstrip(), name, plain=not unit)
            return
        found = number_of(entry)
        if found is None:
            self._sayer.withhold(path)
        elif isinstance(value_of(entry), (int, float)):
            self._sayer.say(path, entry, unit=unit)
        else:
            self._sayer.say(path, entry, f"{number(found)} {unit}".rstrip())

    def use(self, *names: str) -> None:
        """What was said holds these flags as well."""
        self._sayer.use(*(self.flags.find(name) for name in names))

    def flag(self, path: str, name: str) -> None:
        """A flag that takes no value. The language has the same default where it is left out."""
        entry = self.flags.find(name)
        if self.flags.is_on(name):
            self._sayer.say(path, entry, None if entry is not None and value_of(entry) is True else "true")
        elif not self.flags.lacks(name):
            self._sayer.withhold(path)

    def word(self, path: str, name: str, words: Mapping[str, str], default: str | None = None) -> None:
        """One of the words of a flag, in the language's words; a word that the language lacks leaves it unknown."""
        entry, text = self.flags.find(name), self.flags.text(name)
        word = words.get(default if text is None and self.flags.lacks(name) and default is not None else text or "")
        if word is None:
            self._sayer.withhold(path)
        elif entry is None:
            self.assume(path, word, name)
        else:
            self._sayer.say(path, entry, word)

    def text(self, path: str, name: str) -> None:
        """A text, if it is known."""
        text = self.flags.text(name)
        if text is not None and text.isprintable():
            self._sayer.say(path, self.flags.find(name), quoted(text))

    def say(self, path: str, name: str, text: str) -> None:
        """What follows from a flag that is given."""
        self._sayer.say(path, self.flags.find(name), text)

    def assume(self, path: str, text: str, name: str, plain: bool = False) -> None:
        """Megatron's own default of a flag that is left out; `plain`: it is written as the language writes it."""
        self._sayer.assume(path, text, self.flags.place, f"--{name}", plain)

    def withhold(self, *paths: str) -> None:
        """What the flags do not tell."""
        self._sayer.withhold(*paths)


def value_of(entry: Entry) -> Any:
    """The value of a flag; None where it cannot be known: `${NAME}` is filled in by whoever starts the run."""
    if not isinstance(entry.value, Scalar) or entry.value.is_placeholder:
        return None
    value = entry.value.value
    return None if isinstance(value, str) and "$" in value else value


def number_of(entry: Entry) -> int | float | None:
    """The number that a flag has: YAML reads `1e-2` as a text, the program as a number."""
    value = value_of(entry)
    if isinstance(value, str):
        try:
            value = int(value) if value.strip().lstrip("+-").isdecimal() else float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or number(value) is None:
        return None
    return value


def words_of(entry: Entry | None) -> tuple[str, ...] | None:
    """The values of a flag that takes several: a list, or a text that is split at blanks, in brackets or not."""
    if entry is None:
        return None
    if isinstance(entry.value, Seq):
        values = [item.value if isinstance(item, Scalar) else None for item in entry.value.items]
        known = all(isinstance(value, (str, int)) and "$" not in str(value) for value in values)
        return tuple(map(str, values)) if known else None
    value = value_of(entry)
    if value is None or isinstance(value, bool):
        return None
    return tuple(str(value).removeprefix("[").removesuffix("]").split())
