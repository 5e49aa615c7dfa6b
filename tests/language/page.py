"""The tables of docs/language.md, made of the code: `python -m tests.language.page` writes them into the page.

The text around them is written by hand. A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType

from planc import source
from planc.diagnostics.amounts import number_text
from planc.facts.evidence import evidence_of
from planc.facts.facts import FACTS
from planc.kinds import all_kinds
from planc.plan import coerce, evaluate, instance, merge, quantities, scope, solve
from planc.plan.schema import AUTO, DERIVED, SECTIONS, Field, Follows, Type
from planc.plan.units import CURRENCIES, PLAIN, UNITS, Dimension, name_of
from planc.readers import config, json_text
from planc.readers.model_types import TYPES
from planc.syntax import lexer, parse
from planc.targets import load_target, target_names
from tests.shared import ROOT

PAGE = ROOT / "docs" / "language.md"

_TABLE = re.compile(r"(<!-- table: ([\w -]+) -->\n).*?(<!-- end -->)", re.S)

#: What each limit bounds, the module and name of the constant, and the code of the fault beyond it.
LIMITS: tuple[tuple[str, ModuleType, str, str], ...] = (
    ("bytes of a file", source, "MAX_BYTES", "PLN002"),
    ("brackets one inside the other", lexer, "MAX_NESTING", "PLN003"),
    ("syntax faults that are reported of one file", parse, "MAX_FAULTS", ""),
    ("items of a list", coerce, "MAX_ITEMS", "PLN031"),
    ("digits of a written number", quantities, "MAX_DIGITS", "PLN019"),
    ("exponent of a written number", quantities, "MAX_EXPONENT", "PLN019"),
    ("digits of the result of a calculation", evaluate, "MAX_RESULT_DIGITS", "PLN031"),
    ("operators one inside the other, also through fields that refer to each other", evaluate, "MAX_DEPTH", "PLN031"),
    ("fields that follow from each other, groups of clusters included", instance, "MAX_FIELDS", "PLN031"),
    ("`from` in a chain", merge, "MAX_CHAIN", "PLN031"),
    ("`use` in a chain of files", scope, "MAX_USES", "PLN031"),
    ("candidates of an open field that `lint` tries, and of all open fields together", instance, "MAX_CANDIDATES", ""),
    ("product of which an `auto` that several values would solve lists the divisors", solve, "MOST", ""),
    ("brackets one inside the other in a `config.json`", json_text, "MAX_NESTING", "PLN040"),
    ("digits of a number in a `config.json`", config, "MAX_DIGITS", "PLN040"),
)

#: Numbers whose formula serves others too: what it is of these.
_MEANT: dict[str, dict[str, str]] = {
    "model.active_parameters": {"": "Parameters that a token passes through: with the experts that are active."},
}


def main() -> None:
    """Writes the tables into the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    return _TABLE.sub(lambda match: f"{match[1]}{_table(match[2])}{match[3]}", text)


def _table(name: str) -> str:
    kind, _, argument = name.partition(" ")
    if kind == "fields":
        return _fields(argument)
    return _TABLES[kind]()


def _rows(*rows: tuple[str, ...]) -> str:
    head, *rest = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"\n{head}|{'---|' * len(rows[0])}\n{''.join(rest)}\n"


def _fields(section: str) -> str:
    rows = [_field(field) for field in SECTIONS[section]]
    return _rows(("field", "type", "default", "meaning", "elsewhere"), *rows)


def _field(field: Field) -> tuple[str, ...]:
    only = f" (`{'`, `'.join(field.only)}` only)" if field.only else ""
    also = ", ".join(f"`{name}`" for name in field.also)
    return f"`{field.name}`", type_text(field.type), _default(field), field.doc + only, also


def _default(field: Field) -> str:
    if field.required:
        return "**required**"
    if field.default is AUTO:
        return "`auto`"
    if isinstance(field.default, Follows):
        return f"= {field.default.text}"
    if isinstance(field.default, bool):
        return "`true`" if field.default else "`false`"
    if field.default == {}:
        return "`{ }`"
    if field.default is None:
        return ""
    if field.default == ():
        return "`[]`"
    if field.type.form == "quantity" and field.type.dimensions[0] != PLAIN:
        return f"{field.default} s"
    return f"`{field.default}`"


