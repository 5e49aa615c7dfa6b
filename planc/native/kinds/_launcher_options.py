"""Options of torchrun, accelerate and deepspeed, each by itself: unknown ones, and values that its parser refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.diagnostics.names import all_nearest, nearest
from planc.native import faults
from planc.native.kinds._options import place_of, spelt
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import PROGRAMS, Option, table_of
from planc.source import Span

_KINDS = {"int": "a whole number", "float": "a number", "flag": "`true` or `false`"}

#: Words that accelerate takes for a flag.
_FLAGS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")

#: What a parser takes for a value, though it begins with a dash.
_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+")

#: Options that end a launcher before it looks for a program.
_ENDING = ("help",)

#: Characters of a value, and names, that a message shows.
_SHOWN, _MOST = 40, 4


def check(launch: Launch) -> Iterator[Diagnostic]:
    """Options that the launcher does not have, values that it does not take, and no program at all."""
    yield from _strange(launch)
    rows = table_of(launch.launcher)["options"]
    for option in launch.options:
        row = rows.get(option.name, {})
        if row.get("only", launch.alias) != launch.alias:
            yield _unknown(launch, option, ())
        elif row.get("values") == 1:
            yield from _value(launch, option, row)
    yield from _program(launch)


def _strange(launch: Launch) -> Iterator[Diagnostic]:
    table = table_of(launch.launcher)
    given = {option.name for option in launch.options}
    for option in launch.strange:
        written = spelt(option)
        rows = (row for name, row in table["options"].items() if name not in given)
        names = [name for row in rows for name in _like(written, row["names"])]
        meant = [name for name in names if table["abbreviated"] and name.startswith(written)]
        yield _unknown(launch, option, tuple(meant) or all_nearest(written, names))


def _like(written: str, names: list[str]) -> list[str]:
    """The long names of an option that are spelt as a word is, with dashes or underscores; all of them if none is."""
    other = "-" if "_" in written else "_"
    long = [name for name in names if name.startswith("--")]
    return [name for name in long if other not in name[2:]] or long


def _unknown(launch: Launch, option: Option, near: tuple[str, ...]) -> Diagnostic:
    written = spelt(option)
    place = outermost(option.written.origin)
    help = "what the program gets stands behind it"
    fixes: tuple[Fix, ...] = ()
    if near:
        help = f"did you mean {either([f'`{name}`' for name in near[:_MOST]])}?"
        if len(near) == 1 and place.text.startswith(written):
            name = Span(place.source, place.start, place.start + len(written))
            fixes = (Fix(f"write `{near[0]}`", (Edit(name, near[0]),), safe=False),)
    message = f"{launch.alias} has no option `{option.written.known or written}`"[:100]
    return faults.UNKNOWN_KEY.at(place, message, f"{launch.alias} refuses to start", help=(help,), fixes=fixes)


def _value(launch: Launch, option: Option, row: dict[str, object]) -> Iterator[Diagnostic]:
    """A value that is not there, of another type, or none of the words."""
    name, word = spelt(option), option.value
    refusal = f"{launch.alias} refuses to start"
    if word is None or (launch.script is None and (word.known or "").endswith(PROGRAMS)) or _is_name(option):
        yield faults.MISSING_KEY.at(outermost(option.written.span), f"`{name}` lacks its value", refusal)
        return
    text = word.known
    if text is None:
        return
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    words, kind = row.get("words"), str(row.get("type", ""))
    if isinstance(words, list) and text not in words:
        near = nearest(text, words)
        help = (f"did you mean `{near}`?",) if near else ()
        listed = (f"it is one of {', '.join(f'`{each}`' for each in words)}",)
        yield faults.WRONG_VALUE.at(place_of(option), f"`{name}` cannot be `{shown}`", refusal, help=help, notes=listed)
    elif kind and not _fits(text, kind):
        yield faults.WRONG_VALUE.at(place_of(option), f"`{name}` is {_KINDS[kind]}, not `{shown}`", refusal)


def is_shifted(launch: Launch) -> bool:
    """Whether a value is missing, so that what follows is another option's."""
    return any(_is_name(option) for option in launch.options)


def _is_name(option: Option) -> bool:
    """Whether the next option stands where a value is due."""
    word, written = option.value, option.written.prefix
    text = word.prefix if word is not None else ""
    is_glued = "=" in written or (not written.startswith("--") and 2 < len(written))
    if is_glued or len(text) < 2 or not text.startswith("-"):
        return False
    return " " not in text and _NEGATIVE.fullmatch(text) is None


def _fits(text: str, kind: str) -> bool:
    if kind == "flag":
        return text.lower() in _FLAGS
    try:
        int(text) if kind == "int" else float(text)
    except ValueError:
        return False
    return True


def _program(launch: Launch) -> Iterator[Diagnostic]:
    """A launcher that is told of no program."""
    if launch.script is not None or launch.open or any(launch.option(name) for name in _ENDING):
        return
    if any((option.value.known or "").endswith(PROGRAMS) for option in launch.options if option.value is not None):
        return  # that is told where an option lacks its value
    help = (f"write `{launch.alias} ... train.py`",)
    yield faults.MISSING_KEY.at(
        outermost(launch.name.span), f"{launch.alias} is told of no program", "it refuses to start", help=help
    )
