"""Commands to which a script hands a text to be run as a script."""

from __future__ import annotations

import re

from planc.native.shell.model import Command
from planc.native.shell.values import Literal, Word

SHELLS = frozenset(("bash", "sh", "dash", "ksh", "zsh"))
_TEXT_OPTION = re.compile("-[a-z]*c")


def text_for_shell(command: Command) -> Word | None:
    """What follows `bash -c`, or `eval` gets; None if the command is neither, whatever stands before it."""
    words = command.words
    if command.name == "eval":
        pieces = []
        for word in command.arguments:
            pieces += [*word.pieces, Literal(" ", word.span._replace(start=word.span.end))]
        return Word(command.span, tuple(pieces)) if command.arguments else None
    for index in range(len(words) - 2):
        option = words[index + 1]
        if is_shell(words[index]) and option.known is not None and _TEXT_OPTION.fullmatch(option.known):
            return words[index + 2]
    return None


def ends_with_shell(command: Command) -> bool:
    """Whether a command is a shell that reads its input, whatever stands before it."""
    words = command.words
    if len(words) > 1 and words[-1].known in ("-s", "-"):
        words = words[:-1]
    return bool(words) and is_shell(words[-1])


def is_shell(word: Word) -> bool:
    """Whether a word names a shell."""
    return (word.known or "").rsplit("/", 1)[-1] in SHELLS
