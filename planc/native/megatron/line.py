"""Flags of Megatron-LM on a command line, as its parser takes them.

argparse is told to take no beginning of a name for the whole (`allow_abbrev=False`); what it does not know stops it.
But many scripts are of a program that was made from Megatron's and has flags of its own: where flags tell so, only what
no such program can mean is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Severity
from planc.diagnostics.names import slip
from planc.native import faults
from planc.native.megatron import keys
from planc.native.shell.embedded import outermost
from planc.native.shell.options import Option, parameters
from planc.native.shell.values import Word
from planc.native.tables import Key, load_table
from planc.native.tree import PLACEHOLDER, Entry, Map, Scalar
from planc.source import Span

#: Flags of which a command line that starts Megatron, or a program made from it, has several.
_SURE = frozenset((
    "num-layers", "hidden-size", "num-attention-heads", "seq-length", "micro-batch-size", "global-batch-size",
    "tensor-model-parallel-size", "train-iters", "ffn-hidden-size", "max-position-embeddings",
))  # fmt: skip

#: Scripts that Megatron itself has.
_OWN = re.compile(r"pretrain_(gpt|bert|t5|mamba|hybrid|retro|ict|vlm|vision_\w+)\.py|train_rl\.py")

#: Unknown flags of a script of Megatron's own that are mistakes, or of a release that is not known; more are a fork's.
_MOST_UNKNOWN = 2

#: Unknown flags for which a known one is looked for; letters of a beginning that tells the whole, and those cut off.
_MOST_GUESSED, _SHORTEST, _MOST_CUT = 40, 8, 8

_REFUSES = "Megatron refuses to start"

#: What `int` and `float` of Python take.
_WHOLE = re.compile(r"\s*[+-]?\d+(?:_\d+)*\s*", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d+|\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class Line(NamedTuple):
    """The flags of a command line.

    entries: by name without dashes, as `micro-batch-size`, the last of each, with the value that the parser gets;
    diagnostics: what is wrong with them, each by itself. whole: these are all flags of the run, and none is misspelt.
    """

    entries: dict[str, Entry]
    whole: bool
    diagnostics: tuple[Diagnostic, ...]


def starts_megatron(options: Sequence[Option]) -> bool:
    """Whether a program that gets these options is Megatron, or was made from it."""
    return 2 < len(_SURE.intersection(option.name.replace("_", "-") for option in options))


def read(words: Sequence[Word], script: str) -> Line:
    """The flags in the arguments of a program, as a script of this name takes them."""
    options = parameters(tuple(words))
    table = load_table("megatron")
    rows = table.keys
    dashed = [option for option in options if _name(option).startswith("--")]
    entries = [_entry(option, rows.get(_name(option), {})) for option in dashed]
    strange = [each for each in dashed if _name(each) not in rows and _name(each) not in table.removed]
    slips = {_name(each): _nearest(_name(each), rows) for each in strange[:_MOST_GUESSED]}
    foreign = sum(slips.get(_name(each)) is None for each in strange)
    is_fork = foreign > (_MOST_UNKNOWN if _OWN.fullmatch(script.rpartition("/")[2]) else 0)
    judge = _of_fork if is_fork else _of_megatron
    found = tuple(judge(list(zip(dashed, entries, strict=True)), rows, slips))
    by_name = {entry.name[2:].replace("_", "-") if is_fork else entry.name[2:]: entry for entry in entries}
    values = {id(word) for option in dashed for word in _valued(option, rows.get(_name(option), {}))}
    is_open = any(word.many and id(word) not in values for word in words)
    return Line(by_name, not is_open and not any(slips.values()), found)


def _valued(option: Option, row: Key) -> tuple[Word, ...]:
    """The word that is a flag's value, or ends in it, though it may be several to the shell."""
    if not row or "flag" in row:
        return ()
    return (option.written,) if _is_glued(option) else option.values[:1]


def _of_megatron(
    line: list[tuple[Option, Entry]], rows: dict[str, Key], slips: dict[str, str | None]
) -> Iterator[Diagnostic]:
    """Everything that Megatron's own parser would not take."""
    kept: list[Entry] = []
    for option, entry in line:
        near, wrong = slips.get(entry.name), tuple(_arity(option, rows.get(entry.name, {})))
        if near is not None:
            yield _misspelt(entry, near, Severity.ERROR)
        elif not wrong and _is_judged(entry, rows.get(entry.name, {})):
            kept.append(entry)
        yield from wrong
        if "each" in rows.get(entry.name, {}):
            yield from _no_number(option, rows[entry.name])
    if kept:
        yield from _certain(keys.check(Map(kept[0].span, tuple(kept))))


def _is_judged(entry: Entry, row: Key) -> bool:
    """Whether the table of keys judges a value as the parser does: a text of any words is one to the parser."""
    is_text = "string" in row.get("types", ()) and "words" not in row
    return not (is_text and isinstance(entry.value, Scalar) and entry.value.value in (True, "true"))


def _of_fork(
    line: list[tuple[Option, Entry]], rows: dict[str, Key], slips: dict[str, str | None]
) -> Iterator[Diagnostic]:
    """What a program that was made from Megatron would not take either."""
    given = {entry.name for _, entry in line}
    for option, entry in line:
        near = slips.get(entry.name)
        if near is not None and near not in given:
            yield _misspelt(entry, near, Severity.WARNING)
        yield from _no_number(option, rows.get(entry.name, {}))


