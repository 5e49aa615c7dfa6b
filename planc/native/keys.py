"""Keys of a file against the table of its consumer: unknown, misspelt, of a wrong type, renamed, removed, misplaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.diagnostics.names import guesses, nearest
from planc.native import faults
from planc.native.tables import Key, Table
from planc.native.tree import Entry, Map, Node, Scalar, Seq

_TYPES = {
    "int": "a whole number", "float": "a number", "bool": "a flag", "string": "a text", "list": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip

#: Texts that people write for a flag, and what they mean.
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


class Reader(NamedTuple):
    """How a consumer's keys are judged.

    table: its keys; resolvers: those that fill in `auto` for it, by the names that the table has (`hf`).
    same: whether names that differ only in `-` and `_` are one.
    """

    table: Table
    resolvers: tuple[str, ...] = ()
    same: bool = False


def check(root: Map, reader: Reader) -> Iterator[Diagnostic]:
    """Everything that is wrong with the keys of a file, and with the values of each by itself."""
    table = reader.table
    top: Key = {"types": ["object"], "keys": table.keys, "unknown": table.unknown}
    yield from _object(root, top, reader, ())


def duplicates(node: Node) -> Iterator[Diagnostic]:
    """Keys that stand twice in one map, anywhere in a tree."""
    from planc.native.tree import walk

    for each in walk(node):
        first: dict[str, Entry] = {}
        for entry in each.entries:
            other = first.setdefault(entry.name, entry)
            if other is not entry:
                related = (Label(other.key.span, "first here"),)
                message = f"`{entry.name}` stands twice"
                yield faults.DUPLICATE_KEY.at(entry.key.span, message, "this one counts", related=related)


def _object(node: Map, key: Key, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    known: dict[str, Key] = key.get("keys", {})
    names = {name.replace("-", "_"): name for name in known} if reader.same else {}
    for entry in node.entries:
        name = names.get(entry.name.replace("-", "_"), entry.name)
        if name in known:
            yield from _entry(node, entry, known[name], reader, (*path, name))
        elif key.get("unknown", "open") != "open":
            yield _unknown(node, entry, known, key["unknown"], reader, path)


def _entry(node: Map, entry: Entry, key: Key, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    yield from _old(node, entry, key, reader, path)
    value = entry.value
    if isinstance(value, Scalar) and value.value == "auto" and "auto" not in key.get("words", ()):
        if key.get("auto") not in reader.resolvers:
            yield _unresolved(entry, key, reader, path)
        return
    wrong = _wrong(entry, value, key, ".".join(path))
    if wrong is not None:
        yield wrong
    elif isinstance(value, Map):
        yield from _object(value, key, reader, path)
    elif isinstance(value, Seq) and "items" in key:
        for item in value.items:
            wrong = _wrong(entry, item, key["items"], ".".join(path))
            if wrong is not None:
                yield wrong
            elif isinstance(item, Map):
                yield from _object(item, key["items"], reader, path)


def _unknown(
    node: Map, entry: Entry, known: dict[str, Key], what: str, reader: Reader, path: tuple[str, ...]
) -> Diagnostic:
    table = reader.table
    removed = table.removed.get(".".join((*path, entry.name)))
    consumer = f"{table.consumer} {table.version}"
    if removed is not None:
        since = f" since {removed['since']}" if "since" in removed else ""
        notes = (removed["doc"],) if "doc" in removed else ()
        message = f"{consumer} no longer knows `{entry.name}`"
        label = f"gone{since}" if since else "gone"
        return faults.REMOVED_KEY.at(entry.key.span, message, label, help=("remove the key",), notes=notes)
    homes = [home for home in homes_of(table, entry.name) if home != path]
    where = f" in `{'.'.join(path)}`" if path else ""
    harm = "the consumer refuses to start" if what == "rejected" else "passed over without a word"
    if len(homes) == 1 and not _is_common(entry.name):
        help = (f"it belongs into `{'.'.join(homes[0])}`" if homes[0] else "it belongs to the top of the file",)
        return faults.MISPLACED_KEY.at(entry.key.span, f"`{entry.name}` does not belong here", harm, help=help)
    free = [name for name in known if node.find(name) is None]
    near = guesses(entry.name, free) or guesses(entry.name.lower(), free)
    advice = (f"did you mean {either([f'`{name}`' for name in near])}?",) if near else ()
    fixes = tuple(Fix(f"write `{name}`", (Edit(entry.key.span, _as_key(entry, name)),), safe=False) for name in near)
    message = f"{consumer} knows no `{entry.name}`{where}"
    return faults.UNKNOWN_KEY.at(entry.key.span, message, harm, help=advice, fixes=fixes)


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


def _is_common(name: str) -> bool:
    """Whether a name says too little to tell where it belongs."""
    return name in ("enabled", "type", "params", "name", "path", "device", "verbose", "debug", "version")


def _old(node: Map, entry: Entry, key: Key, reader: Reader, path: tuple[str, ...]) -> Iterator[Diagnostic]:
    """A key that has another name now, or is about to go."""
    consumer = f"{reader.table.consumer} {reader.table.version}"
    if "renamed" in key:
        successor = key["renamed"]
        beside = node.find(successor.rpartition(".")[2])
        if beside is not None:
            related = (Label(beside.key.span, "the new name"),)
            message = f"`{entry.name}` stands beside `{successor}`"
            yield faults.OLD_AND_NEW_KEY.at(
                entry.key.span, message, "which of the two?", related=related, help=("remove the old one",)
            )
            return
        help = (f"write `{successor}`",)
        yield faults.RENAMED_KEY.at(entry.key.span, f"`{entry.name}` has another name in {consumer}", help=help)
    elif "deprecated" in key:
        notes = (key["deprecated"],)
        yield faults.RENAMED_KEY.at(entry.key.span, f"`{entry.name}` is deprecated in {consumer}", notes=notes)


def _unresolved(entry: Entry, key: Key, reader: Reader, path: tuple[str, ...]) -> Diagnostic:
    resolver = key.get("auto")
    name = ".".join(path)
    if resolver is not None:
        help = ("write the value, or say with `--trainer hf` that the Trainer of Hugging Face reads the file",)
        message = f"nothing resolves `auto` of `{name}` without the Trainer"
    else:
        default = key.get("default")
        help = (f"write a value; the default is {default!r}" if default is not None else "leave the key out",)
        message = f"nothing resolves `auto` of `{name}`"
    return faults.UNRESOLVED_AUTO.at(entry.value.span, message, "it stays a text", help=help)


def _wrong(entry: Entry, node: Node, key: Key, name: str) -> Diagnostic | None:
    """A value of a type, or a word, that the key does not take."""
    if isinstance(node, Scalar) and node.is_placeholder:
        return None
    types = key.get("types", ())
    shown = node.span.text if isinstance(node, Scalar) and len(node.span.text) <= 40 else _TYPES[_type(node)]
    if types and not _fits(node, types):
        meant = _meant(node, types)
        if key.get("coerced") and meant is not None:
            return None
        help = (f"write `{meant}`",) if meant is not None else ()
        fixes = (Fix(f"write `{meant}`", (Edit(node.span, meant),), safe=True),) if meant is not None else ()
        due, own = either([_TYPES[each] for each in types if each != "null"] or ["null"]), _TYPES[_type(node)]
        message = f"`{name}` is {due}, not {own}"
        return faults.WRONG_VALUE.at(node.span, message, f"{shown} is {own}", help=help, fixes=fixes)
    words = key.get("words")
    value = node.value if isinstance(node, Scalar) else None
    if words and isinstance(value, str) and value not in words:
        near = nearest(value, [word for word in words if isinstance(word, str)])
        help = (f"did you mean `{near}`?",) if near else ()
        listed = ", ".join(f"`{word}`" for word in words)
        message = f"`{name}` cannot be `{value[:40]}`"
        return faults.WRONG_VALUE.at(node.span, message, "no such word", help=help, notes=(f"it is one of {listed}",))
    return _out_of_range(node, key, name)


def _out_of_range(node: Node, key: Key, name: str) -> Diagnostic | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    bounds = (
        ("at least", "minimum", value < key.get("minimum", value)),
        ("at most", "maximum", key.get("maximum", value) < value),
        ("more than", "above", "above" in key and value <= key["above"]),
    )
    for text, part, broken in bounds:
        if broken:
            return faults.WRONG_VALUE.at(node.span, f"`{name}` is {value}", f"it has to be {text} {key[part]}")
    return None


def _type(node: Node) -> str:
    if isinstance(node, Map):
        return "object"
    if isinstance(node, Seq):
        return "list"
    value = node.value
    names = {bool: "bool", int: "int", float: "float", str: "string", type(None): "null"}
    return names.get(type(value), "string")


def _fits(node: Node, types: Any) -> bool:
    own = _type(node)
    if own in types or (own == "int" and "float" in types):
        return True
    # `1e9` is how people write a large whole number, and consumers take it for one.
    return own == "float" and "int" in types and isinstance(node, Scalar) and float(node.value).is_integer()


def _meant(node: Node, types: Any) -> str | None:
    """What a text in quotes was meant to be, where it can mean one value only."""
    value = node.value if isinstance(node, Scalar) else None
    if not isinstance(value, str):
        return None
    if "bool" in types and value.lower() in _FLAGS:
        return "true" if _FLAGS[value.lower()] else "false"
    try:
        number = float(value)
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    if "int" in types and number.is_integer():
        return str(int(number))
    return value if "float" in types else None


def _as_key(entry: Entry, name: str) -> str:
    """A name as the file writes keys: in the quotes of the one that it replaces."""
    quote = entry.key.span.text[:1]
    return f"{quote}{name}{quote}" if quote in ('"', "'") else name
