"""Scripts of the tests, read, and what is asked of them."""

from __future__ import annotations

from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Command, Script
from planc.native.shell.options import Option
from planc.native.shell.reading import read
from planc.native.shell.values import Word
from planc.source import Source


def script(text: str) -> Script:
    """A script."""
    return read(Source("job.sh", text))


def text_of(word: Word | None) -> str | None:
    """The text of a word; `?` and what is unknown of it, with `*` where it is any number of words."""
    if word is None:
        return None
    value = word.value
    return value if isinstance(value, str) else f"?{value.text}" + "*" * word.many


def words_of(command: Command) -> list[str | None]:
    """The words of a command."""
    return [text_of(word) for word in command.words]


def last(text: str) -> list[str | None]:
    """The words after the name of the last command of a script."""
    return words_of(script(text).commands[-1])[1:]


def reason(text: str) -> str:
    """Why the last word of a script is unknown."""
    value = script(text).commands[-1].words[-1].value
    assert not isinstance(value, str), value
    return value.reason


def started(text: str) -> list[Launch]:
    """The launches of a script."""
    return [*launches(script(text))]


def options_of(options: tuple[Option, ...]) -> dict[str, list[str | None]]:
    """Options as texts."""
    return {option.name: [text_of(value) for value in option.values] for option in options}