def _nearest(name: str, rows: dict[str, Key]) -> str | None:
    """The flag that an unknown one was meant to be: of which it is a slip, or alone the beginning."""
    longer = [each for each in rows if each.startswith(name)] if _SHORTEST <= len(name) else []
    is_cut = len(longer) == 1 and len(longer[0]) <= len(name) + _MOST_CUT
    return slip(name, rows) or (longer[0] if is_cut else None)


def _name(option: Option) -> str:
    """The option as it is written, without its value."""
    return option.written.prefix.partition("=")[0]


def _is_glued(option: Option) -> bool:
    return "=" in option.written.prefix


def _entry(option: Option, row: Key) -> Entry:
    """A flag as an entry of keys: what only the run knows is a gap."""
    name = _name(option)
    whole = outermost(option.written.origin)
    key = whole._replace(end=whole.start + len(name)) if whole.text.startswith(name) else whole
    value = _value(option, row, key)
    span = key.to(value.span) if key.source is value.span.source and key.start <= value.span.start else value.span
    return Entry(span, Scalar(key, name), value)


def _value(option: Option, row: Key, key: Span) -> Scalar:
    """The value; of a flag that takes several all of them, with blanks between them."""
    if not option.values or "flag" in row:
        return Scalar(key, True)
    first = outermost(option.values[0].origin)
    if "nargs" not in row:
        return Scalar(first, _typed(option.values[0], row))
    last = outermost(option.values[-1].origin)
    span = first.to(last) if first.source is last.source and first.start <= last.end else first
    texts = [word.known for word in option.values]
    return Scalar(span, PLACEHOLDER if None in texts else " ".join(text for text in texts if text))


def _typed(word: Word, row: Key) -> object:
    """A word as the parser converts it; where it takes a text, as it is."""
    text = word.known
    if text is None:
        return PLACEHOLDER
    if not {"int", "float"}.intersection(row.get("types", ("int",))):
        return text
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) < 19 else text
    number = float(text) if _PLAIN_NUMBER.fullmatch(text) else float("inf")
    return text if number in (float("inf"), float("-inf")) else number


def _arity(option: Option, row: Key) -> Iterator[Diagnostic]:
    """Values of a flag that takes none or fewer, and values that are missing."""
    name, values, count = _name(option), option.values, row.get("nargs", 1)
    if not row or any(word.many for word in values):
        return
    extra = values if "flag" in row else values[1:] if count == 1 or _is_glued(option) else ()
    if "flag" in row and extra and extra[0].known is not None:
        yield _too_much(extra[0], f"`{name}` takes no value")
    elif extra and extra[0].known is not None:
        yield _too_much(extra[0], f"`{name}` takes one value")
    elif "flag" not in row and count != "*" and not values:
        message = f"`{name}` has no value"
        yield faults.WRONG_VALUE.at(outermost(option.written.origin), message, _REFUSES)
    elif isinstance(count, int) and 1 < count and len(values) != count and not _is_glued(option):
        message = f"`{name}` takes {plural(count, 'value')}, not {len(values)}"
        yield faults.WRONG_VALUE.at(outermost(option.written.origin), message, _REFUSES)


def _too_much(word: Word, message: str) -> Diagnostic:
    place, text = outermost(word.origin), word.known or ""
    help = (f"remove `{text[:40]}`",)
    return faults.WRONG_VALUE.at(place, message, _REFUSES, help=help)


def _no_number(option: Option, row: Key) -> Iterator[Diagnostic]:
    """Words that are no number, where Megatron, and whatever was made from it, wants one."""
    types = row.get("each", row).get("types")
    for word in option.values if "each" in row else option.values[:1]:
        text = word.known
        if text is None or types not in (["int"], ["float"]) or "$" in text:
            continue
        if not (_WHOLE.fullmatch(text) if types == ["int"] else _is_number(text)):
            due = "a whole number" if types == ["int"] else "a number"
            message = f"`{_name(option)}` is {due}, not `{text[:30]}`"
            yield faults.WRONG_VALUE.at(outermost(word.origin), message, "the parser refuses it")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _misspelt(entry: Entry, near: str, severity: Severity) -> Diagnostic:
    help = (f"did you mean `{near}`?",)
    message = f"megatron {load_table('megatron').version} knows no `{entry.name}`"
    found = faults.UNKNOWN_KEY.at(entry.key.span, message, _REFUSES, help=help)
    fixes = (Fix(f"write `{near}`", (Edit(entry.key.span, near),), safe=False),)
    return found._replace(severity=severity, fixes=fixes if entry.key.span.text == entry.name else ())


def _certain(found: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """What the check of keys finds; of its fixes those that replace what stands in the script as it is meant."""
    for each in found:
        fixes = tuple(fix for fix in each.fixes if all(_is_plain(edit.span.text) for edit in fix.edits))
        yield each._replace(fixes=fixes)


def _is_plain(text: str) -> bool:
    """Whether a text of a script is one word as it is written."""
    return re.fullmatch(r"[\w./+-]+", text) is not None