def type_text(kind: Type) -> str:
    """A type in the words of the page."""
    if kind.form == "count" and kind.words:
        return " ".join(f"`{word}`" for word in kind.words)
    if kind.form == "list":
        return f"list of {f'{kind.length} ' if kind.length else ''}{_plural(type_text(kind.item))}"
    if kind.form == "quantity":
        several = kind.dimensions[0] != PLAIN  # then a plain number beside them is a share
        names = ["share" if dimension == PLAIN and several else _short(dimension) for dimension in kind.dimensions]
        return " or ".join([*names, "flag"] if kind.flag else names)
    words = " ".join(f"`{word}`" for word in kind.words)
    if kind.by_variant:
        words = "; ".join(f"{variant}: {' '.join(f'`{word}`' for word in own)}" for variant, own in kind.by_variant)
    return {
        "count": "count" if kind.minimum else "count from 0",
        "number": "number" if kind.minimum is None else f"number from {number_text(kind.minimum)}",
        "money": f"price per {kind.of}",
        "word": f"word: {words}",
        "variant": f"variant: {words}",
        "reference": f"name of a {kind.of}",
        "record": "section",
        "map": f"map of {_plural(type_text(kind.item)) if kind.item else ''}",
    }.get(kind.form, kind.form)


def _plural(text: str) -> str:
    first, colon, rest = text.partition(":")
    if first.startswith("name of a "):
        kind = first.removeprefix("name of a ")
        return f"names of {'policies' if kind == 'policy' else f'{kind}s'}"
    plural = {"count from 0": "counts from 0", "word": "words"}.get(first, first)
    return (plural if "s" in (plural[-1], plural.partition(" ")[0][-1]) else f"{plural}s") + colon + rest


def _short(dimension: Dimension) -> str:
    return name_of(dimension).removeprefix("a number of ").removeprefix("a plain number").removeprefix("a ") or "count"


def _units() -> str:
    by_kind: dict[str, list[str]] = {}
    for unit, (dimension, _, _) in UNITS.items():
        bases = dict(dimension)
        money = next((currency for currency in CURRENCIES if currency in bases), None)
        kind = ("money" if len(bases) == 1 else "price") if money else "share" if unit == "%" else _short(dimension)
        by_kind.setdefault(kind, []).append(f"`{unit}`")
    return _rows(("quantity", "units"), *((kind, " ".join(units)) for kind, units in by_kind.items()))


def _derived() -> str:
    rows = []
    for path, dimension in DERIVED.items():
        evidence = evidence_of(FACTS[path].formula.__doc__)
        parts = {"": evidence.meaning, "Formula:": evidence.formula}
        parts.update(_MEANT.get(path, {}))
        unit = "share" if FACTS[path].unit == "share" else "count" if dimension == PLAIN else _short(dimension)
        rows.append((f"`{path}`", unit, parts[""], parts["Formula:"].replace("|", "or")))
    return _rows(("number", "kind", "meaning", "formula"), *rows)


def _limits() -> str:
    shown = [
        (what, f"{getattr(module, name):,}", code or "no more are looked at") for what, module, name, code in LIMITS
    ]
    return _rows(("limit", "", "beyond it"), *shown)


def _faults() -> str:
    rows = [(kind.code, kind.name, kind.page.partition("\n")[0]) for kind in all_kinds() if kind.code < "PLN090"]
    return _rows(("code", "name", "it says that"), *rows)


def _targets() -> str:
    rows = []
    for name in target_names():
        target = load_target(name)
        options = [f"`{option.name}` ({type_text(option.type)}): {option.doc}" for option in target.options]
        rows.append((f"`{name}`", ". ".join(options) or "none"))
    return _rows(("target", "options"), *rows)


def _model_types() -> str:
    return "\n" + ", ".join(f"`{name}`" for name in sorted(TYPES)) + ".\n\n"


_TABLES: dict[str, Callable[[], str]] = {
    "units": _units, "derived": _derived, "limits": _limits, "faults": _faults, "targets": _targets,
    "model": _model_types,
}  # fmt: skip


if __name__ == "__main__":
    main()
