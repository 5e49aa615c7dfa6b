"""Flags of torchtitan's trainer: all of its settings since 0.3, and before that some over those of a TOML file.

tyro makes the flags: `-` and `_` are one, a switch takes no value and is turned off as `--section.no_name`, nothing
may be shortened, and what stands behind a subcommand belongs to that (torchtitan/config/manager.py; tyro 1.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Severity
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.keys import Reader, check
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option, parameters, plain
from planc.native.shell.values import Word
from planc.native.tables import Key, Table, load_table
from planc.native.tree import PLACEHOLDER, Entry, Map, Scalar
from planc.source import Span
from planc.targets._torchtitan_models import CONFIGS

_REFUSES = "torchtitan refuses to start"

#: The trainer as a module, and the end of its path.
_MODULE, _PATH = "torchtitan.train", "torchtitan/train.py"

_SUBCOMMAND = re.compile(r"activation[-_]checkpoint:[\w-]+")
_WHOLE = re.compile(r"\s*[+-]?\d+(?:_\d+)*\s*", re.ASCII)

#: The flags that choose a configuration.
_CHOICES = ("module", "config")

#: Modules that torchtitan itself has, whose configurations are those of the table.
_MODULES = frozenset(config.module for config in CONFIGS)


class Flags(NamedTuple):
    """The flags of a run.

    root: the settings as the tree of a file; policy: the subcommand that says what is computed again;
    over: whether they stand over a TOML file; whole: whether there are no others.
    """

    root: Map
    policy: Word | None
    over: bool
    whole: bool


def starts_torchtitan(launch: Launch) -> bool:
    """Whether a launch starts torchtitan's trainer."""
    script = launch.script.known if launch.script is not None else None
    if script is None:
        return False
    named = {option.name for option in launch.parameters}
    is_trainer = script == _MODULE if launch.module else script.endswith(_PATH)
    return is_trainer or (not launch.module and _is_over(named)) or named.issuperset(_CHOICES)


def _is_over(named: set[str]) -> bool:
    return "job.config_file" in named


def read(launch: Launch) -> Flags:
    """The flags that the trainer gets."""
    words, policy, _ = _parted(launch.arguments)
    options = parameters(words)
    named = {option.name for option in options}
    table = _table(_is_new(named))
    place = outermost(launch.name.span)
    entries = [entry for option in options if (entry := _entry(option, table)) is not None]
    is_whole = not launch.open and not any(word.many for word in launch.arguments)
    return Flags(_tree(entries, place), policy, not _is_new(named), is_whole)


def check_flags(launch: Launch) -> Iterator[Diagnostic]:
    """What torchtitan refuses of its flags, each by itself."""
    words, policy, rest = _parted(launch.arguments)
    options = parameters(words)
    named = {option.name for option in options}
    is_new = _is_new(named)
    if not (is_new or _is_over(named)):
        return  # of which release the trainer is nothing tells
    table = _table(is_new)
    wrong = {id(option): tuple(_arity(option, table)) for option in options}
    for each in wrong.values():
        yield from each
    kept = [_entry(option, table) for option in options if not wrong[id(option)] and option.name not in _CHOICES]
    module = next((option.value for option in options if option.name == "module"), None)
    is_own = is_new and (module is None or module.known not in _MODULES)
    tree = _tree([entry for entry in kept if entry is not None], outermost(launch.name.span))
    for found in check(tree, Reader(table, has_auto=False, refuses=_REFUSES)):
        yield from _certain(found, is_own, is_new)
    if not is_new:
        return
    yield from _late(policy, rest, table)
    yield from _function(options, launch, table)


def _is_new(named: set[str]) -> bool:
    """Whether the flags are those of 0.3: a module and a function of it make the configuration."""
    return not named.isdisjoint(_CHOICES)


def _table(is_new: bool) -> Table:
    return load_table("torchtitan-flags")._replace(consumer="torchtitan") if is_new else load_table("torchtitan")


