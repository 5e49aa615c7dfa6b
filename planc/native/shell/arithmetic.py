"""What `$((...))` gives: whole numbers of 64 bits, as in the shell."""

from __future__ import annotations

import re
from collections.abc import Callable

from planc.native.shell.nodes import Node

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,15}")
_OCTAL = re.compile(r"0[0-7]{1,20}")
_BITS = 64
_MOST_EXPONENT = 63

#: What a name or an expansion holds as text; None if it is unknown.
Lookup = Callable[[Node], str | None]


def evaluate(node: Node, text: str, lookup: Lookup) -> int | None:
    """The value of an expression; None where the shell would fail, or a part of it is unknown.

    text: the script's.
    """
    if node.broken:
        return None
    if node.type in ("number", "word", "variable_name", "simple_expansion", "expansion", "string"):
        literal = text[node.start : node.end]
        if node.type in ("number", "word") and literal[:1].isdigit():
            return number(literal)
        held = lookup(node)
        return None if held is None else number(held.strip())
    parts = [*node.named_children()]
    if node.type == "parenthesized_expression" and len(parts) == 1:
        return evaluate(parts[0], text, lookup)
    operator = next((child.type for child in node.children if child.field == "operator"), "")
    if node.type == "unary_expression" and len(parts) == 1:
        return _unary(operator, evaluate(parts[0], text, lookup))
    if node.type == "binary_expression" and len(parts) == 2:
        left, right = (evaluate(part, text, lookup) for part in parts)
        return _binary(operator, left, right)
    return None


def number(text: str) -> int | None:
    """A number as the shell reads it: 010 is eight, and nothing is zero; None for an expression or a name."""
    negative, digits = text.startswith("-"), text.removeprefix("-")
    if not text:
        return 0
    if _DECIMAL.fullmatch(digits):
        value = int(digits)
    elif _HEXADECIMAL.fullmatch(digits):
        value = int(digits, 16)
    elif _OCTAL.fullmatch(digits):
        value = int(digits, 8)
    else:
        return None
    return wrapped(-value if negative else value)


def _unary(operator: str, value: int | None) -> int | None:
    if value is None or operator not in ("-", "+"):
        return None
    return wrapped(-value) if operator == "-" else value


def _binary(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        return wrapped(quotient if operator == "/" else left - quotient * right)
    if operator == "**":
        return wrapped(left**right) if 0 <= right <= _MOST_EXPONENT else None
    results = {"+": left + right, "-": left - right, "*": left * right}
    return wrapped(results[operator]) if operator in results else None


def wrapped(value: int) -> int:
    """A value as 64 bits hold it."""
    value &= (1 << _BITS) - 1
    return value - (1 << _BITS) if value >> (_BITS - 1) else value
