"""Patterns of layers, as Megatron takes them: `([0]*3+[1]*11)` is three dense layers and eleven with experts."""

from __future__ import annotations

import re

#: Texts and patterns that are longer than any model.
_LONGEST_TEXT, _MOST_LAYERS = 200, 2000

_TOKEN = re.compile(r"\d{1,4}|[\[\](),+*]")

_Value = int | list[int]


def pattern(text: str) -> list[int] | None:
    """The layers of a pattern, or None if the text is none. Nothing is evaluated that is no sum of repeated lists."""
    tokens = _TOKEN.findall(text)
    if _LONGEST_TEXT < len(text) or "".join(tokens) != "".join(text.split()):
        return None
    try:
        value, rest = _sum(tokens)
    except (IndexError, ValueError, TypeError):
        return None
    return value if not rest and isinstance(value, list) else None


def _sum(tokens: list[str]) -> tuple[_Value, list[str]]:
    value, tokens = _product(tokens)
    while tokens[:1] == ["+"]:
        other, tokens = _product(tokens[1:])
        value = _bounded(value + other)  # type: ignore[operator]
    return value, tokens


def _product(tokens: list[str]) -> tuple[_Value, list[str]]:
    value, tokens = _part(tokens)
    while tokens[:1] == ["*"]:
        factor, tokens = _part(tokens[1:])
        lists, numbers = [each for each in (value, factor) if isinstance(each, list)], 1
        for each in (value, factor):
            numbers *= each if isinstance(each, int) else 1
        if len(lists) == 2 or _MOST_LAYERS < numbers * max(1, len(lists[0]) if lists else 1):
            raise ValueError
        value = lists[0] * numbers if lists else numbers
    return value, tokens


def _part(tokens: list[str]) -> tuple[_Value, list[str]]:
    first, tokens = tokens[0], tokens[1:]
    if first == "(":
        value, tokens = _sum(tokens)
        return value, _after(")", tokens)
    if first != "[":
        return int(first), tokens
    items: list[int] = []
    while tokens[0] != "]":
        items.append(int(tokens[0]))
        tokens = tokens[1:] if tokens[1] == "]" else _after(",", tokens[1:])
    return items, tokens[1:]


def _after(token: str, tokens: list[str]) -> list[str]:
    if tokens[0] != token:
        raise ValueError
    return tokens[1:]


def _bounded(value: _Value) -> _Value:
    if isinstance(value, list) and _MOST_LAYERS < len(value):
        raise ValueError
    return value
