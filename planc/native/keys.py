"""Keys of a file against the table of its consumer: unknown, misspelt, of a wrong type, renamed, removed, misplaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from planc.diagnostics.amounts import either, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.diagnostics.names import all_nearest, by_part, slip
from planc.native import faults
from planc.native.tables import Key, Table, precedes
from planc.native.tree import Entry, Map, Node, Scalar, Seq, data, walk
from planc.native.values import wrong_value
from planc.source import Span

#: Unknown keys of one object of which is looked for what was meant; a file with more is another one altogether.
_MOST_GUESSED = 100

#: Keys of an earlier release that a file may have before one finding stands for all of them.
_MOST_REMOVED = 3

#: Sections of which one may be meant.
_MOST_HOMES = 3

#: Names that say too little to tell where they belong.
_COMMON = ("enabled", "type", "params", "name", "path", "device", "verbose", "debug", "version")


class Reader(NamedTuple):
    """How a consumer's keys are judged.

    table: its keys; resolvers: those that fill in `auto` for it, by the names that the table has (`hf`, `accelerate`).
    alike: whether names that differ only in `-` and `_` are one; version: the consumer's, where it is stated.
    auto_stops: whether who fills in `auto` refuses a file with one that nobody fills in;
    has_auto: whether `auto` is a word that somebody has to fill in, not a text like any other; refuses: what stops a
    file of which a key is none, where that is not the consumer itself.
    meant: paths of keys that there are not, as others call a key or put it, each with the path of that key.
    """

    table: Table
    resolvers: tuple[str, ...] = ()
    alike: bool = False
    version: str | None = None
    has_auto: bool = True
    auto_stops: bool = False
    refuses: str | None = None
    meant: Mapping[str, str] = MappingProxyType({})

    @property
    def refusal(self) -> str:
        """What becomes of a file with a key that has no place in it."""
        return self.refuses or f"{self.table.consumer} refuses to start"

    @property
    def consumer(self) -> str:
        """The consumer as messages call it."""
        return f"{self.table.consumer} {self.table.version}"


def check(root: Map, reader: Reader) -> Iterator[Diagnostic]:
    """Everything that is wrong with the keys of a file, and with the values of each by itself."""
    table = reader.table
    top: Key = {"types": ["object"], "keys": table.keys, "unknown": table.unknown}
    yield from _object(root, top, reader, ())


def folded(found: Iterable[Diagnostic], consumer: str) -> Iterator[Diagnostic]:
    """What was found, many keys of an earlier release as one finding, which shows what each of them is now."""
    every = tuple(found)
    gone = [each for each in every if each.code == faults.REMOVED_KEY.code]
    first = gone[0] if _MOST_REMOVED < len(gone) else None
    for each in every:
        if first is None or each not in gone:
            yield each
        elif each is first:
            name = each.primary.span.text.strip("\"'")
            related = tuple(Label(other.primary.span, other.help[0]) for other in gone[1:])
            message = f"{consumer} no longer knows `{name}` and {plural(len(related), 'other key')}"
            yield each._replace(message=message, related=(*each.related, *related))


def duplicates(node: Node, form: str = "json") -> Iterator[Diagnostic]:
    """Keys that stand twice in one map, anywhere in a tree. Twice the same value does no harm in YAML, of which every
    loader takes the last one; readers of JSON may refuse it.
    """
    for each in walk(node):
        first: dict[str, Entry] = {}
        for entry in each.entries:
            other = first.setdefault(entry.name, entry)
            if other is not entry:
                related = (Label(other.key.span, "first here"),)
                if entry.key.span.source is not other.key.span.source:
                    message = f"`{entry.name}` stands in two files"
                    yield faults.DUPLICATE_KEY.at(entry.key.span, message, "refused, whatever it says", related=related)
                    continue
                is_harmless = form == "yaml" and data(entry.value) == data(other.value)
                message = f"`{entry.name}` stands twice"
                label = "the same value" if is_harmless else "this one counts"
                found = faults.DUPLICATE_KEY.at(entry.key.span, message, label, related=related)
                yield found._replace(severity=Severity.WARNING) if is_harmless else found


def _object(node: Map, key: Key, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    known: dict[str, Key] = _with_variant(node, key)
    names = {_plain(name): name for name in known} if reader.alike else {}
    present, num_unknown = frozenset(node.names()), 0
    for entry in node.entries:
        name = names.get(_plain(entry.name), entry.name)
        if name in known:
            yield from _entry(node, entry, known[name], key, reader, (*path, name))
        elif key.get("unknown", "open") != "open":
            num_unknown += 1
            free = [each for each in known if each not in present] if num_unknown <= _MOST_GUESSED else []
            yield from _unknown(entry, free, key["unknown"], reader, path)
        elif "values" in key:
            yield from _entry(node, entry, key["values"], key, reader, (*path, entry.name))
    yield from _twice(node, known)
    for name in key.get("required", ()):
        if node.find(name) is None:
            place = f"`{'.'.join(path)}`" if path else "the file"
            label = reader.refuses or f"{reader.consumer} needs it"
            yield faults.MISSING_KEY.at(_start(node), f"{place} lacks `{name}`", label)


def _with_variant(node: Map, key: Key) -> dict[str, Key]:
    """The keys of an object; what one of them may hold is told by another, where the table says so."""
    known: dict[str, Key] = key.get("keys", {})
    variants = key.get("variants")
    if variants is None:
        return known
    value = node.value(variants["by"])
    rows = {name.lower(): row for name, row in variants["rows"].items()}
    row = rows.get(value.lower()) if isinstance(value, str) else None
    return known if row is None else {**known, variants["of"]: row}


def _twice(node: Map, known: dict[str, Key]) -> Iterator[Diagnostic]:
    """Two names of one key, beside each other."""
    for name, key in known.items():
        if "same" not in key:
            continue
        entry, other = node.find(name), node.find(key["same"])
        if entry is not None and other is not None:
            message = f"`{name}` and `{key['same']}` are one setting"
            related = (Label(other.key.span, "the other name"),)
            yield faults.OLD_AND_NEW_KEY.at(
                entry.key.span, message, "which of the two?", related=related, help=("remove one of them",)
            )


def _entry(
    node: Map, entry: Entry, key: Key, outer: Key, reader: Reader, path: tuple[str, ...]
) -> Iterator[Diagnostic]:
    yield from _old(node, entry, key, reader, path)
    value = entry.value
    is_auto = isinstance(value, Scalar) and value.value == "auto" and reader.has_auto
    if is_auto and "auto" not in key.get("words", ()):
        if key.get("auto") not in reader.resolvers:
            yield _unresolved(entry, key, outer, reader, path)
        return
    wrong = wrong_value(entry, value, key, ".".join(path), reader.consumer)
    if wrong is not None:
        yield wrong
    elif isinstance(value, Map):
        yield from _object(value, key, reader, path)
    elif isinstance(value, Seq) and "items" in key:
        for item in value.items:
            wrong = wrong_value(entry, item, key["items"], ".".join(path), reader.consumer)
            if wrong is not None:
                yield wrong
            elif isinstance(item, Map):
                yield from _object(item, key["items"], reader, path)


def _unknown(entry: Entry, free: list[str], what: str, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    """A key that the consumer does not know; `free` are the names that it may have been meant to be."""
    table = reader.table
    removed = table.removed.get(".".join((*path, entry.name)))
    if removed is not None:
        since = "0" if "of" in removed else removed.get("since", "0")
        if reader.version is None or not precedes(reader.version, since):
            found = _removed(entry, removed, reader)
            # Of a release that is stated, it is certain that the key does not do what it was written for.
            yield found if reader.version is None else found._replace(severity=Severity.ERROR)
        return  # else the release that is stated has it
    rejected = what == "rejected"
    harm = reader.refusal if rejected else f"{table.consumer} passes it over without a word"
    where = f" in `{'.'.join(path)}`" if path else ""
    message = f"{reader.consumer} knows no `{entry.name}`{where}"
    meant = reader.meant.get(".".join((*path, entry.name)))
    if meant is not None:
        called = _called(entry, meant, path, message, harm)
        # Beside the key itself it may be the program's own.
        is_own = "." not in meant and meant not in free and not rejected
        yield called._replace(severity=Severity.WARNING, help=(), fixes=()) if is_own else called
        return
    slips = all_nearest(entry.name, free) or all_nearest(entry.name.lower(), free)
    homes = [home for home in homes_of(table, entry.name) if home != path] if free else []
    is_telling = entry.name not in _COMMON and not slips
    if len(homes) == 1 and is_telling and (rejected or _is_near(entry.name, homes[0], free)):
        yield faults.MISPLACED_KEY.at(
            entry.key.span, f"`{entry.name}` does not belong here", harm, help=(_place(entry.name, homes[0]),)
        )
        return
    near = slips or by_part(entry.name, free)[:3]
    advice = (f"did you mean {either([f'`{name}`' for name in near])}?",) if near else ()
    own: str | None = entry.name
    if free and not near and not homes and "_" in entry.name:
        own = slip(entry.name, names_of(table))
        homes = homes_of(table, own) if own is not None else []
    if own is not None and is_telling and 0 < len(homes) <= _MOST_HOMES:
        places = [f"`{'.'.join((*home, own))}`" for home in homes]
        advice = (f"did you mean {either(places)}?",)
        near = ()
    fixes = tuple(Fix(f"write `{name}`", (Edit(entry.key.span, as_key(entry, name)),), safe=False) for name in near)
    found = faults.UNKNOWN_KEY.at(entry.key.span, message, harm, help=advice, fixes=fixes)
    # A key that is like none, and does no more harm than to be passed over, may be the program's own.
    yield found if slips or rejected else found._replace(severity=Severity.WARNING)


def _called(entry: Entry, meant: str, path: tuple[str, ...], message: str, harm: str) -> Diagnostic:
    """A key by another name than the consumer's, or in another place: the help has its own."""
    parent, _, name = meant.rpartition(".")
    if parent != ".".join(path):
        help = (_place(name, tuple(parent.split(".")) if parent else ()),)
        return faults.UNKNOWN_KEY.at(entry.key.span, message, harm, help=help)
    fixes = (Fix(f"write `{name}`", (Edit(entry.key.span, as_key(entry, name)),), safe=False),)
    return faults.UNKNOWN_KEY.at(entry.key.span, message, harm, help=(f"write `{name}`",), fixes=fixes)


