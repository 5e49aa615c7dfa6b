"""An unknown field or path renamed to what was meant, as fixes.

Read only for a file that has such a name. Where help names several fields, each is a fix, or there is none: the one
that an edit can write is not therefore the one that was meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planc.diagnostics.diagnostic import Edit, Fix
from planc.diagnostics.names import all_nearest
from planc.plan.meant import home_of, meant
from planc.plan.naming import instead
from planc.plan.schema import SECTIONS, WRITTEN_OTHERWISE, Field
from planc.plan.shape import Shape
from planc.plan.target_names import is_target_block
from planc.source import Span
from planc.syntax import nodes

_HOLD_ENTRIES = ("record", "variant", "reference", "map")


def renamed_field(shape: Shape, entry: Any, key: nodes.Name, body: nodes.Body) -> tuple[Fix, ...]:
    """Fixes of a field that a section does not have: the right name, or the section around it that has it."""
    taken = {_name(other) for other in body.entries}

    def renamed(name: str) -> Fix | None:
        field = shape.fields.get(name)
        suits = field is not None and name not in taken and _suits(field, shape, entry)
        return instead(key.span, (name,))[0] if suits else None

    if shape.kind not in SECTIONS:
        return _all(all_nearest(key.text, shape.fields), renamed)
    if shape.kind == "plan" and is_target_block(key.text):
        return ()
    home = home_of(shape.kind)
    prefix = f"{home}." if home else ""

    def fix(path: str) -> Fix | None:
        name = path.removeprefix(prefix)
        if not path.startswith(prefix) or " = " in name:
            return None
        section, dot, field = name.partition(".")
        return (
            _wrapped(entry, key, section, field)
            if dot and shape.kind == "plan" and section not in taken
            else (None if dot else renamed(name))
        )

    return _all(_meant(shape.kind, key.text, tuple(shape.fields), prefix), fix)


def renamed_path(path: nodes.Path, at: int, kind: str, of: str, is_path: Callable[[str], bool]) -> tuple[Fix, ...]:
    """Fixes of a path whose part `at` the kind of section `of` does not have; `is_path` says what would be one."""
    names = [name.text for name in path.names]
    home = home_of(of)
    prefix = f"{home}." if home else ""

    def fix(meant_path: str) -> Fix | None:
        own = meant_path.removeprefix(prefix)
        if meant_path.startswith(prefix) and "." not in own and is_path(".".join([*names[:at], own, *names[at + 1 :]])):
            return instead(path.names[at].span, (own,))[0]
        if kind == "plan" and is_path(".".join([meant_path, *names[at + 1 :]])):
            return instead(path.names[0].span.to(path.names[at].span), (meant_path,))[0]
        return None

    own = tuple(field.name for field in SECTIONS.get(of, ()))
    return _all(_meant(of, names[at], own, prefix), fix)


def _meant(kind: str, word: str, own: tuple[str, ...], prefix: str) -> tuple[str, ...]:
    """What was meant, with all fields of the section that are equally near; none where another value is due as well."""
    if word.replace("-", "_").lower() in WRITTEN_OTHERWISE:
        return ()
    found = meant(kind, word)
    near = tuple(f"{prefix}{name}" for name in all_nearest(word, own))
    return tuple(dict.fromkeys((*found, *near))) if found and found[0] in near else found


def _all(names: tuple[str, ...], fix: Callable[[str], Fix | None]) -> tuple[Fix, ...]:
    found = tuple(map(fix, names))
    return () if None in found else tuple(one for one in found if one is not None)


def _name(entry: Any) -> str:
    key = getattr(entry, "key", None) or getattr(entry, "name", None)
    return key.text if isinstance(key, nodes.Name) else ""


def _suits(field: Field, shape: Shape, entry: Any) -> bool:
    """Whether a field can be written in the way in which the unknown one is."""
    if field.only and shape.word not in field.only:
        return False
    if isinstance(entry, nodes.Section):
        return field.type.form in _HOLD_ENTRIES
    return field.type.form not in ("record", "map")


def _wrapped(entry: Any, key: nodes.Name, section: str, field: str) -> Fix | None:
    """`tensor = 8` as `parallel { tensor = 8 }`."""
    text = entry.span.text
    if not isinstance(entry, nodes.Field) or "\n" in text or key.span.start != entry.span.start or "." in field:
        return None
    end = Span(entry.span.source, entry.span.end, entry.span.end)
    before = Span(key.span.source, key.span.start, entry.value.span.start)
    edits = (Edit(before, f"{section} {{ {field} = "), Edit(end, " }"))
    return Fix(f"write `{section} {{ {field} = {entry.value.span.text} }}`", edits, safe=False)
