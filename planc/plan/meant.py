"""What an unknown field may mean: a slip of the finger, or the name that a trainer has for a field of any section.

Read only for a file that has such a name, and the index of all names is made when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from planc.diagnostics.names import nearest, slip
from planc.plan.schema import SECTIONS, WRITTEN_OTHERWISE, Field
from planc.plan.target_names import is_target_block

#: A name that may mean more fields than this is left without a guess.
_MOST = 3

#: In names of so few letters one other letter makes another name: `tp` is no slip of `to`.
_SHORT = 3

#: What trainers call the entry that says which variant a section is, and the record of its settings.
_VARIANT_KEYS = ("name", "type", "kind")
_SETTINGS_KEYS = ("params", "args", "kwargs", "config")


class _Index(NamedTuple):
    """Paths from a plan, by the names of fields, by their other names, and by the words of variants.

    homes: the path of each kind of block and section; variants: the kinds that are variants.
    """

    homes: dict[str, str]
    variants: frozenset[str]
    names: dict[str, list[str]]
    others: dict[str, list[str]]
    words: dict[str, list[str]]


def advice(kind: str, word: str) -> tuple[str, ...]:
    """Help for a field that a kind of block or section does not have: what was meant; empty if nothing is close.

    A field of the same section is named alone, any other by its path from the plan, or from the model or cluster that
    the section is part of.
    """
    name = _folded(word)
    if kind in _index().variants and name in _SETTINGS_KEYS:
        return (f"its fields stand in `{kind}` itself",)
    if kind in ("plan", "template") and is_target_block(word):
        return (f"a target stands in `emit`: `emit = [{word}]`, or `emit = [{word} {{ ... }}]` with options",)
    found = meant(kind, word)
    if not found:
        return ()
    if found == (word,):
        return (f"`{word}` stands in the plan itself, not in `{kind}`",)
    note = WRITTEN_OTHERWISE.get(name)
    if note is not None and note.startswith(f"write `{found[0]} = "):
        return (note,)  # it names the field, and a value
    return (f"did you mean {' or '.join(_shown(kind, path) for path in found)}?", *((note,) if note else ()))


def of_the_job(target: str, word: str, value: str) -> tuple[str, ...]:
    """Help for an option that a target does not have and `launch` has for it, as `partition` of Slurm."""
    types = {field.name: field.type for field in SECTIONS["launch"]}
    due = types[target] if target in types and is_target_block(target) else None
    if due is None or (due.form != "map" and word not in {field.name for field in SECTIONS[target]}):
        return ()
    shown = f'"{value}"' if due.form == "map" and '"' not in value else value
    return (f"write `launch {{ {target} {{ {word} = {shown} }} }}`",)


def is_another_tools(word: str) -> bool:
    """Whether another tool has this name for a field."""
    return _folded(word) in _index().others


def meant(kind: str, word: str) -> tuple[str, ...]:
    """Paths from a plan of the fields that a word may have been meant to be where it stands, in the likeliest reading.

    `path = word` is the word of a variant; the path of the section itself is the choice of its variant.
    """
    name = _folded(word)
    index = _index()
    home = index.homes.get(kind)
    own = {field.name: f"{home}.{field.name}" if home else field.name for field in SECTIONS.get(kind, ())}
    own_others = {other: own[field.name] for field in SECTIONS.get(kind, ()) for other in field.also}
    exact = _elsewhere(index, kind, name)
    if name in own_others:
        called = tuple(own[field.name] for field in SECTIONS[kind] if name in field.also)
        return (*called, *(path for path in exact if path == home))
    if home is not None and kind in index.variants and (name in _VARIANT_KEYS or home in exact):
        return (home,)
    close = slip(word, own)
    if close and (_SHORT < len(word) or not exact):
        return tuple(dict.fromkeys((own[close], *exact[: _MOST - 1])))
    if exact:
        return exact
    close = nearest(word, own)
    if close:
        return (own[close],)
    close = nearest(name, own_others)
    if close:
        return (own_others[close],)
    close = slip(name, index.others) if _SHORT < len(name) else None
    return tuple(index.others[close]) if close else ()


def home_of(kind: str) -> str:
    """The path from a plan of a kind of block or section; empty for the plan, and where it has none."""
    return _index().homes.get(kind, "")


def _elsewhere(index: _Index, kind: str, name: str) -> tuple[str, ...]:
    """Paths of all that has exactly this name; none if they are too many to choose from."""
    found = index.words.get(name) or [*index.others.get(name, ()), *index.names.get(name, ())]
    found = [path for path in dict.fromkeys(found) if path != index.homes.get(kind) or kind in index.variants]
    return tuple(found) if len(found) <= _MOST else ()


def _shown(kind: str, path: str) -> str:
    """A path in a message, as it is written in the kind of block or section."""
    home = _index().homes.get(kind, "")
    block = home.partition(".")[0]
    if home and path == home:
        return f"`{path.rpartition('.')[2]} = ...`"
    if home and path.startswith(home + "."):
        return f"`{path.removeprefix(home + '.')}`"
    first = path.partition(" ")[0].partition(".")[0]
    fields = {field.name for field in SECTIONS.get(kind, ())}
    outside = block in ("model", "cluster") and first != block
    return f"`{path}` of a plan" if outside or (home and first in fields) else f"`{path}`"


def _folded(word: str) -> str:
    return word.replace("-", "_").lower()


@cache
def _index() -> _Index:
    homes = {"plan": "", "template": ""}
    variants = set()
    names: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    words: dict[str, list[str]] = {}
    for path, field in _fields("plan", ""):
        names.setdefault(field.name, []).append(path)
        for other in field.also:
            others.setdefault(other, []).append(path)
        if field.type.form == "variant":
            variants.add(field.type.of)
            for known in field.type.words:
                words.setdefault(_folded(known), []).append(f"{path} = {known}")
        if _holds_fields(field):
            homes[field.type.of] = path
    return _Index(homes, frozenset(variants), names, others, words)


def _fields(kind: str, prefix: str) -> Iterator[tuple[str, Field]]:
    """Every field below a kind of block or section, with its path."""
    for field in SECTIONS[kind]:
        path = f"{prefix}{field.name}"
        yield path, field
        if _holds_fields(field):
            yield from _fields(field.type.of, path + ".")


def _holds_fields(field: Field) -> bool:
    """Whether a field is a section, or a block that is part of the plan."""
    return field.type.form in ("record", "variant", "reference") and field.type.of not in ("plan", "policy")
