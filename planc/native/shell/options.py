"""The options of a command line, as the program's own parser takes them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from planc import resources
from planc.native.shell.values import Word

#: Endings of words that are a program, not the value of an option that is not known.
PROGRAMS = (".py", ".sh", ".sbatch", ".slurm")


class Option(NamedTuple):
    """An option that is given.

    name: without dashes, with underscores, and not as it may be shortened: `nproc_per_node`. written: the word that has
    it, the value too if that stands behind a `=`. values: the words that it gets.
    """

    name: str
    written: Word
    values: tuple[Word, ...] = ()

    @property
    def value(self) -> Word | None:
        """The value, of an option that has one."""
        return self.values[0] if self.values else None


class Line(NamedTuple):
    """A command line: its options, the words from the program on, options that are not known.

    open: words that only the run knows stand where options may.
    """

    options: tuple[Option, ...]
    rest: tuple[Word, ...]
    strange: tuple[Option, ...] = ()
    open: bool = False


class Grammar(NamedTuple):
    """The options of a program: name and number of values by spelling; whether a beginning of a name will do.

    twins: one dash is as good as two. lenient: words that only the run knows are options, if a program comes later.
    """

    options: dict[str, tuple[str, int | str]]
    abbreviated: bool = False
    twins: bool = False
    lenient: bool = False

    def find(self, written: str) -> tuple[str, int | str] | None:
        """The option that is spelt so; None if there is none, or more than one."""
        if written in self.options:
            return self.options[written]
        if self.twins and written.startswith("-"):
            other = f"-{written}" if not written.startswith("--") else written[1:]
            return self.options.get(other)
        if self.abbreviated and written.startswith("--"):
            meant = {found for name, found in self.options.items() if name.startswith(written)}
            return meant.pop() if len(meant) == 1 else None
        return None


@cache
def table_of(launcher: str) -> dict[str, Any]:
    """What a launcher says of its options; `tests/tables/launchers.py` describes the form."""
    import json

    found: dict[str, Any] = json.loads(resources.read_text(f"native/shell/tables/{launcher}.json"))
    return found


@cache
def grammar_of(launcher: str) -> Grammar:
    """The options of a launcher, from its table."""
    table = table_of(launcher)
    found = {name: (key, row["values"]) for key, row in table["options"].items() for name in row["names"]}
    return Grammar(found, table["abbreviated"], twins=launcher == "mpirun", lenient=True)


def grammar(valued: str, flags: str = "") -> Grammar:
    """The options of a small program: names of those with a value, and of those without."""
    found: dict[str, tuple[str, int | str]] = {}
    for number, names in ((1, valued), (0, flags)):
        found.update({name: (plain(name), number) for name in names.split()})
    return Grammar(found)


def plain(name: str) -> str:
    """An option's name without dashes at its start, and with underscores for others."""
    return name.lstrip("-").replace("-", "_")


def line_of(words: tuple[Word, ...], grammar: Grammar) -> Line:
    """A command line up to the program that it starts."""
    reading = _Reading(words, grammar)
    while reading.at < len(words) and reading.take():
        pass
    return Line(tuple(reading.options), words[reading.at :], tuple(reading.strange), reading.open)


def parameters(words: tuple[Word, ...]) -> tuple[Option, ...]:
    """The arguments of a program whose options are not known: a name, and the words up to the next."""
    found: list[Option] = []
    for word in words:
        name, is_glued, _ = word.prefix.partition("=")
        if _is_option(word) and (is_glued or word.known is not None):
            values = (word.after(len(name) + 1),) if is_glued else ()
            found.append(Option(plain(name), word, values))
        elif found:
            found[-1] = found[-1]._replace(values=(*found[-1].values, word))
    return tuple(found)


def _is_option(word: Word) -> bool:
    """Whether a word is a name of an option; a number below zero is none."""
    text = word.prefix
    return 1 < len(text) and text.startswith("-") and not text[1:2].isdigit() and not text.startswith("-.")


class _Reading:
    """What has been read of a command line."""

    def __init__(self, words: tuple[Word, ...], grammar: Grammar) -> None:
        self._words = words
        self._grammar = grammar
        self.at = 0
        self.options: list[Option] = []
        self.strange: list[Option] = []
        self.open = False

    def take(self) -> bool:
        """Takes the next option; whether more may follow."""
        word = self._words[self.at]
        if word.many and not word.prefix:
            return self._take_unknown()
        if word.known == "--":
            self.at += 1
            return False
        if not _is_option(word):
            return False
        name, is_glued, _ = word.prefix.partition("=")
        if not is_glued and word.known is None and self._glued_short(word) is None:
            self.open = True
            self.at += 1
            return True
        self._take_option(word, name, bool(is_glued))
        return True

    def _take_unknown(self) -> bool:
        """Words that only the run knows: options, if a program comes later."""
        later = self._words[self.at + 1 :] if self._grammar.lenient else ()
        if any((other.known or "").endswith(PROGRAMS) or other.known in ("-m", "--module") for other in later):
            self.open = True
            self.at += 1
            return True
        return False

    def _glued_short(self, word: Word) -> tuple[str, int | str] | None:
        """The option of `-N4`."""
        found = self._grammar.find(word.prefix[:2]) if not word.prefix.startswith("--") else None
        return found if found is not None and found[1] == 1 and 2 < len(word.prefix) + (word.known is None) else None

    def _take_option(self, word: Word, name: str, is_glued: bool) -> None:
        found = self._grammar.find(name) if is_glued or word.known is not None else None
        self.at += 1
        if found is not None:
            values = (word.after(len(name) + 1),) if is_glued else self._values(found[1])
            self.options.append(Option(found[0], word, values))
        elif (short := self._glued_short(word)) is not None:
            length = 3 if word.prefix[2:3] == "=" else 2
            self.options.append(Option(short[0], word, (word.after(length),)))
        elif not self._cluster(word, name):
            self.strange.append(Option(plain(name), word, self._guess(word, name, is_glued)))

    def _values(self, number: int | str) -> tuple[Word, ...]:
        count = number if isinstance(number, int) else 0
        values = self._words[self.at : self.at + count]
        self.at += len(values)
        return values

    def _cluster(self, word: Word, name: str) -> bool:
        """Several options of one letter in one word, as `-it`."""
        if name.startswith("--") or len(name) < 3:
            return False
        letters = [self._grammar.find(f"-{letter}") for letter in name[1:]]
        if not all(found is not None and found[1] in (0, "?") for found in letters):
            return False
        self.options += [Option(found[0], word) for found in letters if found is not None]
        return True

    def _guess(self, word: Word, name: str, is_glued: bool) -> tuple[Word, ...]:
        """The value of an option that is not known: the next word, unless it is an option or a program."""
        self.open = True
        if is_glued:
            return (word.after(len(name) + 1),)
        after = self._words[self.at] if self.at < len(self._words) else None
        if (
            after is None
            or _is_option(after)
            or (after.known or "").endswith(PROGRAMS)
            or self.at + 1 == len(self._words)
        ):
            return ()
        self.at += 1
        return (after,)