def _is_near(name: str, home: tuple[str, ...], free: Sequence[str]) -> bool:
    """Whether a key that is passed over was meant for a section: one of a single word, as `seed`, may be the program's
    own where the file has no such section.
    """
    return "_" in name or not home or home[0] not in free


def _place(name: str, home: tuple[str, ...]) -> str:
    """Where a key belongs."""
    return f"write it as `{'.'.join((*home, name))}`" if home else f"write `{name}` at the top of the file"


def _removed(entry: Entry, removed: Key, reader: Reader) -> Diagnostic:
    """A key that the consumer had and has no more."""
    owner = f"{removed['of']} " if "of" in removed else ""
    since = f"gone since {owner}{removed['since']}" if "since" in removed else "gone"
    advice = f"write `{removed['renamed']}`" if "renamed" in removed else removed.get("doc", "remove the key")
    message = f"{reader.consumer} no longer knows `{entry.name}`"
    stated = f"or state an earlier release: `--set versions.{reader.table.consumer}=...`"
    is_dated = "since" in removed and not owner and reader.version is None
    help = (advice, stated) if is_dated else (advice,)
    return faults.REMOVED_KEY.at(entry.key.span, message, since, help=help)


def names_of(table: Table) -> tuple[str, ...]:
    """The names of all keys of a table, in whatever section, each once."""
    found: dict[str, None] = {}

    def look(keys: dict[str, Key]) -> None:
        for name, key in keys.items():
            found[name] = None
            look(key.get("keys", {}))

    look(table.keys)
    return tuple(found)


