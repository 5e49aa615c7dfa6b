"""Metrics that a run wrote to a file of their own: JSON lines, a table, or the state of Hugging Face's Trainer.

A field that says which step a line is of is one of `STEPS`. What is no number is passed over, such as a name or a date;
`NaN` and `Infinity` are numbers, also as texts, which is how some programs write them.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from planc.evidence.metrics import Value
from planc.measuring.series import Faulty

#: Names of the step, the first of them that a line has.
STEPS = ("step", "global_step", "iteration", "_step", "train/global_step", "iter")

_MOST_LEVELS = 8
_NOT_FINITE = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}


def read_jsonl(lines: Iterable[tuple[int, str]]) -> Iterator[Value]:
    """The values of lines with one object each; an object in it gives `outer.inner`. The last may be cut short."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = json.loads(line, object_pairs_hook=partial(_once, line=number))
        except (ValueError, RecursionError):
            if is_cut_short(line):
                return
            raise Faulty(number, "the line is no JSON") from None
        if not isinstance(found, dict):
            raise Faulty(number, "the line is no object of JSON")
        yield from _of_object(found, number)


def is_cut_short(line: str) -> bool:
    """Whether a last line is an object whose end is missing, as a job leaves it that is killed while it writes."""
    if line.endswith("\n") or not line.startswith("{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def read_csv(lines: Iterable[tuple[int, str]]) -> Iterator[Value]:
    """The values of a table whose first line names its columns; a cell may be empty."""
    numbers: list[int] = []
    rows = csv.reader(_noted(lines, numbers), strict=True)
    try:
        head = next(rows, None)
        if head is None:
            raise Faulty(0, "the table is empty")
        names = [name.strip() for name in head]
        if len(set(names)) < len(names):
            raise Faulty(1, "two columns have the same name")
        if any(number_of(name, is_text=True) is not None for name in names):
            raise Faulty(1, "the first line names no columns: it holds numbers")
        for row in rows:
            if len(names) < len(row):
                raise Faulty(numbers[-1], f"the line has {len(row)} cells, and the table {len(names)} columns")
            yield from _of_object(dict(zip(names, row, strict=False)), numbers[-1], is_text=True)
    except csv.Error as error:
        raise Faulty(numbers[-1], f"the line is no line of a table: {error}") from None


def read_trainer_state(text: str) -> Iterator[Value]:
    """The values in the `log_history` of a trainer_state.json."""
    try:
        history = json.loads(text, object_pairs_hook=partial(_once, line=0))["log_history"]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise Faulty(0, "it is no trainer_state.json: it has no `log_history`") from None
    if not isinstance(history, list) or not all(isinstance(entry, dict) for entry in history):
        raise Faulty(0, "it is no trainer_state.json: its `log_history` is no list of objects")
    for entry in history:
        yield from _of_object(entry, 0)


def number_of(value: Any, is_text: bool = False) -> float | int | None:
    """The number that a value is; of texts only those that JSON has no number for, unless all is text there."""
    if isinstance(value, int) and 1024 <= value.bit_length():  # larger than any number of floating point
        return math.inf if 0 < value else -math.inf
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (is_text or value.strip().lower() in _NOT_FINITE):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _once(pairs: list[tuple[str, Any]], line: int) -> dict[str, Any]:
    """An object in which no name stands twice: nothing says which of the values counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if 1 < names.count(name))
        raise Faulty(line, f"`{twice[:40]}` stands there twice")
    return found


def _of_object(found: dict[str, Any], line: int, is_text: bool = False) -> Iterator[Value]:
    named = next((name for name in STEPS if name in found and found[name] not in (None, "")), None)
    step = None if named is None else _step(found[named], line, is_text)
    for name, value in _flat(found, "", _MOST_LEVELS):
        number = number_of(value, is_text)
        if number is not None and name not in STEPS:
            yield Value(name, number, step)


def _step(value: Any, line: int, is_text: bool) -> int:
    number = number_of(value, is_text)
    if number is None or not 0 <= number <= 2**53 or number != int(number):
        raise Faulty(line, f"the step is no whole number: `{str(value)[:40]}`")
    return int(number)


def _flat(found: dict[str, Any], prefix: str, levels: int) -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        if isinstance(value, dict):
            if levels:
                yield from _flat(value, f"{prefix}{name}.", levels - 1)
        else:
            yield f"{prefix}{name}", value


def _noted(lines: Iterable[tuple[int, str]], numbers: list[int]) -> Iterator[str]:
    for number, line in lines:
        numbers[:] = [number]
        yield line
