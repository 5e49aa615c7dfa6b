"""Fields, types and values in the words of a person, as Markdown."""

from __future__ import annotations

from planc.diagnostics.amounts import either, number_text
from planc.plan.schema import AUTO, WRITTEN_OTHERWISE, Field, Follows, Type
from planc.plan.units import PLAIN, TIME, UNITS, Dimension, name_of

_FORMS = {"record": "section", "flag": "`true` or `false`", "text": "text in quotes", "target": "name of a target",
          "version": "version in quotes"}  # fmt: skip


def type_text(type: Type) -> str:
    """A type: `count, at least 1`, `size`, `one of ...`."""
    if type.form == "list":
        return f"list, each a {type_text(type.item)}"
    if type.form == "map":
        return f"map of names of your own, each a {type_text(type.item)}"
    if type.form == "reference":
        return f"name of a {type.of}"
    if type.form == "money":
        return f"price per {type.of}, such as `2.4 {'USD/h' if type.of == 'h' else 'EUR/kWh'}`"
    if type.form == "quantity":
        names = [_dimension_text(dimension, type.dimensions) for dimension in type.dimensions]
        return either([*names, "`true` or `false`"] if type.flag else names)
    if type.words:
        return f"one of {either([f'`{word}`' for word in type.words])}"
    if type.form in ("count", "number"):
        return f"{type.form}{f', at least {number_text(type.minimum)}' if type.minimum is not None else ''}"
    return "share between 0 and 1" if type.form == "share" else _FORMS.get(type.form, type.form)


def units_of(type: Type) -> tuple[str, ...]:
    """The units in which a value of a type may be written."""
    if type.form == "money":
        return tuple(unit for unit in UNITS if unit.endswith(f"/{type.of}"))
    if type.form == "share":
        return ("%",)
    # A plain number beside other kinds is a share.
    share = PLAIN in type.dimensions and type.dimensions[0] != PLAIN
    known = ((unit, dimension) for unit, (dimension, _, _) in UNITS.items() if unit != "%" or share)
    return tuple(unit for unit, dimension in known if dimension in type.dimensions)


def default_text(field: Field) -> str:
    """What a field is where it is not written; empty if it is then absent."""
    default = field.default
    if field.required:
        return "required"
    if default is AUTO:
        return "worked out from the other fields if it is not written"
    if isinstance(default, Follows):
        return f"by default {default.text}"
    if default is None or default == {} or default == ():
        return ""
    if isinstance(default, bool):
        return f"by default `{'true' if default else 'false'}`"
    return f"by default `{default}{' s' if TIME in field.type.dimensions else ''}`"


def field_markdown(field: Field, title: str) -> str:
    """The meaning, type, default, units and other names of a field."""
    lines = [f"**`{title}`**: {field.doc}" if field.doc else f"**`{title}`**"]
    facts = [type_text(field.type), default_text(field)]
    if field.only:
        facts.append(f"only of {either([f'`{word}`' for word in field.only])}")
    lines.append("; ".join(fact for fact in facts if fact))
    units = units_of(field.type)
    if units:
        lines.append(f"Units: {' '.join(f'`{unit}`' for unit in units)}")
    if field.also:
        lines.append(f"Elsewhere: {', '.join(f'`{name}`' for name in field.also)}")
        lines.extend(f"`{name}`: {WRITTEN_OTHERWISE[name]}" for name in field.also if name in WRITTEN_OTHERWISE)
    return "\n\n".join(lines)


def _dimension_text(dimension: Dimension, all_of: tuple[Dimension, ...]) -> str:
    if dimension == PLAIN:
        return "a share" if all_of[0] != PLAIN else "a count"
    return name_of(dimension)
