"""Trees as plain data, trees as text, and Hypothesis strategies for both."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from planc.syntax.slips import KINDS

RESERVED = frozenset(
    "use|from|in|and|or|not|when|because|require|forbid|warn|true|false|none|auto|else|language".split("|")  # noqa: SIM905
)


def plain(value: Any) -> Any:
    """A node as nested tuples that begin with its type's name, without places."""
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            parts = (part for name, part in zip(value._fields, value, strict=True) if name != "span")
            return (type(value).__name__, *map(plain, parts))
        return tuple(map(plain, value))
    return value


def quoted(text: str) -> str:
    """A string of the language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def printed(node: Any) -> str:
    """The text of a plain node; every operand in parentheses, so that the tree comes back as it is."""
    kind, *parts = node
    return _PRINT[kind](*parts)


def _name(text: str) -> str:
    plain_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text not in RESERVED | set(KINDS)
    return text if plain_name else quoted(text)


def _operand(node: Any) -> str:
    return printed(node) if node[0] in ("Number", "String", "Literal", "Path", "List", "Call") else f"({printed(node)})"


def _rule(verb: str, condition: Any, guard: Any, because: Any) -> str:
    text = f"{verb} {printed(condition)}"
    text += f" when {printed(guard)}" if guard else ""
    return text + (f" because {printed(because)}" if because is not None else "")


def _member(item: Any, container: Any, negated: bool) -> str:
    # `80 GB in` would open a field called GB, so a quantity stands in parentheses there.
    left = f"({printed(item)})" if item[0] == "Number" else _operand(item)
    return f"{left} {'not in' if negated else 'in'} {printed(container)}"


def _field(key: Any, value: Any, is_quoted: bool) -> str:
    return f"{quoted(key[1]) if is_quoted else key[1]} = {printed(value)}"


def _block(kind: str, name: Any, parent: Any, body: Any, broken: bool) -> str:
    derived = "" if parent is None else f" from {printed(parent)}"
    return f"{kind} {_name(name[1])}{derived}{' ' + printed(body) if body else ''}"


_PRINT: dict[str, Any] = {
    "Name": _name,
    "Number": str,
    "String": quoted,
    "Literal": str,
    "Path": lambda names: ".".join(name[1] for name in names),
    "List": lambda items: f"[{', '.join(map(printed, items))}]",
    "Call": lambda function, arguments: f"{function[1]}({', '.join(map(printed, arguments))})",
    "Binary": lambda operator, left, right: f"{_operand(left)} {operator} {_operand(right)}",
    "Unary": lambda operator, operand: f"{operator} {_operand(operand)}",
    "Member": _member,
    "Range": lambda low, high: f"{_operand(low)} .. {_operand(high)}",
    "Narrowed": lambda head, body: f"{_name(head[1])} {printed(body)}",
    "Rule": _rule,
    "Field": _field,
    "Section": lambda name, body: f"{name[1]} {printed(body)}",
    "Candidates": lambda name, choices: f"{name[1]} in {printed(choices)}",
    "Body": lambda entries: "{ " + "\n".join(map(printed, entries)) + " }",
    "Block": _block,
}

words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda word: word not in RESERVED | set(KINDS))
names = words.map(lambda word: ("Name", word))
texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from('\n\t"\\'), max_size=12)
any_names = names | texts.map(lambda text: ("Name", text))
units = st.sampled_from(["", "k", "Ki", "B", " GB", " GiB", " Gbit/s", " %", " tokens", "Mi tokens", " h", " USD/h"])
numbers = st.builds(
    lambda number, unit: ("Number", f"{number}{unit}"), st.integers(0, 10**12) | st.just("1.5e-4"), units
)
strings = texts.map(lambda text: ("String", text))
literals = st.sampled_from(["true", "false", "none", "auto"]).map(lambda word: ("Literal", word))
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: ("Path", tuple(parts)))


def _expressions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arithmetic = st.builds(lambda o, a, b: ("Binary", o, a, b), st.sampled_from("+-*/"), inner, inner)
    joined = st.builds(lambda o, a, b: ("Binary", o, a, b), st.sampled_from(["and", "or"]), inner, inner)
    order = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])
    compared = st.builds(lambda o, a, b: ("Binary", o, a, b), order, inner, inner)
    signed = st.builds(lambda o, a: ("Unary", o, a), st.sampled_from(["not", "-", "+"]), inner)
    items = st.lists(inner, max_size=3).map(tuple)
    lists = items.map(lambda found: ("List", found))
    calls = st.builds(lambda name, found: ("Call", name, found), names, items)
    ranges = st.builds(lambda a, b: ("Range", a, b), numbers, numbers)
    members = st.builds(lambda a, b, no: ("Member", a, b, no), inner, lists | ranges | paths, st.booleans())
    return arithmetic | joined | compared | signed | lists | calls | members


expressions = st.recursive(numbers | strings | literals | paths, _expressions, max_leaves=8)
rules = st.builds(
    lambda verb, condition, guard, because: ("Rule", verb, condition, guard, because),
    st.sampled_from(["require", "forbid", "warn"]), expressions, st.none() | expressions, st.none() | strings,
)  # fmt: skip
choices = (
    st.lists(expressions, max_size=3).map(lambda items: ("List", tuple(items)))
    | st.builds(lambda a, b: ("Range", a, b), numbers, numbers)
    | paths
)


def _entries(bodies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    narrowed = st.builds(lambda head, body: ("Narrowed", head, body), any_names, bodies)
    values = expressions | narrowed | st.builds(lambda a, b: ("Range", a, b), numbers, numbers) | rules
    fields = st.builds(lambda key, value: ("Field", key, value, False), names, values)
    quoted_fields = st.builds(lambda key, value: ("Field", ("Name", key), value, True), texts, values)
    sections = st.builds(lambda name, body: ("Section", name, body), names, bodies)
    candidates = st.builds(lambda name, found: ("Candidates", name, found), names, choices)
    return fields | quoted_fields | sections | candidates | rules


bodies = st.recursive(
    st.just(("Body", ())),
    lambda inner: st.lists(_entries(inner), max_size=4).map(lambda entries: ("Body", tuple(entries))),
    max_leaves=6,
)
parents = st.none() | any_names | st.builds(lambda name, path: ("Call", name, (path,)), names, strings)
blocks = st.builds(
    lambda kind, name, parent, body: ("Block", kind, name, parent, body, False),
    st.sampled_from(KINDS), any_names, parents, bodies,
)  # fmt: skip
