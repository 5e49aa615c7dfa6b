"""The arguments of a command, read by argparse; what is wrong with them is one line, as of everything else."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from planc.commands.output import CannotWork, quoted
from planc.diagnostics.text import visible


class Parser(argparse.ArgumentParser):
    """The command line of a command, which raises what is wrong with the arguments, instead of leaving planc."""

    def error(self, message: str) -> NoReturn:
        """Raises the reason, and where to read what the command takes."""
        raise CannotWork(f"{visible(message)}; see {quoted(f'{self.prog} --help')}")


def parsed(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The values of the arguments; where a file was taken for options, its name is not left at that."""
    files = any(action.nargs in ("*", "+") for action in parser._actions if not action.option_strings)
    try:
        # Files that options stand between are surplus to argparse, unless it parses twice; it cannot do so with `--`.
        twice = files and "--" not in arguments
        return parser.parse_intermixed_args(arguments) if twice else parser.parse_args(arguments)
    except CannotWork as reason:
        for argument in arguments[: arguments.index("--") if "--" in arguments else None]:
            if argument.startswith("-") and os.path.isfile(argument):
                hint = f"the file {quoted(argument)} goes behind `--`, or is written {quoted(f'./{argument}')}"
                raise CannotWork(f"{reason}; {hint}") from reason
        raise


def positive(text: str) -> int:
    """A whole number from 1 on, for `type=` of an argument."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text[:12])
