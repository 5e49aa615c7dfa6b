"""JSON as a tree; also that of a template, which has names in capitals where numbers are due."""

from __future__ import annotations

import re

from planc.native.tree import PLACEHOLDER, Broken, Entry, Map, Node, Scalar, Seq, Tree
from planc.readers import json_text
from planc.source import Source

_WORDS = {"true": True, "false": False, "null": None}
_FLOAT = re.compile(r"[.eE]")
_MOST_DIGITS = 400  # of a number; Python refuses to read longer ones


def read(source: Source) -> Tree | Broken:
    """The tree of a JSON text."""
    value = json_text.read(source, placeholders=True)
    if isinstance(value, json_text.Broken):
        return Broken(*value)
    return Tree(source, "json", (_node(value),))


def _node(value: json_text.Value) -> Node:
    if isinstance(value, json_text.Object):
        entries = (
            Entry(member.span, Scalar(member.key.span, member.key.value), _node(member.value))
            for member in value.members
        )
        return Map(value.span, tuple(entries))
    if isinstance(value, json_text.Array):
        return Seq(value.span, tuple(_node(item) for item in value.items))
    if isinstance(value, json_text.String):
        return Scalar(value.span, value.value)
    if isinstance(value, json_text.Number):
        if _FLOAT.search(value.text) or _MOST_DIGITS < len(value.text):
            return Scalar(value.span, float(value.text))
        return Scalar(value.span, int(value.text))
    if value.word in _WORDS:
        return Scalar(value.span, _WORDS[value.word])
    return Scalar(value.span, PLACEHOLDER if value.word.isupper() else float(value.word))
