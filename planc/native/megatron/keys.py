"""Flags in YAML against the table of Megatron-LM's parser: each becomes a word or several of a command line."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Severity
from planc.diagnostics.names import slip
from planc.native import faults, keys
from planc.native.megatron.flags import number_of, value_of, words_of
from planc.native.tables import Key, load_table
from planc.native.tree import PLACEHOLDER, Entry, Map, Scalar, Seq

#: Texts that stand for a flag without a value.
_ON = ("true", "True")

#: Unknown flags for which a known one is looked for: a file of thousands is none of Megatron.
_MOST_GUESSED = 40

#: What the table says of a flag that the parser takes and forgets.
_EMPTY = "it has no effect"


def check(arguments: Map) -> Iterator[Diagnostic]:
    """Everything that Megatron's parser would not take. Scripts have flags of their own, and later releases new ones:
    a flag that is unknown, and no slip of a known one, is a warning.
    """
    reader = keys.Reader(load_table("megatron"))
    rows, removed = reader.table.keys, reader.table.removed
    known = [entry for entry in arguments.entries if entry.name in rows or entry.name in removed]
    entries = tuple(_as_words(entry, rows.get(entry.name, {})) for entry in known)
    yield from _valued_flags(arguments, rows)
    unknown = [entry for entry in arguments.entries if entry.name not in rows and entry.name not in removed]
    for at, entry in enumerate(unknown):
        yield _unknown(entry, slip(entry.name, rows) if at < _MOST_GUESSED else None, reader.consumer)
    for found in keys.check(Map(arguments.span, entries), reader):
        if found.code == faults.RENAMED_KEY.code and found.help == (_EMPTY,):
            found = found._replace(severity=Severity.INFO)
        elif found.code == faults.REMOVED_KEY.code and "since" not in removed.get(_name(found), {"since": ""}):
            label = found.primary._replace(text="Megatron takes it only to stop")
            found = found._replace(severity=Severity.ERROR, primary=label)
        elif found.code == faults.OLD_AND_NEW_KEY.code and _are_one(arguments, found):
            found = found._replace(severity=Severity.WARNING)
        yield found


def _unknown(entry: Entry, near: str | None, consumer: str) -> Diagnostic:
    """A flag that the table has not: a slip of another, or one of which this version knows nothing."""
    found = faults.UNKNOWN_KEY.at(entry.key.span, f"{consumer} knows no `{entry.name}`", "Megatron refuses to start")
    if near is None:
        help = ("nothing, if the script that is called has a flag of this name",)
        return found._replace(severity=Severity.WARNING, help=help)
    fixes = (Fix(f"write `{near}`", (Edit(entry.key.span, keys.as_key(entry, near)),), safe=False),)
    return found._replace(help=(f"did you mean `{near}`?",), fixes=fixes)


def _are_one(arguments: Map, found: Diagnostic) -> bool:
    """Whether the old name and the new one say the same: of the positions, that they rotate."""
    return _name(found) == "--use-rotary-position-embeddings" and arguments.value("--position-embedding-type") == "rope"


def _name(found: Diagnostic) -> str:
    """The flag that a diagnostic shows."""
    return found.primary.span.text.strip("'\"")


def _as_words(entry: Entry, row: Key) -> Entry:
    """An entry with the value that the parser gets, as the row describes it; what is not known may be anything."""
    value, types, span = value_of(entry), row.get("types", ()), entry.value.span
    words = words_of(entry)
    if words is not None and isinstance(entry.value, Seq):
        value = ",".join(words)  # the runner makes one word of a list of YAML's
        words = (value,)
        entry = entry._replace(value=Scalar(span, value))
    in_brackets = isinstance(value, str) and value[:1] == "[" and words is not None and 1 < len(words)
    if words is not None and ("nargs" in row or in_brackets):
        return entry._replace(value=Seq(span, tuple(Scalar(span, word) for word in words)))
    if isinstance(entry.value, Map):
        return entry
    if value is None:
        return entry._replace(value=Scalar(span, PLACEHOLDER))
    if "flag" in row and value in (False, *_ON):  # false has a message of its own
        return entry._replace(value=Scalar(span, True))
    if "flag" not in row and value == "true":  # the runner writes no value then
        return entry._replace(value=Scalar(span, True))
    if "string" in types and not isinstance(value, (bool, str)):
        return entry._replace(value=Scalar(span, str(value)))
    return entry


def _valued_flags(arguments: Map, rows: dict[str, Key]) -> Iterator[Diagnostic]:
    """Flags that take no value and have one, and whole numbers that are written as the parser reads none."""
    for entry in arguments.entries:
        row, value = rows.get(entry.name, {}), value_of(entry)
        if row and isinstance(entry.value, Scalar) and entry.value.value is None:
            message = f"`{entry.name}` has no value"
            help = ("write `true`",) if "flag" in row else ("write one, or leave the flag out",)
            label = f"Megatron is given `{entry.name} null`, and refuses"
            yield faults.WRONG_VALUE.at(entry.span, message, label, help=help)
        if "flag" in row and value is False:
            message = f"`{entry.name}` takes no value"
            help = ("leave it out, or write `true`",)
            label = f"Megatron is given `{entry.name} false`, and refuses"
            yield faults.WRONG_VALUE.at(entry.value.span, message, label, help=help)
        number = number_of(entry)
        if row.get("types") != ["int"] or number is None or isinstance(value, int):
            continue
        if isinstance(number, float) and number.is_integer():
            message = f"`{entry.name}` is a whole number, not `{entry.value.span.text[:40]}`"
            help = (f"write `{int(number)}`",)
            yield faults.WRONG_VALUE.at(entry.value.span, message, "Megatron's parser takes digits", help=help)
