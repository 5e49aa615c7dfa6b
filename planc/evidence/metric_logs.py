"""Metrics in what a run printed: lines of Megatron-LM, nanotron, torchtitan, and Hugging Face's Trainer.

Megatron-LM (core 0.16, and forks that keep its line): ` iteration 10/ 100 | lm loss: 1.5E+00 | ... |`, and for
evaluation ` validation loss at iteration 10 on test set | lm loss value: 1.5E+00 | ... |`.
nanotron 0.4: `iteration: 10 / 100 | consumed_tokens: 93.2K | lm_loss: 1.5 | ...`, with three digits, and a letter for
thousands. torchtitan 0.3.0: `step: 10  loss:  1.5  grad_norm: ...`.
Trainer (transformers 4 and 5): the dictionary that it prints, whose values 5 prints as texts, and which names no step.
Names are those of the log. A value counts only if what ends it is there: the end of a log may be cut off anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.evidence.metrics import Value

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
# Nothing here goes back over what it has read: a line of a log may be anything, and 64 KiB long.
_NUMBER = r"[+-]?+(?>\d[\d,]*+\.?+\d*+(?:[eE][+-]?\d++)?+|(?:nan|inf|NAN|INF)(?![a-zA-Z]))"
_PLAIN = re.compile(rf"({_NUMBER})([KMBTPE]?)")
_MEGATRON = re.compile(r"(?<!at )iteration\s+(\d{1,15})/\s*\d+ \|(.*)[|\n]")
_MEGATRON_LOSS = re.compile(r"(?:validation|test) loss at iteration (\d{1,15})( on \w+ set)?\s*\|(.*)[|\n]")
_NANOTRON = re.compile(r"iteration: (\d{1,15}) / \d+ \|(.*)[|\n]")
_THOUSANDS = {letter: 1000**power for power, letter in enumerate(("", *"KMBTPE"))}
_TORCHTITAN = re.compile(r"(?:(validate) )?step:\s*(\d{1,15})\s+(loss:.*)\s")
_TORCHTITAN_PART = re.compile(rf"\b(\w++):\s*+({_NUMBER})(\w*+%?+)(?=[\s(])")
_TRAINER = re.compile(r"\{('[^{}]*+)\}")
_TRAINER_PART = re.compile(rf"'([^']+)': ('?)({_NUMBER})\2(?=, |$)")


def values_in(line: str) -> Iterator[Value]:
    """The values of one line of a log, which is read with its end."""
    if "iteration" in line:
        yield from _megatron(line)
        yield from _nanotron(line)
    if "step:" in line:
        yield from _torchtitan(_COLOR.sub("", line))
    if "'epoch'" in line:
        yield from _trainer(line)


def _megatron(line: str) -> Iterator[Value]:
    for pattern in (_MEGATRON, _MEGATRON_LOSS):
        found = pattern.search(line)
        if found is not None:
            group = found[2] or "" if pattern is _MEGATRON_LOSS else ""
            for name, number, letter in _parts(found[found.lastindex or 0]):
                if not letter:
                    yield Value(f"{name}{group}", number, int(found[1]))


def _nanotron(line: str) -> Iterator[Value]:
    found = _NANOTRON.search(line)
    if found is not None:
        for name, number, letter in _parts(found[2]):
            yield Value(name, number * _THOUSANDS[letter], int(found[1]))


def _parts(text: str) -> Iterator[tuple[str, float, str]]:
    """Name, number and the letter behind it, of each part between bars that has these."""
    for part in text.split("|"):
        name, _, value = part.partition(":")
        match = _PLAIN.fullmatch(value.strip())
        if match is not None and name.strip():
            yield name.strip(), _number(match[1]), match[2]


def _torchtitan(line: str) -> Iterator[Value]:
    found = _TORCHTITAN.search(line)
    if found is not None:
        prefix = f"{found[1]} " if found[1] else ""
        for match in _TORCHTITAN_PART.finditer(f"{found[3]} "):
            yield Value(f"{prefix}{match[1]}", _number(match[2]), int(found[2]))


def _trainer(line: str) -> Iterator[Value]:
    for found in _TRAINER.finditer(line):
        if "'epoch'" in found[1]:
            for match in _TRAINER_PART.finditer(found[1]):
                yield Value(match[1], _number(match[3]), None)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
