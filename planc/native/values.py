"""Values of a file against the row of their key: of a wrong type, none of the words, out of bounds."""

from __future__ import annotations

import re
from typing import Any

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.tables import Key
from planc.native.tree import Entry, Map, Node, Scalar, Seq

_TYPES = {
    "int": "a whole number", "float": "a number", "bool": "a flag", "string": "a text", "list": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip

#: Texts that people write for a flag, and what they mean.
_FLAGS = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}

#: Whole numbers of consumers are of 64 bits at most, where they are written as `1e30`, too.
_TOO_LARGE = 2**63

#: A text that pydantic, and `int` itself, take for a whole number.
_DIGITS = re.compile(r"\s*[+-]?\d+(?:\.0+)?\s*")

#: Characters of a value that a message shows.
_SHOWN = 40


def wrong_value(entry: Entry, node: Node, key: Key, name: str, consumer: str) -> Diagnostic | None:
    """What is wrong with a value by itself; None if nothing is. A gap of a template may be anything."""
    if isinstance(node, Scalar) and node.is_placeholder:
        return None
    types = key.get("types", ())
    if types and not _fits(node, types):
        return _wrong_type(node, key, name)
    return _wrong_word(node, key, name, consumer) or _out_of_bounds(node, key, name)


def _wrong_type(node: Node, key: Key, name: str) -> Diagnostic | None:
    types = key["types"]
    meant = _meant(node, types)
    if key.get("coerced") and meant is not None and _is_converted(node, types):
        return None
    if meant is None and "string" in types and isinstance(node, Scalar) and _type(node) in ("int", "float", "bool"):
        meant = f'"{node.span.text}"'
    own, due = _TYPES[_type(node)], either([_TYPES[each] for each in types if each != "null"] or ["null"])
    shown = f"{_short(node)} is {own}" if isinstance(node, Scalar) else f"this is {own}"
    help = (f"write `{meant}`",) if meant is not None else ()
    is_own = "&" not in node.span.text  # what has an anchor of YAML is the value of other keys, too
    fixes = (Fix(f"write `{meant}`", (Edit(node.span, meant),), safe=True),) if meant is not None and is_own else ()
    return faults.WRONG_VALUE.at(node.span, f"`{name}` is {due}, not {own}", shown, help=help, fixes=fixes)


def _wrong_word(node: Node, key: Key, name: str, consumer: str) -> Diagnostic | None:
    words = key.get("words")
    value = node.value if isinstance(node, Scalar) else None
    if not words or not isinstance(value, str) or value in words:
        return None
    if value.lower() in (word.lower() for word in key.get("folded", ())):
        return None
    for word, removed in key.get("removed_words", {}).items():
        if word.lower() == value.lower():
            since = f"gone since {removed['since']}" if "since" in removed else "gone"
            return faults.REMOVED_KEY.at(node.span, f"{consumer} has no `{value}` any more", since)
    near = nearest(value, [word for word in words if isinstance(word, str)])
    help = (f"did you mean `{near}`?",) if near else ()
    listed = ", ".join(f"`{word}`" for word in words)
    message = f"`{name}` cannot be `{value[:_SHOWN]}`"
    return faults.WRONG_VALUE.at(node.span, message, "no such word", help=help, notes=(f"it is one of {listed}",))


def _out_of_bounds(node: Node, key: Key, name: str) -> Diagnostic | None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    low, high, above, below = (key.get(part) for part in ("minimum", "maximum", "above", "below"))
    is_whole = "int" in key.get("types", ()) and "float" not in key["types"]
    bounds = (
        ("at least", low, low is not None and value < low),
        ("at most", high, high is not None and high < value),
        ("more than", above, above is not None and value <= above),
        ("less than", below, below is not None and below <= value),
        ("less than", _TOO_LARGE, is_whole and _TOO_LARGE <= value),
    )
    for text, bound, is_broken in bounds:
        if is_broken:
            message = f"`{name}` is {_short(node)}"
            return faults.WRONG_VALUE.at(node.span, message, f"it has to be {text} {bound}")
    return None


def _type(node: Node) -> str:
    if isinstance(node, Map):
        return "object"
    if isinstance(node, Seq):
        return "list"
    names: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "string", type(None): "null"}
    return names.get(type(node.value), "string")


def _fits(node: Node, types: Any) -> bool:
    own = _type(node)
    if own in types or (own == "int" and "float" in types):
        return True
    # `1e9` is how people write a large whole number, and consumers take it for one.
    return own == "float" and "int" in types and isinstance(node, Scalar) and float(node.value).is_integer()


def _meant(node: Node, types: Any) -> str | None:
    """What a text in quotes was meant to be, where it can mean one value only."""
    value = node.value if isinstance(node, Scalar) else None
    if not isinstance(value, str) or 400 < len(value):
        return None
    if "bool" in types and value.lower() in _FLAGS:
        return "true" if _FLAGS[value.lower()] else "false"
    try:
        number = float(value)
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")) or "_" in value:
        return None
    if "int" in types and number.is_integer():
        return str(int(number)) if abs(number) < 1e15 else None
    return with_point(value.strip()) if "float" in types else None


def _is_converted(node: Node, types: Any) -> bool:
    """Whether a consumer that makes numbers of texts takes this one: for a whole number, digits alone."""
    if "int" not in types or "float" in types or not isinstance(node, Scalar) or "bool" in types:
        return True
    return _DIGITS.fullmatch(str(node.value)) is not None


def with_point(number: str) -> str:
    """A number as every format reads it: to YAML, `1e-5` is a text, and `1.0e-5` a number."""
    mantissa, exponent, power = number.lower().partition("e")
    if not exponent:
        return number
    signed = power if power[:1] in ("-", "+") else f"+{power}"
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{signed}"


def _short(node: Node) -> str:
    text = node.span.text
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