def _parted(words: Sequence[Word]) -> tuple[tuple[Word, ...], Word | None, tuple[Word, ...]]:
    """The words before the subcommand, that itself, and those behind it."""
    at = next((at for at, word in enumerate(words) if _SUBCOMMAND.fullmatch(word.known or "")), None)
    return (tuple(words), None, ()) if at is None else (tuple(words[:at]), words[at], tuple(words[at + 1 :]))


def _row(table: Table, path: Sequence[str]) -> tuple[Key | None, bool]:
    """The row of a flag, and whether the flag turns it off; None if the table has none."""
    held: Key = {"keys": table.keys}
    for at, name in enumerate(path):
        keys: dict[str, Key] = held.get("keys", {})
        if name in keys:
            held = keys[name]
        elif "values" in held:
            held = held["values"]
        elif at + 1 == len(path) and name.startswith("no_") and _is_switch(keys.get(name[3:], {})):
            return keys[name[3:]], True
        else:
            return None, False
    return held, False


def _is_switch(row: Key) -> bool:
    return bool(row.get("types") == ["bool"])


def _entry(option: Option, table: Table) -> Entry | None:
    """A flag as an entry, its key the whole name: what only the run knows is a gap."""
    if not option.written.prefix.startswith("--"):
        return None
    row, is_off = _row(table, option.name.split("."))
    key = _name_span(option)
    if row is not None and _is_switch(row):
        value = Scalar(key, PLACEHOLDER if option.values else not is_off)
    else:
        value = Scalar(_values_span(option), _typed(option, row or {})) if option.values else Scalar(key, True)
    section, _, last = option.name.rpartition(".")
    name = f"{section}.{last[3:]}" if is_off else option.name
    span = key.to(value.span) if key.source is value.span.source and key.start <= value.span.start else value.span
    return Entry(span, Scalar(key, name), value)


def _name_span(option: Option) -> Span:
    written = option.written.prefix.partition("=")[0]
    whole = outermost(option.written.origin)
    return whole._replace(end=whole.start + len(written)) if whole.text.startswith(written) else whole


def _values_span(option: Option) -> Span:
    first, last = (outermost(option.values[at].origin) for at in (0, -1))
    return first.to(last) if first.source is last.source and first.start <= last.end else first


def _typed(option: Option, row: Key) -> object:
    """The value as tyro converts it; of several words the text with blanks between them."""
    texts = [word.known for word in option.values]
    types = row.get("types", ())
    if None in texts or ("list" in types and "string" not in types):
        return PLACEHOLDER
    text = " ".join(text for text in texts if text is not None)
    if "null" in types and text == "None":
        return None
    if "int" in types and _WHOLE.fullmatch(text) and len(text) < 19:
        return int(text)
    if "float" in types:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _tree(entries: Sequence[Entry], place: Span) -> Map:
    """Entries of whole names as the sections of a file, the last of each setting alone."""
    chosen = {entry.name: entry for entry in entries}
    return _section([(entry.name.split("."), entry) for entry in chosen.values()], place, len("--"))


def _section(named: list[tuple[list[str], Entry]], place: Span, start: int) -> Map:
    """A section of entries; `start` is where the names within it begin in those of the flags."""
    groups: dict[str, list[tuple[list[str], Entry]]] = {}
    for path, entry in named:
        groups.setdefault(path[0], []).append((path[1:], entry))
    found: list[Entry] = []
    for name, group in groups.items():
        found += [each._replace(key=Scalar(_last_part(each.key.span, name), name)) for path, each in group if not path]
        below = [(path, entry) for path, entry in group if path]
        if below:
            first = below[0][1].key.span
            key = first._replace(start=first.start + start, end=first.start + start + len(name))
            key = key if plain(key.text) == plain(name) else first
            inner = _section(below, key, start + len(name) + 1)
            found.append(Entry(below[0][1].span, Scalar(key, name), inner))
    return Map(place, tuple(found))