def homes_of(table: Table, name: str) -> list[tuple[str, ...]]:
    """The sections of a table in which a key of this name is."""
    found: list[tuple[str, ...]] = []

    def look(keys: dict[str, Key], path: tuple[str, ...]) -> None:
        if name in keys:
            found.append(path)
        for inner, key in keys.items():
            if "keys" in key:
                look(key["keys"], (*path, inner))

    look(table.keys, ())
    return found


def _old(node: Map, entry: Entry, key: Key, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    """A key that has another name now, or is about to go."""
    if "renamed" in key:
        successor = key["renamed"]
        parent, _, name = successor.rpartition(".")
        beside = node.find(name) if parent in ("", ".".join(path[:-1])) else None
        if beside is not None:
            related = (Label(beside.key.span, "the new name"),)
            message = f"`{entry.name}` stands beside `{successor}`"
            yield faults.OLD_AND_NEW_KEY.at(
                entry.key.span, message, "which of the two?", related=related, help=("remove the old one",)
            )
            return
        if reader.version is not None and precedes(reader.version, reader.table.version):
            return  # that release may not have the new name
        message = f"`{entry.name}` has another name in {reader.consumer}"
        found = faults.RENAMED_KEY.at(entry.key.span, message, help=(f"write `{successor}`",))
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        if value is True and "becomes" in key and parent == ".".join(path[:-1]):
            text = f"{as_key(entry, name)}: {_as_written(entry, key['becomes'])}"
            fix = Fix(f"write `{text}`", (Edit(entry.span, text),), safe=True)
            found = found._replace(help=(f"write `{text}`",), fixes=(fix,))
        is_off = value is False  # it asks for nothing
        yield found._replace(severity=Severity.INFO) if is_off else found
    elif "deprecated" in key:
        message = f"`{entry.name}` is deprecated in {reader.consumer}"
        yield faults.RENAMED_KEY.at(entry.key.span, message, help=(key["deprecated"],))


def _unresolved(entry: Entry, key: Key, outer: Key, reader: Reader, path: tuple[str, ...]) -> Diagnostic:
    """`auto` that nothing fills in: what comes of it, and what would do."""
    name, default = ".".join(path), key.get("default")
    shown = f"`{_as_json(default)}`" if default is not None else "its default"
    label = f"{reader.table.consumer} takes {shown}" if outer.get("auto_dropped") else "it stays a text"
    if reader.auto_stops:
        label = "who fills in the others refuses to start"
    if key.get("auto") is not None:
        help = ("write the value, or say with `--trainer hf` that the Trainer of Hugging Face reads the file",)
        message = f"nothing resolves `auto` of `{name}` here"
    else:
        help = (f"write the value; {shown} is the default" if default is not None else "write the value",)
        message = f"nothing resolves `auto` of `{name}`"
    found = faults.UNRESOLVED_AUTO.at(entry.value.span, message, label, help=help)
    # A default that does something is what most who wrote `auto` wanted; one that is off is not.
    is_harmless = outer.get("auto_dropped") and default and not reader.auto_stops
    return found._replace(severity=Severity.WARNING) if is_harmless else found


def _as_json(value: object) -> str:
    import json

    return json.dumps(value)


def _as_written(entry: Entry, value: Mapping[str, object]) -> str:
    """An object of texts as the file of an entry writes it: its keys in quotes, or not."""
    shown = ", ".join(f"{as_key(entry, name)}: {as_key(entry, str(text))}" for name, text in value.items())
    return f"{{{shown}}}"


def _start(node: Map) -> Span:
    """Where a map begins: a message about what is not in it need not show all that is."""
    span = node.span
    return span._replace(end=min(span.end, span.start + 1))


def _plain(name: str) -> str:
    return name.replace("-", "_")


def setting(near: Entry, name: str, value: str) -> str:
    """A key with a value, as the file of an entry writes them; of a command line, as an option. Texts of JSON are given
    in quotes, which an option goes without.
    """
    if near.key.span.text.startswith("--"):
        return f"--{name} {value.strip(chr(34))}"
    return f"{as_key(near, name)}: {value}"


def as_key(entry: Entry, name: str) -> str:
    """A name as the file writes keys: in the quotes of the one that it replaces."""
    quote = entry.key.span.text[:1]
    return f"{quote}{name}{quote}" if quote in ('"', "'") else name
