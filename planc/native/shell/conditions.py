"""Whether a condition of a script holds, where its text tells: constants against constants, and nothing else."""

from __future__ import annotations

import re

from planc.native.shell.arithmetic import number
from planc.native.shell.nodes import Node
from planc.native.shell.scopes import Scope
from planc.native.shell.words import Words

_NUMERIC = {
    "-eq": lambda one, other: one == other, "-ne": lambda one, other: one != other,
    "-lt": lambda one, other: one < other, "-le": lambda one, other: one <= other,
    "-gt": lambda one, other: one > other, "-ge": lambda one, other: one >= other,
}  # fmt: skip
_EQUAL, _UNEQUAL = ("=", "=="), "!="

#: What is a pattern between double brackets.
_PATTERN = re.compile(r"[*?\[\\]")
_BETWEEN = {";", "\n", "comment"}


def truth(nodes: list[Node], words: Words, scope: Scope) -> bool | None:
    """Whether the condition of some nodes holds; None if only the run knows."""
    parts = [node for node in nodes if node.type not in _BETWEEN]
    return _of(parts[0], words, scope) if len(parts) == 1 else None


def _of(node: Node, words: Words, scope: Scope) -> bool | None:
    if node.type == "command":
        return {"true": True, "false": False}.get(words.text(node))
    if node.type == "negated_command":
        inner = [*node.named_children()]
        return _negated(_of(inner[0], words, scope) if len(inner) == 1 else None)
    if node.type != "test_command" or node.broken:
        return None
    inner = [*node.named_children()]
    double = bool(node.children) and node.children[0].type == "[["
    return _tested(inner[0], words, scope, double) if len(inner) == 1 else None


def _tested(node: Node, words: Words, scope: Scope, double: bool) -> bool | None:
    """What stands between the brackets."""
    if node.broken:
        return None
    parts = [*node.named_children()]
    operator = next((words.text(child) for child in node.children if child.field == "operator"), "")
    if node.type == "parenthesized_expression" and len(parts) == 1:
        return _tested(parts[0], words, scope, double)
    if node.type == "unary_expression":
        operator = words.text(node.children[0])
        if operator == "!":
            return _negated(_tested(parts[-1], words, scope, double))
        text = _text(parts[-1], words, scope, double) if operator in ("-z", "-n") else None
        return None if text is None else (text == "") == (operator == "-z")
    if node.type != "binary_expression":
        return None
    sides = [part for part in parts if part.field in ("left", "right")]
    if len(sides) != 2:
        return None
    if operator in ("&&", "||"):
        return _joined(operator, *(_tested(side, words, scope, double) for side in sides))
    one, other = (_text(side, words, scope, double) for side in sides)
    if one is None or other is None:
        return None
    if operator in _NUMERIC:
        left, right = number(one), number(other)
        return None if left is None or right is None or not (one and other) else _NUMERIC[operator](left, right)
    if operator not in (*_EQUAL, _UNEQUAL) or (double and sides[1].type != "string" and _PATTERN.search(other)):
        return None
    return (one == other) == (operator in _EQUAL)


def _text(node: Node, words: Words, scope: Scope, double: bool) -> str | None:
    """The text of an operand; None where it may be another, or several words, or none."""
    word = words.scalar(node, scope, words.span(node))
    text = word.known
    if text is None or word.default_of or scope.get("IFS") is not None:
        return None
    is_one = double or node.type in ("string", "raw_string", "ansi_c_string")
    return text if is_one or (text and not re.search(r"[\s*?\[]", text)) else None


def _joined(operator: str, one: bool | None, other: bool | None) -> bool | None:
    deciding = operator == "||"
    if deciding in (one, other):
        return deciding
    return None if one is None or other is None else not deciding


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value