def _last_part(span: Span, name: str) -> Span:
    """The last part of a flag's name, where the text has it so."""
    start = span.end - len(name)
    return span._replace(start=start) if plain(span.text[-len(name) :]) == plain(name) else span


def _arity(option: Option, table: Table) -> Iterator[Diagnostic]:
    """Values of a switch, and missing ones."""
    row, _ = _row(table, option.name.split("."))
    name, values = option.written.prefix.partition("=")[0], option.values
    if row is None or "keys" in row or not row.get("types") or any(word.many for word in values):
        return
    if _is_switch(row) and values and values[0].known is not None:
        text = values[0].known
        section, _, last = name.rpartition(".")
        meant = f"{section}.no_{last}" if text.lower() in ("false", "0", "no", "off") else name
        yield _wrong(outermost(values[0].origin), f"`{name}` takes no value", f"write `{meant}`")
    elif not _is_switch(row) and not values:
        yield _wrong(outermost(option.written.origin), f"`{name}` has no value", "write one, or leave the flag out")
    elif "nargs" not in row and len(values) > 1 and values[1].known is not None:
        text = values[1].known[:40]
        yield _wrong(outermost(values[1].origin), f"`{name}` takes one value", f"remove `{text}`")


def _wrong(place: Span, message: str, help: str) -> Diagnostic:
    return faults.WRONG_VALUE.at(place, message, _REFUSES, help=(help,))


def _certain(found: Diagnostic, is_own: bool, is_new: bool) -> Iterator[Diagnostic]:
    """What is certain: a module of the user's own may have further flags, and a TOML file may name such a module."""
    if found.code in (faults.UNKNOWN_KEY.code, faults.MISPLACED_KEY.code):
        if is_own and not found.fixes:
            return
        if is_own or not (is_new or found.fixes):
            found = found._replace(severity=Severity.WARNING)
    fixes = tuple(fix for fix in found.fixes if all(re.fullmatch(r"[\w.+-]+", edit.span.text) for edit in fix.edits))
    yield found._replace(fixes=fixes)


def _late(policy: Word | None, rest: tuple[Word, ...], table: Table) -> Iterator[Diagnostic]:
    """Flags behind the subcommand, which tyro takes for those of the policy."""
    for option in parameters(rest):
        path = option.name.split(".")
        if policy is None or path[0] not in table.keys or path[0] == "activation_checkpoint":
            continue
        message = f"`{option.written.prefix.partition('=')[0]}` stands behind `{policy.known}`"
        help = (f"move it before `{policy.known}`",)
        yield faults.MISPLACED_KEY.at(_name_span(option), message, "tyro refuses it there", help=help)


def _function(options: Sequence[Option], launch: Launch, table: Table) -> Iterator[Diagnostic]:
    """A module without a function of it, the other way round, and a name that is near that of a function."""
    given = {option.name: option for option in options if option.name in _CHOICES}
    is_whole = not launch.open and not any(word.many for word in launch.arguments)
    if len(given) == 1 and is_whole:
        (option,) = given.values()
        lacking = "config" if "module" in given else "module"
        message = f"`--{option.name}` without `--{lacking}`"
        yield faults.MISSING_KEY.at(outermost(option.written.origin), message, _REFUSES)
    module, config = (given[name].value if name in given else None for name in _CHOICES)
    name = config.known if config is not None else None
    words = table.keys["config"]["words"]
    if module is None or module.known not in _MODULES or config is None or name is None or name in words:
        return
    near = nearest(name, [word for word in words if word.startswith(module.known)])
    if near is not None:
        place = outermost(config.origin)
        fixes = (Fix(f"write `{near}`", (Edit(place, near),), safe=False),) if place.text == name else ()
        message = f"torchtitan {table.version} has no configuration `{name[:60]}`"
        found = faults.WRONG_VALUE.at(place, message, "no such function", help=(f"did you mean `{near}`?",))
        yield found._replace(severity=Severity.WARNING, fixes=fixes)
