"""Options of a command line as entries of keys, at their places in the script."""

from __future__ import annotations

from planc.native.shell.embedded import outermost
from planc.native.shell.options import Option
from planc.native.tree import Entry, Scalar
from planc.source import Span


def place_of(option: Option) -> Span:
    """The value of an option, where the script has it."""
    return outermost(option.value.origin if option.value is not None else option.written.origin)


def entry_of(option: Option, value: object, name: str | None = None) -> Entry:
    """An option as an entry of keys: from its name to the end of its value."""
    key, end = outermost(option.written.origin), place_of(option)
    span = key.to(end) if key.source is end.source and key.start <= end.start else end
    return Entry(span, Scalar(key, name or option.name), Scalar(end, value))


def number_of(option: Option | None) -> int | None:
    """The whole number of an option; None if it has none, or only the run knows."""
    text = option.value.known if option is not None and option.value is not None else None
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def text_of(option: Option | None) -> str | None:
    """The value of an option; None if it has none, or only the run knows, or the environment may have another."""
    word = option.value if option is not None else None
    return word.known if word is not None and not word.default_of else None


def whole_of(option: Option | None) -> int | None:
    """The whole number of an option, as `int` reads it; None where `text_of` gives none, or no number."""
    text = text_of(option)
    try:
        return int(text) if text is not None and len(text) < 10 else None
    except ValueError:
        return None


def spelt(option: Option) -> str:
    """The name of an option as it is written, with its dashes."""
    return option.written.prefix.partition("=")[0]


def with_value(option: Option, value: object) -> str:
    """An option with another value, as who writes it would: `--nnodes=2`, and `num_machines: 2` in a file of keys."""
    name = spelt(option)
    return f"{name}={value}" if name.startswith("-") else f"{name}: {value}"
