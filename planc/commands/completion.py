"""`planc completion`: a shell's script for completion, and what that script asks for while a line is written.

The scripts know nothing of planc: at every completion they run `planc completion SHELL --words WORD ...`, so they are
right for whatever version is installed. The answer is a line for each word that may stand in place of the last one,
with a tab and what it means where the shell shows that; or `:plans`, `:folders`, `:files` for paths of its own.
"""

from __future__ import annotations

import argparse

from planc import resources
from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.completing import PATHS, answers

SHELLS = ("bash", "zsh", "fish")


def run(arguments: list[str]) -> int:
    """Exit status: 0."""
    # By hand, as the words of another command line may be `--`.
    at = arguments.index("--words") if "--words" in arguments else len(arguments)
    options = parsed(parser(), arguments[:at])
    words = arguments[at + 1 :] if at < len(arguments) else options.words
    if words is None:
        output.write(resources.read_text(f"templates/completion/planc.{options.shell}"))
    else:
        bash = options.shell == "bash"
        lines = _for_bash(words) if bash else ["\t".join(filter(None, found)) for found in answers(words)]
        output.write("".join(f"{line}\n" for line in lines))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc completion`."""
    made = Parser(
        prog="planc completion",
        description="Print a script that lets a shell complete the command lines of planc. In bash and zsh "
        '`eval "$(planc completion bash)"` loads it, in fish `planc completion fish | source`.',
        allow_abbrev=False,
    )
    made.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS), help="the shell that is to read the script")
    made.add_argument(
        "--words",
        nargs=argparse.REMAINDER,
        metavar="WORD",
        help="print what may stand in place of the last of these words of a command line; the scripts ask this",
    )
    return made


def _for_bash(words: list[str]) -> list[str]:
    """Answers to bash, which cuts words at `=` and replaces only the last piece, and leaves quotes to us."""
    last = "" if words[-1:] == ["="] else words[-1] if words else ""
    joined = _joined(words)
    found = answers(joined)
    kept = len(joined[-1]) - len(last) if joined else 0
    return [answer.word if answer in PATHS else _quoted(answer.word[kept:], last) for answer in found]


def _joined(words: list[str]) -> list[str]:
    """The words that were cut at `=`, whole again, and all but the last one without their quotes."""
    found: list[str] = []
    glue = False
    for word in words:
        if found and (glue or word == "="):
            found[-1] += word
        else:
            found.append(word)
        glue = word == "="
    return [*map(_unquoted, found[:-1]), *found[-1:]]


def _unquoted(word: str) -> str:
    if not any(character in word for character in "\\'\""):
        return word
    import shlex

    try:
        return "".join(shlex.split(word))
    except ValueError:  # a quote that is not closed
        return word


def _quoted(word: str, last: str) -> str:
    if last[:1] in ("'", '"') or not any(character in word for character in " \t\"'\\$`&|;<>()*?[]{}!#"):
        return word
    import shlex

    return shlex.quote(word)
